// Loads packages when they are needed, by calls that bundlers of apps can follow. The build puts the packages beside it.
exports.pino = () => require('pino')
exports.pinoPretty = () => require('pino-pretty')
exports.ioredis = () => require('ioredis')
