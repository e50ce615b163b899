/** `highkiq demo`: a workbook goes in, and one sees what became of each row. */

import { type Command, InvalidArgumentError } from 'commander'
import { type DemoOptions, ROWS } from '../demo/options.ts'
import { count } from '../figures.ts'
import { wholeNumber } from '../usage.ts'

const MOST_ROWS = 1_000_000

export function register(program: Command): void {
  program
    .command('demo')
    .description('import a workbook of products and see what becomes of each row')
    .option('--file <path>', 'your own file (.xlsx or .csv) instead of one made for the occasion')
    .option('--url <url>', 'the store; default a fresh SQLite file in the output folder')
    .option('--rows <n>', `rows of the workbook that is made (default: ${count(ROWS)})`, rowCount)
    .option('--out <folder>', 'where the files go', 'demo-output')
    .option('--web', 'leave the dashboard open on what was imported, until Ctrl-C')
    .action(async (options: DemoOptions) => {
      // Loaded when it is asked for: no other command should wait for what reads and writes workbooks.
      const { demo } = await import('../demo/demo.ts')
      process.exitCode = await demo(options)
    })
}

function rowCount(text: string): number {
  const n = wholeNumber(text)
  if (n <= MOST_ROWS) return n
  throw new InvalidArgumentError(`A sheet holds ${count(MOST_ROWS)} rows at most.`)
}
