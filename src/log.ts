import { write } from 'node:fs'
import { isatty } from 'node:tty'
import { threadId } from 'node:worker_threads'
import type { DestinationStream } from 'pino'
import { logLevel, variable } from './environment.ts'
import { parseJson } from './job/json.ts'
import type { Logger } from './job/logger.ts'
import required from './load/required.cjs'
import { type Entry, type LineOptions, lineOf, lineOptions } from './log/line.ts'

/**
 * Returns the default logger: coloured lines on a terminal, JSON otherwise, or the format of HIGHKIQ_LOG_FORMAT. It writes
 * to standard error or to HIGHKIQ_LOG_FILE, at the level of HIGHKIQ_LOG_LEVEL.
 */
export function defaultLogger(): Logger {
  const file = variable('HIGHKIQ_LOG_FILE')
  const options = lineOptions(file === undefined && isatty(2), process.env)
  // An app with a logger of its own does not need pino.
  const { pino } = required.pino()
  // pino writes this format itself.
  if (options.format === 'json') {
    return pino({ level: logLevel(), ...(options.time ? {} : { timestamp: false }) }, destination(file))
  }
  return pino({ level: logLevel() }, options.format === 'pretty' ? pretty(file, options) : reformatted(file, options))
}

/** While the log can't be written, that many characters of it are kept, and newer lines are dropped. */
const MAX_KEPT = 4 * 1024 * 1024

/** A log that can't be written, such as on a full disk, fails nothing: its lines are kept for a while, then dropped. */
function destination(file: string | undefined): ReturnType<typeof import('pino').destination> {
  const to = required
    .pino()
    .destination({ dest: file ?? 2, sync: true, maxLength: MAX_KEPT, ...(file === undefined ? {} : { mkdir: true }) })
  to.on('error', onceOnStderr(file))
  // logrotate and the like send this signal when they have moved the file.
  if (file !== undefined) process.on('SIGUSR2', () => reopen(to))
  return to
}

type Destination = ReturnType<typeof destination>

/** Returns a function that says on standard error, once, why the file can't be written. */
function onceOnStderr(file: string | undefined): (error: Error) => void {
  let said = file === undefined
  return ({ message }) => {
    if (said) return
    said = true
    write(2, `highkiq: the log file ${file} can't be written, and lines may be lost: ${message}\n`, () => {})
  }
}

function reopen(to: Destination): void {
  try {
    to.reopen()
  } catch {
    // The destination emits the error as well, and goes on writing to the old file.
  }
}

function pretty(file: string | undefined, { time }: LineOptions): DestinationStream {
  // Loaded here, because only terminals need it.
  const { prettyFactory } = required.pinoPretty()
  const prettified = prettyFactory({
    ignore: time ? 'pid,hostname' : 'pid,hostname,time',
    translateTime: 'SYS:HH:MM:ss.l',
    colorize: file === undefined && isatty(2),
  })
  const to = destination(file)
  return { write: (line) => void to.write(withIntegers(prettified(withTextIntegers(line)))) }
}

/** Turns big integers, which pino-pretty would round, into texts with a prefix that no other text can have. */
function withTextIntegers(line: string): string {
  const replace = (_: string, value: unknown) => (typeof value === 'bigint' ? `${BIG}${value}` : value)
  return JSON.stringify(parseJson(line), replace)
}

function withIntegers(text: string): string {
  return text.replaceAll(TEXT_INTEGERS, '$2')
}

const BIG = `big-${crypto.randomUUID()}:`
const TEXT_INTEGERS = new RegExp(`("?)${BIG}(-?\\d+)\\1`, 'g')

function reformatted(file: string | undefined, options: LineOptions): DestinationStream {
  const to = destination(file)
  const tid = String(threadId)
  return { write: (line) => void to.write(`${lineOf(parseJson(line) as Entry, options, tid)}\n`) }
}
