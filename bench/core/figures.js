// The figures of a measurement: their titles in tables, and whether more or less of them is better.
export const FIGURES = {
  rate: { title: 'jobs/s', better: 'more' },
  seconds: { title: 'seconds', better: 'less' },
  p50: { title: 'p50, ms', better: 'less' },
  p95: { title: 'p95, ms', better: 'less' },
  p99: { title: 'p99, ms', better: 'less' },
  sent: { title: 'sent, jobs/s', better: 'more' },
  start: { title: 'start, ms', better: 'less' },
  client: { title: 'client CPU, µs a job', better: 'less' },
  redis: { title: 'server CPU, µs a job', better: 'less' },
  busiest: { title: 'CPU of the busiest server, µs a job', better: 'less' },
  idleClient: { title: 'client CPU, ms/s', better: 'less' },
  idleRedis: { title: 'server CPU, ms/s', better: 'less' },
  commands: { title: 'commands/s, those of scripts included', better: 'less' },
  memory: { title: 'memory, MB', better: 'less' },
  cost: { title: 'CPU of client and server, µs a job', better: 'less' },
  bytes: { title: 'bytes a queued job', better: 'less' },
}

/** A figure of one round. The cost is computed; on SQLite it is that of the client. */
export function figureOf(round, figure) {
  if (figure !== 'cost') return round[figure]
  return round.client === undefined ? undefined : round.client + (round.redis ?? 0)
}
