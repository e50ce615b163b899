/** `highkiq demo` imports a workbook and shows what became of each row. */

import { type Command, InvalidArgumentError } from 'commander'
import { importUnbundled, packageFile } from '../../load/package.ts'
import type { writeSpreadsheet } from '../../tasks/spreadsheet/write.ts'
import { setExitCode } from '../io.ts'
import { count } from '../output.ts'
import { onInterrupt } from '../terminal.ts'
import { wholeNumber } from '../usage.ts'

interface DemoOptions {
  out: string
  file?: string
  url?: string
  rows?: number
  web?: boolean
}

const MOST_ROWS = 1_000_000

export function register(program: Command): void {
  program
    .command('demo')
    .description('import a workbook of products and show what becomes of each row')
    .option('--file <path>', 'your own file (.xlsx or .csv) instead of a generated workbook')
    .option('--url <url>', 'store to use (default: a new SQLite file in the output folder)')
    .option('--rows <n>', 'rows of the generated workbook (default: 10,000)', rowCount)
    .option('--out <folder>', 'folder for the files', 'demo-output')
    .option('--web', 'serve the dashboard with the imported rows until Ctrl-C')
    .action(async (options: DemoOptions) => {
      const example = packageFile('../examples/demo/demo.js')
      const { demo } = (await importUnbundled(example.href)) as {
        demo(options: DemoOptions & { writeSpreadsheet: typeof writeSpreadsheet }, signal: AbortSignal): Promise<number>
      }
      const { writeSpreadsheet } = await import('../../tasks/spreadsheet/write.ts')
      const interrupt = onInterrupt()
      try {
        setExitCode(await demo({ ...options, writeSpreadsheet }, interrupt.signal))
      } catch (thrown) {
        if (!interrupt.signal.aborted) throw thrown
        setExitCode(interrupt.exitCode)
      } finally {
        interrupt.release()
      }
    })
}

function rowCount(text: string): number {
  const n = wholeNumber(text)
  if (n <= MOST_ROWS) return n
  throw new InvalidArgumentError(`It must be at most ${count(MOST_ROWS)}, the limit of a worksheet.`)
}
