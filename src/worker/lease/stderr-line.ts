/**
 * Writes a warning from a thread while the main thread can't log: one line, in the place and format of the default logger,
 * and subject to HIGHKIQ_LOG_LEVEL.
 */

import { appendFile, write } from 'node:fs'
import { hostname } from 'node:os'
import { isatty } from 'node:tty'
import { type Entry, lineOf, lineOptions } from '../../log/line.ts'

const WARN = 40
const SILENCED_BY = new Set(['error', 'fatal', 'silent'])

let writing = false

export function warnOnStderr(fields: object, message: string): void {
  // The reader of stderr may have stopped reading, which may be why the main thread is blocked. So the thread pool waits
  // for the reader, with one line at most: this thread has a lease to renew.
  if (writing || SILENCED_BY.has(process.env.HIGHKIQ_LOG_LEVEL ?? '')) return
  writing = true
  const done = () => {
    writing = false
  }
  const file = process.env.HIGHKIQ_LOG_FILE
  const options = lineOptions(!file && isatty(2), process.env)
  const entry = { level: WARN, time: Date.now(), pid: process.pid, hostname: hostname(), ...fields, msg: message }
  const line = `${options.format === 'pretty' ? asText(message, options.time) : lineOf(entry as Entry, options)}\n`
  if (file) appendFile(file, line, done)
  else write(2, line, done)
}

function asText(message: string, withTime: boolean): string {
  if (!withTime) return `WARN: ${message}`
  const now = new Date()
  const two = (n: number) => String(n).padStart(2, '0')
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join(':')
  return `[${time}.${String(now.getMilliseconds()).padStart(3, '0')}] WARN: ${message}`
}
