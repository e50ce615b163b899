// Highkiq on Redis beside BullMQ (and a bare list as the floor), in one interleaved run: machines drift, so compare
// within one run only. Each measurement is a process of its own; all use one redis-server, which this starts.
//   node bench/redis.js [--jobs 50000] [--rounds 5] [--only highkiq|bullmq|raw] [--measure process,waves,bulk,latency]
//                       [--profile FILE.cpuprofile]   (of a worker of the first peer; with --rounds 0 nothing else)
// BullMQ is installed into bench/peers/ at the first run.
import { parseArgs } from 'node:util'
import { installPeers } from './redis/install.js'
import { profileWorker } from './redis/profile.js'
import { printTable, saveReport } from './redis/report.js'
import { MEASURES, PEERS, runRounds } from './redis/rounds.js'
import { startServer } from './redis/server.js'

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', multiple: true },
    measure: { type: 'string' },
    profile: { type: 'string' },
  },
})
const options = {
  jobs: Number(values.jobs),
  rounds: Number(values.rounds),
  peers: chosen('--only', values.only ?? PEERS, PEERS),
  measures: chosen('--measure', values.measure?.split(',') ?? Object.keys(MEASURES), Object.keys(MEASURES)),
}

const versions = installPeers()
const server = await startServer()
try {
  if (options.rounds > 0) {
    const figures = await runRounds(server, options)
    printTable(figures, options)
    console.log(saveReport(figures, options, { ...versions, redis: await server.version() }))
  }
  if (values.profile) await profileWorker(server, options, values.profile)
} finally {
  await server.stop()
}

function chosen(option, wanted, known) {
  for (const name of wanted) {
    if (!known.includes(name)) throw new Error(`${option}: there is no ${name}; there are ${known.join(', ')}`)
  }
  return wanted
}
