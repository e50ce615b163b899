/** Runs a command of the command line in this process. */

import { Command, CommanderError } from 'commander'
import { VERSION } from '../version.generated.ts'
import { type Io, io, setExitCode, withIo } from './io.ts'

export type { Io } from './io.ts'

const VERSION_FLAGS = ['-V', '--version']

const HELP = `
Examples:
  highkiq demo                                                   try it with generated data
  highkiq init                                                   add jobs and a worker to this project
  highkiq work -r jobs.ts                                        run jobs; reads config/sidekiq.yml, too
  highkiq enqueue HardJob bob 5                                  push one job
  highkiq import products.csv --job ImportProduct -r jobs.ts     run a job for each row, with a progress bar

Each command has its own help: highkiq work --help
`

/** Runs a command, such as `['stats', '--json']`, and returns its exit code. It does not end the process. */
export function runCommand(argv: readonly string[], streams: Io): Promise<number> {
  return withIo(streams, async () => {
    try {
      await (await createProgram(argv)).parseAsync(argv, { from: 'user' })
    } catch (thrown) {
      // Commander has printed its message already.
      if (thrown instanceof CommanderError) setExitCode(thrown.exitCode === 0 ? 0 : 2)
      else setExitCode((await import('./usage.ts')).reportError(thrown))
    }
  })
}

/** Loads only the code that the command needs: a worker keeps it in memory. */
async function createProgram([command = '']: readonly string[]): Promise<Command> {
  const program = new Command('highkiq')
    .description('Background jobs for Node.js that survive crashes, and tracked tasks with live progress.')
    .version(VERSION, VERSION_FLAGS.join(', '))
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io().stdout.write(text),
      writeErr: (text) => io().stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'highkiq: ')),
    })
    .showSuggestionAfterError()
  if (command === 'work') (await import('./commands/work.ts')).register(program)
  else if (!VERSION_FLAGS.includes(command)) (await import('./commands.ts')).registerAll(program)
  program.commandsGroup('Help:').helpCommand(true)
  return program
}
