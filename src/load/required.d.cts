declare const required: {
  pino(): typeof import('pino')
  pinoPretty(): typeof import('pino-pretty')
  ioredis(): typeof import('ioredis')
}
export = required
