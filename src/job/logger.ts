/** One line, as pino takes it: fields and a text, or a text alone. */
export interface LogLine {
  (about: object, message?: string): void
  (message: string): void
}

/** The part of pino's interface that Highkiq uses: bring any logger of this shape. */
export interface Logger {
  debug: LogLine
  info: LogLine
  warn: LogLine
  error: LogLine
  /** `level`: of a job that asks for its own (`log_level`); a logger without levels may ignore it. */
  child(fields: object, options?: { level?: string }): Logger
  /** Asked so that lines nobody would see cost nothing. */
  isLevelEnabled?(level: string): boolean
}

/** A logger without `child`, such as `console`. */
export type BareLogger = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

export function missingMethods(logger: object): string[] {
  return LEVELS.filter((level) => typeof (logger as Record<string, unknown>)[level] !== 'function')
}

/**
 * Returns a logger with `child`. A logger without it gets children that write their fields after the text of each line.
 */
export function loggerOf(given: Logger | BareLogger): Logger {
  return typeof (given as Partial<Logger>).child === 'function' ? (given as Logger) : new FieldsLogger(given, {})
}

/** Called with what a logger threw, the fields of the logger and the line. */
export type LoggerFailure = (thrown: unknown, fields: { jid?: string }, line: unknown[]) => void

/** Returns a logger like `logger` whose methods neither throw nor reject, those of its children included. */
export function guarded<T extends object>(logger: T, onFailure: LoggerFailure, fields: object = {}): T {
  // A proxy may not replace the methods of a frozen target; those that the target inherits it may.
  const guard: T = new Proxy(Object.create(logger), {
    set: (_, name, value) => Reflect.set(logger, name, value),
    get: (_, name) => {
      const member: unknown = Reflect.get(logger, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const fail = (thrown: unknown) => onFailure(thrown, fields, args)
        try {
          const answer = member.apply(logger, args)
          if (name === 'child') return guarded(answer, onFailure, { ...fields, ...(args[0] as object) })
          return typeof answer?.then === 'function' ? answer.then(undefined, fail) : answer
        } catch (thrown) {
          fail(thrown)
          return name === 'child' ? guard : undefined
        }
      }
    },
  })
  return guard
}

class FieldsLogger implements Logger {
  readonly debug: LogLine
  readonly info: LogLine
  readonly warn: LogLine
  readonly error: LogLine
  readonly #target: BareLogger
  readonly #fields: object

  constructor(target: BareLogger, fields: object) {
    this.#target = target
    this.#fields = fields
    this.debug = this.#lineOf('debug')
    this.info = this.#lineOf('info')
    this.warn = this.#lineOf('warn')
    this.error = this.#lineOf('error')
  }

  child(fields: object): Logger {
    return new FieldsLogger(this.#target, { ...this.#fields, ...fields })
  }

  #lineOf(level: (typeof LEVELS)[number]): LogLine {
    return (about: object | string, message?: string) => {
      const text = typeof about === 'string' ? about : message
      const fields = { ...this.#fields, ...(typeof about === 'string' ? {} : about) }
      const parts: unknown[] = text === undefined ? [] : [text]
      if (parts.length === 0 || Object.keys(fields).length > 0) parts.push(fields)
      // The method may need `this`, as a method of a class does.
      return (this.#target[level] as (...parts: unknown[]) => void)(...parts)
    }
  }
}
