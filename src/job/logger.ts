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
