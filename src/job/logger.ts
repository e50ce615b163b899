/** The part of pino's interface that Highkiq uses: bring any logger of this shape. */
export interface Logger {
  debug(about: object, message?: string): void
  info(about: object, message?: string): void
  warn(about: object, message?: string): void
  error(about: object, message?: string): void
  /** `level`: of a job that asks for its own (`log_level`); a logger without levels may ignore it. */
  child(fields: object, options?: { level?: string }): Logger
  /** Asked so that lines nobody would see cost nothing. */
  isLevelEnabled?(level: string): boolean
}
