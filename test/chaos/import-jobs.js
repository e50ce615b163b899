// The app of a chaos test that imports a file: what it does with a row follows from the row alone.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BusinessFailure, Highkiq } from 'highkiq'

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

export function importApp(url, folder) {
  const hq = new Highkiq({ url, logger: silent })
  const Row = hq.job('ImportRow', { maxCrashes: 1000 }, async (_ctx, { sku, price }) => {
    if (Number(price) < 0) throw new BusinessFailure('below 0', { code: 'price', field: 'price' })
    return { sku }
  })
  const Done = hq.job('Imported', { maxCrashes: 1000 }, async (ctx, id, run) => {
    const crashes = ctx.payload.hk_crashes ?? 0
    appendFileSync(`${folder}/done`, `${JSON.stringify({ id, run, crashes })}\n`)
  })
  return { hq, Row, Done }
}

let checked = 0

/** Rows that are no rows at all are refused before a job is made of them. It takes its time, so that it can be killed. */
export const validate = {
  '~standard': {
    version: 1,
    vendor: 'test',
    async validate(value) {
      if (++checked % 100 === 0) await sleep(50)
      return value.sku === '' ? { issues: [{ message: 'no sku', path: ['sku'] }] } : { value }
    },
  },
}
