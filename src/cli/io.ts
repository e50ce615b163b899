/** The streams and the environment of the command that runs, and its exit code. */

export interface Io {
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  stdin: NodeJS.ReadStream
  env: NodeJS.ProcessEnv
}

let current: Io = process
let exitCode = 0

export function io(): Io {
  return current
}

/** Sets the exit code of a command that does not throw. */
export function setExitCode(code: number): void {
  exitCode = code
}

/** Runs a command with these streams and returns its exit code. Only one command runs at a time. */
export async function withIo(given: Io, command: () => Promise<void>): Promise<number> {
  const before = current
  current = given
  exitCode = 0
  try {
    await command()
    return exitCode
  } finally {
    current = before
  }
}
