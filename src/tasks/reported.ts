/** Whether a file is the report of a task: that task takes it back, and an import would make new rows of it. */

import { parseRowKey } from './report.ts'
import { reasonsIn } from './report-columns.ts'
import type { ReadFileOptions } from './sheet/file.ts'

/** @returns the task whose row key stands in its first row; undefined: it is no report, or can't be read */
export async function reportedTask(path: string, options: ReadFileOptions): Promise<string | undefined> {
  const { openFile } = await import('./sheet/file.ts')
  try {
    const { header, rows, close } = await openFile(path, options)
    if (header && !reasonsIn(header)['row key']) {
      await close()
      return undefined
    }
    for await (const { values } of rows) {
      const column = reasonsIn(header ?? Object.keys(values))['row key']
      return column === undefined ? undefined : parseRowKey(String(values[column] ?? ''))?.task
    }
  } catch {
    // The import tells what is wrong with it.
  }
  return undefined
}
