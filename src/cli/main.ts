#!/usr/bin/env node
/** Entry point of the command line. */

import { runCommand } from './run-command.ts'

// Ends quietly when standard output closes (`highkiq … | head`). A closed standard error does not stop a worker.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = (await runCommand(process.argv.slice(2), process)) || process.exitCode
// Files that -r loads may leave timers and connections open, so the process must exit explicitly.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
process.exit()
