import { expect, test } from 'vitest'
import { loggerOf, missingMethods } from './logger.ts'

/** A logger like console: its methods need `this`, and it has no `child`. */
class Lines {
  readonly lines: unknown[][] = []
  debug = (...parts: unknown[]) => this.#add('debug', parts)
  info = (...parts: unknown[]) => this.#add('info', parts)
  warn = (...parts: unknown[]) => this.#add('warn', parts)
  error(...parts: unknown[]) {
    this.#add('error', parts)
  }
  #add(level: string, parts: unknown[]) {
    this.lines.push([level, ...parts])
  }
}

test('a logger without children, as console, writes the text and the fields behind it', () => {
  const target = new Lines()
  const log = loggerOf(target)
  log.info('plain')
  log.error({ err: 5 }, 'with fields')
  log.warn({ only: 'fields' })
  const child = log.child({ jid: 'j1' }).child({ n: 1 }, { level: 'debug' })
  child.debug('of a job')
  child.info({ n: 2 }, 'its own fields go first')
  expect(target.lines).toEqual([
    ['info', 'plain'],
    ['error', 'with fields', { err: 5 }],
    ['warn', { only: 'fields' }],
    ['debug', 'of a job', { jid: 'j1', n: 1 }],
    ['info', 'its own fields go first', { jid: 'j1', n: 2 }],
  ])
})

test('a logger with child is used unchanged', () => {
  const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log }
  expect(loggerOf(log)).toBe(log)
  expect(missingMethods(console)).toEqual([])
  for (const wrong of [{}, { info() {} }]) expect(missingMethods(wrong)).toContain('error')
})
