import { pino } from 'pino'
import pretty from 'pino-pretty'
import type { Logger } from './job/logger.ts'

/** Coloured lines on a terminal, JSON otherwise; to standard error, which is not for results. Level by HIGHKIQ_LOG_LEVEL. */
export function defaultLogger(): Logger {
  const level = process.env.HIGHKIQ_LOG_LEVEL ?? 'info'
  if (!process.stderr.isTTY) return pino({ level }, pino.destination({ dest: 2, sync: true }))
  const stream = pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' })
  return pino({ level }, stream)
}
