/** Runs the command line in this process, for cases that need no process of their own. */

import { PassThrough } from 'node:stream'
import { type Io, runCommand } from '#dist/cli/run-command.js'
import type { Ended } from './command.ts'

/** Paths in `args` must be absolute, because the working directory is that of the tests. */
export async function runHere(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const streams = { stdout, stderr, stdin: new PassThrough(), env } as unknown as Io
  const code = await runCommand(args, streams)
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}
