// The shop whose dashboard is photographed: its jobs, which take their time and now and then fail, as real ones do.
import { setTimeout as sleep } from 'node:timers/promises'
import { BusinessFailure, Highkiq } from 'highkiq'

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

/** Class → queue, milliseconds of a run, share of runs that fail, and how. */
export const JOBS = {
  ChargeCard: { queue: 'critical', ms: 60, fails: 0.004, error: ['GatewayError', 'card issuer did not answer'] },
  SyncStock: { queue: 'default', ms: 35, fails: 0.02, error: ['ECONNREFUSED', 'connect ECONNREFUSED 10.4.0.17:8090'] },
  UpdateSearch: { queue: 'default', ms: 22, fails: 0 },
  ResizeImage: {
    queue: 'images',
    ms: 420,
    fails: 0.01,
    error: ['TimeoutError', 'no answer from the store after 10 s'],
  },
  DescribePhoto: { queue: 'images', ms: 900, fails: 0, options: { limit: { concurrency: 2 } } },
  SendReceipt: { queue: 'mail', ms: 90, fails: 0.006, error: ['MailError', '429 Too Many Requests'] },
  RenderInvoice: {
    queue: 'mail',
    ms: 160,
    fails: 0.003,
    error: ['TypeError', "Cannot read properties of undefined (reading 'total')"],
  },
  BuildReport: { queue: 'reports', ms: 2000, fails: 0 },
  SyncPrices: { queue: 'reports', ms: 500, fails: 0, options: { unique: true } },
  CloseTill: { queue: 'mail', ms: 40, fails: 0, options: { keepFinished: true } },
}

export const CATEGORIES = ['Kitchen', 'Garden', 'Books', 'Toys', 'Office']

export function openShop(url, { isWorker = false } = {}) {
  const hq = new Highkiq({ url, logger: silent })
  for (const [name, job] of Object.entries(JOBS)) {
    hq.job(name, { queue: job.queue, retry: 25, ...job.options }, async (ctx) => {
      await sleep(job.ms * (0.5 + Math.random()), undefined, { signal: ctx.signal })
      if (Math.random() < job.fails) throw Object.assign(new Error(job.error[1]), { name: job.error[0] })
    })
  }
  const importing = hq.job('ImportProduct', { queue: 'imports', retry: 2, retryIn: () => 1 }, importProduct)
  const counting = hq.job('CountShelf', { queue: 'imports', retry: 0 }, async (_ctx, shelf) => {
    if (shelf % 4 === 0) throw new BusinessFailure(`Shelf ${shelf} has no label`, { code: 'no_label', field: 'shelf' })
  })
  const notify = hq.job('NotifySeller', { queue: 'mail' }, async () => {})
  hq.job('MoveOrders', { queue: 'default' }, async (ctx) => {
    // A long one, which tells how far it is.
    for (let done = 1; done <= 400; done++) {
      ctx.progress(done, 400)
      await sleep(1000, undefined, { signal: ctx.signal })
    }
  })
  const stock = hq.ordered('ApplyStockChange', { shards: 10, batchSize: 10, maxRetries: 25 }, async () => {
    await sleep(250 + Math.random() * 400)
  })
  const ledger = hq.ordered('PostLedger', { shards: 3, maxRetries: 0 }, async (_ctx, batch) => {
    if ([...batch.keys()].some((id) => id.endsWith('7'))) throw new Error('Level is older than the one stored (v 871)')
  })
  if (isWorker) define(hq)
  return { hq, importing, counting, notify, stock, ledger }
}

async function importProduct(_ctx, { SKU, Name, Category, Price }) {
  await sleep(150 + Math.random() * 150)
  if (Price === '') refuse('price_missing', 'Price', 'no price')
  if (!CATEGORIES.includes(Category)) refuse('unknown_category', 'Category', `“${Category}” is not in the tree`)
  if (Name.length > 60) refuse('name_too_long', 'Name', `${Name.length} characters, 60 are allowed`)
  if (SKU.endsWith('-DUP')) refuse('duplicate_sku', 'SKU', `${SKU.slice(0, -4)} is already in row 87`)
  if (SKU.endsWith('413')) {
    throw Object.assign(new Error('The catalogue service closed the connection'), { code: 'ECONNRESET' })
  }
}

function refuse(code, field, message) {
  throw new BusinessFailure(message, { code, field })
}

function define(hq) {
  const entries = [
    ['nightly-reports', '30 3 * * mon-fri', 'BuildReport', ['sales']],
    ['stock-levels', '*/5 * * * *', 'SyncStock', ['all', 'north', 0]],
    ['search-index', '*/2 * * * *', 'UpdateSearch', ['all']],
    ['month-end', '0 6 L * *', 'RenderInvoice', ['month']],
    ['image-audit', '15 4 * * sun', 'ResizeImage', ['audit']],
  ]
  for (const [name, spec, job, args] of entries) {
    hq.cron(name, spec, job, { args, timeZone: 'Europe/Berlin' })
  }
}
