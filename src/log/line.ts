/** Formats log lines. The lease thread, which warns of a blocked event loop, uses it too: so it has no side effects. */

import { stringifyJson } from '../job/json.ts'

export const FORMATS = ['pretty', 'plain', 'json', 'sidekiq'] as const
export type Format = (typeof FORMATS)[number]

/** A line as pino writes it: levels are numbers, the time is in milliseconds. */
export interface Entry {
  level: number
  time?: number
  pid?: number
  hostname?: string
  msg?: string
  [field: string]: unknown
}

export interface LineOptions {
  format: Format
  /** False where the platform (Heroku) puts the time before each line. */
  time: boolean
}

/** Returns the format by the environment: HIGHKIQ_LOG_FORMAT, or pretty on a terminal and JSON otherwise. */
export function lineOptions(isTTY: boolean, env: Readonly<Record<string, string | undefined>>): LineOptions {
  const wanted = FORMATS.find((format) => format === env.HIGHKIQ_LOG_FORMAT)
  return { format: wanted ?? (isTTY ? 'pretty' : 'json'), time: !env.DYNO }
}

const LEVELS: Record<number, string> = { 10: 'TRACE', 20: 'DEBUG', 30: 'INFO', 40: 'WARN', 50: 'ERROR', 60: 'FATAL' }
/** Sidekiq has no level TRACE. */
const SIDEKIQ_LEVELS: Record<number, string> = { ...LEVELS, 10: 'DEBUG' }

/** Returns a line without its line break; `tid` is the id of the thread. pino-pretty writes the format `pretty`. */
export function lineOf(entry: Entry, { format, time }: LineOptions, tid = '0'): string {
  if (format === 'sidekiq') return sidekiqLine(entry, tid)
  if (format === 'json') return jsonLine(entry, time)
  return plainLine(entry, time, tid)
}

function jsonLine({ level, time, ...rest }: Entry, withTime: boolean): string {
  return stringifyJson(withTime ? { level, time, ...rest } : { level, ...rest })
}

/** Sidekiq's JSON: `{ ts, pid, tid, lvl, msg, ctx }`. */
function sidekiqLine({ level, time, pid, hostname: _, msg, ...ctx }: Entry, tid: string): string {
  const ts = new Date(time ?? Date.now()).toISOString()
  const lvl = SIDEKIQ_LEVELS[level] ?? 'INFO'
  return stringifyJson({ ts, pid: pid ?? process.pid, tid, lvl, msg: msg ?? '', ctx })
}

/** `INFO  2026-11-21T10:40:12.123Z pid=7 tid=0 jid=… class=HardJob: start`; a stack below it. */
function plainLine({ level, time, pid, hostname: _, msg, err, ...fields }: Entry, withTime: boolean, tid: string) {
  const parts = [(LEVELS[level] ?? String(level)).padEnd(5)]
  if (withTime) parts.push(new Date(time ?? Date.now()).toISOString())
  parts.push(`pid=${pid ?? process.pid}`, `tid=${tid}`)
  for (const [name, value] of Object.entries(fields)) parts.push(`${name}=${fieldText(value)}`)
  const head = printable(`${parts.join(' ')}: ${msg ?? ''}`)
  const stack = (err as { stack?: unknown } | undefined)?.stack
  return typeof stack === 'string' ? `${head}\n${stackText(stack)}` : head
}

/** Writes control characters and line breaks as JSON does, so that a logged text neither begins a line nor moves the cursor. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (char) => {
    const json = JSON.stringify(char).slice(1, -1)
    return json === char ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : json
  })
}

/** Indents the further lines of an error's message as its frames are: none of them looks like a line of the log. */
function stackText(stack: string): string {
  const lines = stack.split('\n').map((line) => printable(line.replace(/\r$/, '')))
  return lines.map((line, i) => (i === 0 || line.startsWith('    ') ? line : `    ${line}`)).join('\n')
}

/** Returns a text as it is if it is one word, and as JSON otherwise. */
function fieldText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : String(stringifyJson(value))
}
