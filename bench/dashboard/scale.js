// Measures the dashboard at 2,000 queues and 500 processes with 5,000 running jobs: first answers, the bytes of one update, and
// what one open page costs the server, the browser and Redis.
import { setTimeout as sleep } from 'node:timers/promises'
import { openServed, round, startPrograms } from './served.js'

const [, , url] = process.argv
/** The time between two updates of a page. */
const UPDATE_MS = 2000

const stop = await startPrograms(['crowd.js', url])
const { figures, ask, firstAnswer, live, close } = await openServed(url)
try {
  for (const path of [
    '/live-stats',
    '/live-queues',
    '/live-processes',
    '/queues?by=latency&limit=6',
    '/running?limit=100',
    '/queues/q7',
    '/queues/q7/classes',
    '/queues/q7/waits',
    '/queues/q7/jobs?order=oldest',
  ]) {
    await firstAnswer(path)
  }
  for (const list of ['live-queues', 'live-processes']) {
    const first = (await ask(`/${list}`)).text
    const sizes = []
    for (let since = JSON.parse(first).version, i = 0; i < 5; i++) {
      await sleep(UPDATE_MS)
      const { text } = await ask(`/${list}?since=${since}`)
      since = JSON.parse(text).version
      sizes.push(text.length)
    }
    figures[`/${list}, first, kB`] = round(first.length / 1000)
    figures[`/${list}, one update, kB`] = round(median(sizes) / 1000)
  }
  await live('overview', '/', '.stat .v')
  await live('queues', '/queues', 'tbody tr')
  await live('a queue', '/queues/q7', '.stat .v')
  await live('busy', '/busy', 'tbody tr')
  console.log(JSON.stringify(figures))
} finally {
  stop()
  await close()
}

function median(list) {
  return list.sort((a, b) => a - b)[Math.floor(list.length / 2)]
}
