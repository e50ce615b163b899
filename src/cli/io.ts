/** The streams and the environment of the command that runs, its exit code, and the width of its tables. */

export interface Io {
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  stdin: NodeJS.ReadStream
  env: NodeJS.ProcessEnv
}

let current: Io = process
let exitCode = 0
let fits = false

export function io(): Io {
  return current
}

/** Sets the exit code of a command that does not throw. */
export function setExitCode(code: number): void {
  exitCode = code
}

/** Cuts the tables of this command to the width of the terminal. */
export function fitTables(): void {
  fits = true
}

/** Returns the columns of the terminal after `fitTables`; Infinity otherwise, or when standard output is not a terminal. */
export function tableWidth(): number {
  const { isTTY, columns } = current.stdout
  return fits && isTTY && columns > 0 ? columns : Number.POSITIVE_INFINITY
}

/** Runs a command with these streams and returns its exit code. Only one command runs at a time. */
export async function withIo(given: Io, command: () => Promise<void>): Promise<number> {
  const before = current
  current = given
  exitCode = 0
  fits = false
  try {
    await command()
    return exitCode
  } finally {
    current = before
  }
}
