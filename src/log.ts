import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { threadId } from 'node:worker_threads'
import { type DestinationStream, pino } from 'pino'
import { logLevel, variable } from './environment.ts'
import { parseJson } from './job/json.ts'
import type { Logger } from './job/logger.ts'
import { type Entry, type LineOptions, lineOf, lineOptions } from './log/line.ts'

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
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  const prettified = prettyFactory({
    ignore: time ? 'pid,hostname' : 'pid,hostname,time',
    translateTime: 'SYS:HH:MM:ss.l',
    colorize: file === undefined && isatty(2),
  })
  const to = destination(file)
  return { write: (line) => void to.write(unmarked(prettified(marked(line)))) }
}

/** It would round big integers: it gets them as texts, with a mark that no text can have. */
function marked(line: string): string {
  const mark = (_: string, value: unknown) => (typeof value === 'bigint' ? `${BIG}${value}` : value)
  return JSON.stringify(parseJson(line), mark)
}

function unmarked(text: string): string {
  return text.replaceAll(MARKED, '$2')
}

const BIG = `big-${crypto.randomUUID()}:`
const MARKED = new RegExp(`("?)${BIG}(-?\\d+)\\1`, 'g')

function reworded(file: string | undefined, options: LineOptions): DestinationStream {
  const to = destination(file)
  const tid = String(threadId)
  return { write: (line) => void to.write(`${lineOf(parseJson(line) as Entry, options, tid)}\n`) }
}
