import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { threadId } from 'node:worker_threads'
import { type DestinationStream, pino } from 'pino'
import { logLevel, variable } from './environment.ts'
import type { Logger } from './job/logger.ts'
import { type LineOptions, lineOf, lineOptions } from './log/line.ts'

/**
 * Coloured lines on a terminal, JSON otherwise (HIGHKIQ_LOG_FORMAT chooses); to standard error, which is not for results,
 * or to HIGHKIQ_LOG_FILE. Level by HIGHKIQ_LOG_LEVEL.
 */
export function defaultLogger(): Logger {
  const file = variable('HIGHKIQ_LOG_FILE')
  const options = lineOptions(file === undefined && isatty(2), process.env)
  // pino's own lines need no second hand.
  if (options.format === 'json') {
    return pino({ level: logLevel(), ...(options.time ? {} : { timestamp: false }) }, destination(file))
  }
  return pino({ level: logLevel() }, options.format === 'pretty' ? pretty(file, options) : reworded(file, options))
}

function destination(file: string | undefined): ReturnType<typeof pino.destination> {
  const to = pino.destination({ dest: file ?? 2, sync: true, ...(file === undefined ? {} : { mkdir: true }) })
  // Whoever moves the file away (logrotate) says so.
  if (file !== undefined) process.on('SIGUSR2', () => to.reopen())
  return to
}

function pretty(file: string | undefined, { time }: LineOptions): DestinationStream {
  // Only people need it.
  const stream = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  return stream({
    destination: destination(file),
    ignore: time ? 'pid,hostname' : 'pid,hostname,time',
    translateTime: 'SYS:HH:MM:ss.l',
    colorize: file === undefined && isatty(2),
  })
}

function reworded(file: string | undefined, options: LineOptions): DestinationStream {
  const to = destination(file)
  const tid = String(threadId)
  return { write: (line) => void to.write(`${lineOf(JSON.parse(line), options, tid)}\n`) }
}
