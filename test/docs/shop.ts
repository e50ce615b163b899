/** The shop of `shop.d.ts`, for fragments that run: each global is made when a fragment first names it. */

import { Highkiq, type JobContext } from 'highkiq'

const app = new Highkiq()
const handler = async (_ctx: JobContext, ..._args: unknown[]) => {}
const made = new Map<string, unknown>()

function global(name: string, make: () => unknown): void {
  const get = () => {
    if (!made.has(name)) made.set(name, make())
    return made.get(name)
  }
  Object.defineProperty(globalThis, name, { get, configurable: true })
}

global('Reindex', () => app.job('Reindex', { unique: true }, handler))
for (const name of ['ImportShop', 'HardJob', 'SendInvoice', 'WelcomeMail', 'CleanUp', 'FetchRates'])
  global(name, () => app.job(name, handler))
for (const name of ['SendReport', 'ImportProduct', 'OtherJob', 'SetPrice']) global(name, () => app.job(name, handler))
global('ExportPage', () => app.job('ExportPage', async (_ctx: JobContext, from: number, to: number) => [[from, to]]))
global('hq', () => app)
global('otherApp', () => new Highkiq({ url: 'sqlite::memory:' }))
global('rows', () => [['a-1', '12.50']])
global('moreRows', () => [['more']])
global('pages', () => [[1, 10]])
global('columns', () => ({ sku: 'sku', price: 'price' }))
global('upload', () => Buffer.from('sku,price\na-1,12.50\n'))
global('validate', () => ({
  '~standard': { version: 1, vendor: 'shop', validate: (value: unknown) => ({ value }) },
}))
global('jid', () => jid)
global('bid', () => bid)
global('task', () => task)
global('rowsBetween', () => async (from: number, to: number) => [[from, to]])
global('pagesOf', () => async () => 3)
global('resize', () => async () => {})
global('sendInvoice', () => async () => {})
global('sync', () => async () => {})
global('makeThumbnail', () => async () => {})
global('db', () => ({ async *orders() {} }))

// What the fragment is about is there before it.
const Earlier = app.job('Earlier', handler)
const jid = await Earlier.performAsync()
const bid = await app.batch({}, () => Earlier.performAsync())
const task = await app.tasks.create(app.job('Row', handler), [['a']], { keepArgs: 'all' })

export { app as lesson }
