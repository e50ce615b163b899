/** Runs the command line in this process, for cases that need no process of their own. */

import { PassThrough } from 'node:stream'
import { type Io, runCommand } from '#dist/cli/run-command.js'
import type { Ended } from './command.ts'

/** Paths in `args` must be absolute, because the working directory is that of the tests. With `terminal` it writes to one. */
export async function runHere(
  args: string[],
  env: Record<string, string> = {},
  terminal?: { columns: number },
): Promise<Ended> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  if (terminal) Object.assign(stdout, { isTTY: true, ...terminal })
  const streams = { stdout, stderr, stdin: new PassThrough(), env } as unknown as Io
  const code = await runCommand(args, streams)
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}
