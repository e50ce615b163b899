/**
 * Runs the programs of pages one after another in this process, each in a folder of its own with a store of its own, and
 * prints as JSON what each has printed. A worker runs their jobs until as many lines were printed as the lesson has. Of a
 * lesson without lines only an error is printed.
 */

import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Highkiq } from 'highkiq'

const MOST_SECONDS = 30
/** What each line of the log has, and a page does not speak of. */
const COMMON = ['level', 'time', 'pid', 'hostname', 'jid', 'class', 'queue', 'bid', 'msg', 'context', 'err']

// The apps listen to signals, each for itself.
process.setMaxListeners(0)
const write = process.stdout.write
const results: Record<string, string[]> = {}
for (const folder of process.argv.slice(2)) results[folder] = await run(folder)
process.stdout.write = write
console.log(JSON.stringify(results))
process.exit(0)

async function run(folder: string): Promise<string[]> {
  process.chdir(folder)
  const log = `${folder}/log`
  const { env, lines } = JSON.parse(readFileSync('lesson.json', 'utf8'))
  const before = { ...process.env }
  Object.assign(process.env, { HIGHKIQ_URL: '', HIGHKIQ_LOG_FILE: log, HIGHKIQ_LOG_FORMAT: 'json' }, env)
  let printed = ''
  process.stdout.write = (text) => {
    printed += text
    return true
  }
  const all = () => [...printed.trim().split('\n'), ...logged(log)].filter((line) => line !== '').map(withoutIds)
  try {
    const { lesson } = (await inTime(import(pathToFileURL(`${folder}/main.ts`).href))) as { lesson: Highkiq }
    if (lines === undefined) {
      await lesson.close()
      return []
    }
    if (all().length < lines) {
      await lesson.worker({ pollInterval: 0.02 }).start()
      for (const end = Date.now() + MOST_SECONDS * 1000; all().length < lines && Date.now() < end; ) await sleep(20)
    }
    await lesson.close()
    return all()
  } catch (thrown) {
    return [...(lines === undefined ? [] : all()), String(thrown)]
  } finally {
    process.env = before
  }
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  const end = AbortSignal.timeout(MOST_SECONDS * 1000)
  const late = new Promise<never>((_, reject) =>
    end.addEventListener('abort', () => reject(new Error(`it did not end within ${MOST_SECONDS} s`))),
  )
  return await Promise.race([promise, late])
}

/** The lines of the log file: the text, and the fields that are the program's own. */
function logged(file: string): string[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const entry: Record<string, unknown> = JSON.parse(line)
      const own = Object.entries(entry).filter(([name]) => !COMMON.includes(name))
      return [entry.msg, ...own.map(([name, value]) => `${name}=${JSON.stringify(value)}`)].join(' ')
    })
}

function withoutIds(line: string): string {
  return line
    .replaceAll(/\b[0-9a-f]{24}\b/g, 'JID')
    .replaceAll(/\b[0-9a-f]{16}\b/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
}
