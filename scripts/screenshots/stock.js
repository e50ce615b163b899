// What lies in the shop's queues and sets.
import { deflateSync } from 'node:zlib'
import { writeSpreadsheet } from '../../dist/tasks/spreadsheet/write.js'
import { DEPLOYED_MINUTES_AGO } from './past.js'
import { CATEGORIES, JOBS } from './shop.js'

const MINUTE = 60_000
const SKUS = [
  'FRN-0412',
  'DSK-1180-OAK',
  'VAS-0910-CLY',
  'TWL-3301-TEA',
  'RUG-0077',
  'PLT-2240',
  'MIR-0051',
  'BSK-1402-RAT',
  'TRL-0006',
  'KTL-0240',
  'LMP-0093',
  'QLT-1107-IVY',
]
const SITES = ['north', 'south', 'harbour']
const NAMES = [
  'Pebble desk lamp, oak',
  'Dune linen cushion',
  'Harbour kettle',
  'Ivy quilt, king size',
  'Clay vase, tall',
  'Rattan basket',
  'Tea towel, set of 4',
  'Stacking plates',
]

/** All of it but the import that runs. @returns what pages are about */
export async function furnish({ hq, counting, stock, ledger }, chance) {
  const pick = (list) => list[Math.floor(chance() * list.length)]
  const deployed = Date.now() - DEPLOYED_MINUTES_AGO * MINUTE
  await hq.deploy('4f2c81a Ask the stock service in batches', new Date(deployed))

  for (const [name, { queue }] of Object.entries(JOBS)) {
    if (name === 'SyncPrices' || name === 'CloseTill') continue
    const many = { images: 1900, reports: 34, mail: 240 }[queue] ?? 30
    await hq.jobNamed(name).performBulk(Array.from({ length: many }, () => argsOf(name, pick)))
  }
  const failures = [
    ['SyncStock', 640, 'connect ECONNREFUSED 10.4.0.17:8090'],
    ['ResizeImage', 61, 'no answer from the store after 10 s'],
    ['SendReceipt', 38, '429 Too Many Requests'],
    ['RenderInvoice', 9, "Cannot read properties of undefined (reading 'total')"],
    ['ChargeCard', 4, 'card issuer did not answer'],
  ]
  const job = (name, i, message, since) => ({
    class: name,
    args: argsOf(name, pick),
    queue: JOBS[name].queue,
    retry: true,
    retry_count: 1 + (i % 5),
    created_at: since - MINUTE,
    failed_at: since,
    retried_at: Date.now() - (20 + (i % 200)) * 1000,
    error_class: JOBS[name].error[0],
    error_message: message,
    error_backtrace: BACKTRACE,
  })
  for (const [name, count, message] of failures) {
    for (let i = 0; i < count; i++) {
      const since = deployed + MINUTE + i * 900
      await hq.retries.schedule(new Date(Date.now() + (240 + chance() * 3600) * 1000), job(name, i, message, since))
    }
  }
  let jid
  for (let i = 0; i < 14; i++) {
    const [name, , message] = failures[[0, 2, 3][i % 3]]
    const died = Date.now() - (i * i + 3) * 17 * MINUTE
    const one = await hq.dead.schedule(new Date(died), {
      ...job(name, i, message, died - 1e7),
      retry_count: 25,
      retried_at: died,
    })
    jid ??= one
  }
  for (let i = 0; i < 1306; i++) {
    const name = pick(['SendReceipt', 'RenderInvoice', 'SyncStock'])
    await hq.jobNamed(name).performIn(600 + Math.floor(chance() * 86_400), ...argsOf(name, pick))
  }
  await hq.jobNamed('MoveOrders').performAsync('2025', 'archive')

  const ids = (n, from = 0) => Array.from({ length: n }, (_, i) => `sku:${SKUS[i % SKUS.length]}-${from + i}`)
  const changes = ids(3000).map((id, i) => ({ id, payload: { level: i % 250, site: pick(SITES) }, score: i }))
  await stock.performAsync(changes)
  await stock.performAsync(
    ids(260, 5000).map((id, i) => ({ id, payload: { level: i, site: 'north' }, performIn: '2h' })),
  )
  await ledger.performAsync(ids(80).map((id, i) => ({ id, payload: { entry: 871 + i, level: i * 3 }, score: i })))

  await hq.tasks.create(
    counting,
    Array.from({ length: 400 }, (_, i) => [i]),
    { name: 'Stock recount, north', maxFailures: '5%' },
  )
  await hq.tasks.create(
    counting,
    Array.from({ length: 250 }, (_, i) => [i * 4 + 1]),
    { name: 'Shelf labels, October', meta: { user: 7 } },
  )
  for (const site of SITES) await hq.jobNamed('SyncPrices').performAsync(site)
  await hq.jobNamed('CloseTill').performBulk(SITES.map((site) => [site]))
  const bid = await hq.batch({ description: 'Monthly reports' }, async () => {
    await hq.jobNamed('BuildReport').performBulk(Array.from({ length: 40 }, (_, i) => ['month', i]))
  })
  return { jid, bid }
}

function argsOf(name, pick) {
  const order = 40_000 + Math.floor(pick(Array.from({ length: 900 }, (_, i) => i)))
  if (name === 'SyncStock') return [pick(SKUS), pick(SITES), order % 260]
  if (name === 'ResizeImage') return [`products/${pick(SKUS)}/1.jpg`, { width: 1200, fit: 'cover' }]
  return name === 'BuildReport' ? ['sales', '2026-10'] : [order, { locale: pick(['en', 'de', 'ja']) }]
}

/** The workbook that is imported, with what is wrong in some of its rows. */
export async function makeWorkbook(path, rows, chance) {
  const header = ['SKU', 'Name', 'Category', 'Price']
  const row = (i) => {
    const sku = `${SKUS[i % SKUS.length].slice(0, 3)}-${String(1000 + i)}`
    const cells = [sku, NAMES[i % NAMES.length], CATEGORIES[i % CATEGORIES.length], ((i % 90) + 5.5).toFixed(2)]
    const luck = chance()
    if (luck < 0.025) cells[3] = ''
    else if (luck < 0.038) cells[2] = 'Gardn tools'
    else if (luck < 0.046) cells[0] = `${sku}-DUP`
    else if (luck < 0.051) cells[1] = `${cells[1]} – ${'the best of its kind, with free delivery '.repeat(2)}`
    return cells
  }
  await writeSpreadsheet(path, { header, rows: Array.from({ length: rows }, (_, i) => row(i)) })
}

const BACKTRACE = deflateSync(
  JSON.stringify([
    'at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)',
    'at async StockClient.send (/srv/shop-backend/src/stock/client.ts:48:19)',
    'at async setLevel (/srv/shop-backend/src/stock/level.ts:22:11)',
    'at async SyncStock (/srv/shop-backend/src/jobs/sync-stock.ts:14:5)',
    'at async Chain.run (/srv/shop-backend/node_modules/highkiq/dist/job/chain.js:31:7)',
    'at async Runner.run (/srv/shop-backend/node_modules/highkiq/dist/worker/runner.js:88:9)',
  ]),
).toString('base64')
