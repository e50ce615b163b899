/** One line of the log as text. Pure, so that the thread that warns of a blocked event loop writes the same lines. */

import { stringifyJson } from '../job/json.ts'

export const FORMATS = ['pretty', 'plain', 'json', 'sidekiq'] as const
export type Format = (typeof FORMATS)[number]

/** What pino makes of a call: numbers for levels, milliseconds for the time. */
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
  /** False where somebody else (Heroku) puts the time before each line. */
  time: boolean
}

/** As the process's environment wants it: pretty on a terminal, JSON otherwise. */
export function lineOptions(isTTY: boolean, env: Readonly<Record<string, string | undefined>>): LineOptions {
  const wanted = FORMATS.find((format) => format === env.HIGHKIQ_LOG_FORMAT)
  return { format: wanted ?? (isTTY ? 'pretty' : 'json'), time: !env.DYNO }
}

const LEVELS: Record<number, string> = { 10: 'TRACE', 20: 'DEBUG', 30: 'INFO', 40: 'WARN', 50: 'ERROR', 60: 'FATAL' }
/** Sidekiq (Ruby) knows no TRACE. */
const SIDEKIQ_LEVELS: Record<number, string> = { ...LEVELS, 10: 'DEBUG' }

/** Without the line's end; `tid` names the thread. `pretty` is pino-pretty's business. */
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
  const words = [(LEVELS[level] ?? String(level)).padEnd(5)]
  if (withTime) words.push(new Date(time ?? Date.now()).toISOString())
  words.push(`pid=${pid ?? process.pid}`, `tid=${tid}`)
  for (const [name, value] of Object.entries(fields)) words.push(`${name}=${wordOf(value)}`)
  const head = `${words.join(' ')}: ${(msg ?? '').replaceAll('\n', '\\n')}`
  const stack = (err as { stack?: unknown } | undefined)?.stack
  return typeof stack === 'string' ? `${head}\n${stack}` : head
}

/** A text as one word, quoted where it would not be one; anything else as JSON. */
function wordOf(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : String(stringifyJson(value))
}
