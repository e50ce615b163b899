// The job of ending.js, which is also loaded into its threads. It pushes jobs without end, so it is mostly inside SQLite.
import { Highkiq } from 'highkiq'

const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger }

export const hq = new Highkiq({ url: process.env.HIGHKIQ_TEST_URL, logger })

hq.job('Pushes', { thread: import.meta.url, timeout: 0.2, retry: false }, async () => {
  for (;;) {
    await hq.push({ class: 'Nobody', args: [], queue: 'heap' })
    await hq.stats()
  }
})
