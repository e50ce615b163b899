/** The part of pino's interface that Highkiq uses: bring any logger of this shape. */
export interface Logger {
  debug(about: object, message?: string): void
  info(about: object, message?: string): void
  warn(about: object, message?: string): void
  error(about: object, message?: string): void
  child(fields: object): Logger
}
