/**
 * A warning from a thread whose main thread can't log: one line on standard error, in the shape that the default logger
 * would give it – JSON, or text on a terminal – and under the same HIGHKIQ_LOG_LEVEL.
 */

import { write } from 'node:fs'
import { hostname } from 'node:os'
import { isatty } from 'node:tty'

const WARN = 40
const SILENCED_BY = new Set(['error', 'fatal', 'silent'])

let writing = false

export function warnOnStderr(fields: object, message: string): void {
  // Who reads it may have stopped reading – which may be why the main thread is blocked. So it is the pool that waits
  // for the reader, with one line at most, and never this thread, which has a lease to renew.
  if (writing || SILENCED_BY.has(process.env.HIGHKIQ_LOG_LEVEL ?? '')) return
  writing = true
  write(2, `${isatty(2) ? asText(message) : asJson(fields, message)}\n`, () => {
    writing = false
  })
}

function asJson(fields: object, msg: string): string {
  return JSON.stringify({ level: WARN, time: Date.now(), pid: process.pid, hostname: hostname(), ...fields, msg })
}

function asText(message: string): string {
  const now = new Date()
  const two = (n: number) => String(n).padStart(2, '0')
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join(':')
  return `[${time}.${String(now.getMilliseconds()).padStart(3, '0')}] WARN: ${message}`
}
