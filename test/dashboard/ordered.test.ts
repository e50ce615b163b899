import { expect, test } from 'vitest'
import { Collector, gate } from '../engine/bench.ts'
import { served } from '../http/api.ts'
import { inBrowser } from './browser.ts'

inBrowser('ordered queues', (open) => {
  test('waiting ids are run, killed and deleted; dead ids are resurrected; the queue is paused and resharded', async () => {
    const ran: string[] = []
    const tried: string[] = []
    const broken = new Set(['dies', 'hopeless', 'lost'])
    const later = (id: string, v: number) => ({ id, payload: { v }, score: v, performIn: '1h' as const })
    const t = await served()
    const Other = t.hq.ordered('Other', { shards: 1 }, async () => {})
    const Stock = t.hq.ordered('Stock', { shards: 2, maxRetries: 0 }, async (_ctx, batch) => {
      for (const [id] of batch) {
        tried.push(id)
        if (broken.has(id)) throw new Error('older than what is stored')
        ran.push(id)
      }
    })
    const { page } = await open('/ordered', { app: t })
    await page.getByText('No ordered queue yet').waitFor()
    for (const id of ['dies', 'hopeless', 'lost']) await Stock.performAsync([{ id, payload: { v: id }, score: 1 }])
    await Stock.performAsync([...'abcdef'].map((id, n) => later(id, n)))
    await Other.performAsync([later('a', 1)])
    await t.work()
    await page.getByRole('link', { name: /Stock/ }).click()
    await page.getByRole('heading', { name: 'Stock' }).waitFor()

    // The queue is paused and resumed, also by key.
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Stock is paused').waitFor()
    expect((await Stock.stats()).paused).toBe(true)
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.keyboard.press('p')
    await page.getByText('Stock is resumed').waitFor()
    expect((await Stock.stats()).paused).toBe(false)

    // Shards and figures update without a reload. The number of shards is changed.
    await page.locator('.shard').nth(1).waitFor()
    await page.getByRole('button', { name: 'Change number…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Shards').fill('0')
    expect(await dialog.getByRole('button', { name: 'Change it' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Shards').fill('3')
    await dialog.getByRole('button', { name: 'Change it' }).click()
    await page.getByText('3 shards from now on').waitFor()
    expect((await Stock.stats()).shards).toHaveLength(3)
    await page.locator('.shard').nth(2).waitFor()

    // Waiting ids are found, sorted and opened.
    const waiting = page.getByRole('table', { name: 'Waiting' }).locator('tbody tr')
    const ids = () => waiting.locator('td:nth-child(2)').allTextContents()
    await expect.poll(() => waiting.count()).toBe(6)
    await page.getByLabel('Start at this id').fill('c')
    await expect.poll(() => waiting.count()).toBe(4)
    await page.getByRole('button', { name: 'Highest first' }).click()
    await expect.poll(ids).toEqual(['c', 'b', 'a'])
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ from: 'c', desc: 'true' })
    await page.getByRole('button', { name: 'Highest first' }).click()
    await page.getByLabel('Start at this id').fill('')
    await page.getByLabel('Sorted by').selectOption('id')
    await expect.poll(ids).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
    await waiting.filter({ hasText: '{"v":3}' }).click()
    await page.getByRole('complementary').getByText('"v": 3').waitFor()
    await page.keyboard.press('Escape')

    // A selection in one queue selects nothing in another one.
    await page.getByLabel('Select a', { exact: true }).check()
    await page.getByText('1 selected').waitFor()
    await page.getByRole('link', { name: /Other/ }).click()
    await page.getByRole('heading', { name: 'Other' }).waitFor()
    await page.locator('.shard').getByText('1 id waiting').waitFor()
    await waiting.getByText('{"v":1}').waitFor()
    expect(await page.getByText('1 selected').count()).toBe(0)
    await page.getByRole('link', { name: /Stock/ }).click()

    // Kill, delete and run now apply only to the selected ids.
    await page.getByLabel('Select b', { exact: true }).check()
    await page.getByRole('button', { name: 'Kill…' }).click()
    await page.getByRole('button', { name: 'Keep it' }).click()
    expect((await Stock.stats()).length).toBe(6)
    await page.getByRole('button', { name: 'Kill…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Kill 1 id' }).click()
    await page.getByText('Done for 1 id').waitFor()
    expect(await Stock.find('b')).toMatchObject({ waiting: null, dead: { id: 'b' } })
    await page.getByLabel('Select c', { exact: true }).check()
    await page.getByLabel('Select d', { exact: true }).check()
    await page.keyboard.press('Shift+D')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 ids' }).click()
    await page.getByText('Done for 2 ids').waitFor()
    expect([await Stock.find('c'), (await Stock.stats()).length]).toMatchObject([{ waiting: null, dead: null }, 3])
    await page.getByLabel('Select e', { exact: true }).check()
    await page.keyboard.press('r')
    await expect.poll(() => ran).toEqual(['e'])
    await page.getByRole('button', { name: 'Run all now' }).click()
    await page.getByText('2 ids are due now').waitFor()
    await expect.poll(() => [...ran].sort()).toEqual(['a', 'e', 'f'])
    await page.getByText('No id is waiting').waitFor()

    // Dead ids are resurrected one by one or all together, or deleted.
    await page.getByRole('link', { name: 'Morgue 4' }).click()
    const dead = page.getByRole('table', { name: 'Morgue' }).locator('tbody tr')
    await expect.poll(() => dead.count()).toBe(4)
    await dead.filter({ hasText: 'hopeless' }).click()
    await page.getByRole('complementary').getByText('older than what is stored').waitFor()
    await page.keyboard.press('Escape')
    broken.delete('dies')
    await page.getByLabel('Select dies').check()
    await page.getByRole('button', { name: 'Resurrect', exact: true }).click()
    await expect.poll(() => ran.at(-1)).toBe('dies')
    // An id that is resurrected in its row dies again, for the same reason.
    await page.getByRole('button', { name: 'Resurrect hopeless' }).click()
    await expect.poll(() => tried.filter((id) => id === 'hopeless')).toHaveLength(2)
    await expect.poll(async () => (await Stock.find('hopeless')).dead?.id).toBe('hopeless')
    await page.getByLabel('Select lost').check()
    await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 id' }).click()
    await expect.poll(async () => (await Stock.find('lost')).dead).toBe(null)
    await page.getByRole('button', { name: 'Resurrect all 2' }).click()
    await expect.poll(() => ran.at(-1)).toBe('b')
    await dead.filter({ hasText: 'hopeless' }).waitFor()
    await page.getByRole('button', { name: 'Delete all…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 id' }).click()
    await page.getByText('The morgue is empty').waitFor()
    expect((await Stock.stats()).morgueLength).toBe(0)
  })

  test('actions apply only to selected ids that the page shows', async () => {
    const later = (id: string) => ({ id, payload: { v: 1 }, performIn: '1h' as const })
    const { page, hq } = await open('/ordered?by=id', {
      before: async ({ hq }) => {
        const Stock = hq.ordered('Stock', { shards: 1 }, async () => {})
        await Stock.performAsync(Array.from({ length: 30 }, (_, n) => later(`id-${10 + n}`)))
      },
    })
    const Stock = hq.ordered('Stock')
    // Those of another page are not selected any more.
    await page.getByText('25 ids on this page').waitFor()
    await page.getByLabel('Select id-10').check()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByLabel('Select id-39').check()
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('Shift+D')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 id' }).click()
    await page.getByText('Done for 1 id').waitFor()
    expect([await Stock.find('id-39'), await Stock.find('id-10')]).toMatchObject([
      { waiting: null },
      { waiting: { id: 'id-10' } },
    ])
    // Neither is an id that left the list, and comes back with another payload.
    await page.getByLabel('Select id-38').check()
    await Stock.waiting.delete(['id-38'])
    await expect.poll(() => page.getByLabel('Select id-38').count()).toBe(0)
    await Stock.performAsync([later('id-38')])
    expect(await page.getByLabel('Select id-38').isChecked()).toBe(false)
    expect(await page.getByText('1 selected').count()).toBe(0)
  })

  test('the page keeps the queue that it shows when another one comes before it', async () => {
    const { page, hq } = await open('/ordered', {
      before: async ({ hq }) => void (await hq.ordered('Stock', { shards: 1 }, async () => {}).performAsync({ id: 1 })),
    })
    await page.getByRole('heading', { name: 'Stock' }).waitFor()
    await hq.ordered('Album', { shards: 1 }, async () => {}).performAsync({ id: 1 })
    await page.getByRole('link', { name: 'Album 1' }).waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Stock')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Stock is paused').waitFor()
  })

  test('ids in flight are listed, and figures have their last hour', async () => {
    const doors = gate()
    const began = new Collector<void>()
    const t = await open('/nowhere', {
      before: async ({ hq, work }) => {
        const Stock = hq.ordered('Stock', { shards: 1 }, async () => {
          began.add()
          await doors.opened
        })
        const minute = Math.floor(Date.now() / 60_000) * 60_000
        for (const ago of [30, 20, 10]) {
          const figures = { length: ago, busy: 1, lag: 0, morgueLength: 0, processed: 0, failed: 0 }
          await hq.store.metrics.recordSnapshot(minute - ago * 60_000, JSON.stringify({ ordered: { Stock: figures } }))
        }
        await Stock.performAsync([{ id: 'slow' }])
        await work()
        await began.atLeast(1)
      },
    })
    const { page, go } = t
    await go('/ordered')
    await page.getByRole('link', { name: 'In flight 1' }).click()
    const rows = page.getByRole('table', { name: 'In flight' }).locator('tbody tr')
    await rows.filter({ hasText: 'slow' }).click()
    await page.getByRole('complementary', { name: 'slow' }).getByText('In flight').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('0 a minute since').waitFor()
    await expect.poll(() => page.locator('.stat', { hasText: 'Waiting' }).locator('svg.spark').count()).toBe(1)
    doors.open()
    await page.getByText('No id is in flight').waitFor()
  })

  test('hostile ids and payloads are shown as text, and every action can be reached, also on a phone', async () => {
    const evil = '<img src=x onerror="throw 1">/50%?#\u202e\u0007'
    const t = await open('/ordered', {
      viewport: { width: 390, height: 844 },
      before: async (app) => {
        const Evil = app.hq.ordered('Evil', { shards: 1, maxRetries: 0 }, async () => {
          throw new Error(`${evil} ${'y'.repeat(5000)}`)
        })
        await Evil.performAsync([{ id: evil, payload: [evil, 'x'.repeat(1_000_000)], score: 1 }])
        const worker = await app.work()
        await expect.poll(async () => (await Evil.stats()).morgueLength).toBe(1)
        await worker.stop()
        await Evil.performAsync([{ id: evil, payload: [evil, 'x'.repeat(1_000_000)], score: 2, performIn: '1h' }])
      },
    })
    const { page, hq } = t
    const waiting = page.getByRole('table', { name: 'Waiting' }).locator('tbody tr')
    await waiting.first().click()
    const drawer = page.getByRole('complementary')
    await drawer.getByText('\\u202e\\u0007').first().waitFor()
    await drawer.getByText('died').first().waitFor()
    await drawer.getByRole('button', { name: 'Close' }).click()
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.getByRole('link', { name: 'Morgue 1' }).click()
    const dead = page.getByRole('table', { name: 'Morgue' }).locator('tbody tr')
    await dead.getByText('onerror').first().waitFor()
    await dead.getByRole('checkbox').check()
    const widest = `Math.max(...[...document.querySelectorAll('main button')].map((one) => one.getBoundingClientRect().right))`
    expect(await page.evaluate(widest)).toBeLessThanOrEqual(390)
    await page.getByRole('button', { name: 'Resurrect', exact: true }).click()
    await expect.poll(async () => (await hq.ordered('Evil').stats()).morgueLength).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await page.locator('img').count()).toBe(0)
  })
})
