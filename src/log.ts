import { createRequire } from 'node:module'
import { pino } from 'pino'
import type { Logger } from './job/logger.ts'

/** Coloured lines on a terminal, JSON otherwise; to standard error, which is not for results. Level by HIGHKIQ_LOG_LEVEL. */
export function defaultLogger(): Logger {
  const level = process.env.HIGHKIQ_LOG_LEVEL ?? 'info'
  if (!process.stderr.isTTY) return pino({ level }, pino.destination({ dest: 2, sync: true }))
  // Only people need it.
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  const stream = pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' })
  return pino({ level }, stream)
}
