import { AsyncLocalStorage } from 'node:async_hooks'
import { BusinessFailure } from 'highkiq'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { all, Collector, gate, until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const pill = (page: Page, words: string) => page.locator('h1 .pill', { hasText: words }).waitFor()

inBrowser('a job by its jid', (open) => {
  test('is shown in its queue, while it runs, as a retry and as dead, each with its actions', async () => {
    const stopped = new Collector<string>()
    const { page, hq, work } = await open('/', {
      before: ({ hq }) => {
        hq.job('SyncStock', { retry: 3 }, async (ctx, sku: string) => {
          const { signal } = ctx
          ctx.message(`asked for <b>${sku}</b>`)
          if (sku === 'bad') throw new TypeError('sku bad is unknown')
          await new Promise((_, abort) => {
            signal.addEventListener('abort', () => {
              stopped.add((signal.reason as { code: string }).code)
              abort(signal.reason)
            })
          })
        })
      },
    })
    const push = (sku: string) => hq.push({ class: 'SyncStock', args: [sku] }) as Promise<string>
    const [waiting, running, failing] = [await push('waits'), await push('runs'), await push('bad')]
    const find = async (jid: string) => {
      await page.keyboard.press('Control+k')
      await page.getByPlaceholder('jid, class, queue, task, batch, page').fill(jid)
      await page.keyboard.press('Enter')
      await page.locator('h1').getByText('SyncStock').waitFor()
    }

    await find(waiting)
    await pill(page, 'in its queue')
    expect(await page.locator('.crumbs').innerText()).toBe(`Jobs\n/\n${waiting}`)
    await page.getByText('["waits"]').waitFor()
    await button(page, 'Cancel…').click()
    await button(page, 'Cancel the job').click()
    await page.getByText('Cancelled: it does not run.').waitFor()
    await page.getByText('No job with this jid').waitFor()
    expect((await hq.queue('default').page()).items.map(({ jid }) => jid).sort()).toEqual([running, failing].sort())

    await work()
    await until(async () => (await hq.retries.size()) === 1)
    await find(running)
    await pill(page, 'running')
    await button(page, 'Cancel…').click()
    await button(page, 'Cancel the job').click()
    // Its worker may have stopped it before it was found there.
    await page.getByText(/Its worker was asked to stop it\.|Cancelled: it does not run\./).waitFor()
    expect(await stopped.atLeast(1)).toEqual(['JOB_CANCELLED'])

    await find(failing)
    await pill(page, 'Retry 1 of 3')
    await page.locator('.err').getByText('sku bad is unknown').waitFor()
    await page.locator('.messages').getByText('asked for <b>bad</b>').waitFor()
    await button(page, 'Later…').click()
    await button(page, 'in 7 days').click()
    await page.getByText('1 job runs at another time.').waitFor()
    await page
      .getByText(/runs again in [67] days/)
      .first()
      .waitFor()
    await button(page, 'Kill').click()
    await pill(page, 'dead')
    expect((await hq.dead.page()).items.map(({ jid }) => jid)).toEqual([failing])
    await page.getByRole('link', { name: 'among the dead' }).click()
    await page.locator('aside.drawer .err').getByText('sku bad is unknown').waitFor()
    await page.goBack()
    await pill(page, 'dead')
    await page.keyboard.press('Shift+D')
    await button(page, 'Delete 1 dead job').click()
    await page.getByText('No job with this jid').waitFor()
    expect(await hq.dead.size()).toBe(0)
  })

  test('a dead job is searched for once a minute, and is live again after a retry', async () => {
    const { page, hq, go } = await open('/nowhere')
    const jid = await hq.dead.schedule(Date.now() / 1000, { class: 'Gone', args: [1], error_class: 'Error' })
    let requests = 0
    page.on('request', (request) => {
      if (request.url().includes(`/api/v1/jobs/${jid}`)) requests++
    })
    await go(`/jobs/${jid}`)
    await pill(page, 'dead')
    // Each update of the figures replaces a mark at the top of the page.
    await page.evaluate(`new Promise((seen) => {
      let updates = 0
      const watch = new MutationObserver(() => ++updates === 2 && seen())
      watch.observe(document.querySelector('.store'), { childList: true })
    })`)
    expect(requests).toBe(1)
    await button(page, 'Retry now').click()
    await pill(page, 'in its queue')
    const before = requests
    await until(() => requests > before)
  })

  test('shows the progress of its handler while it runs and when it has finished', async () => {
    const [second, end] = [gate(), gate()]
    const { page, hq, work, go } = await open('/', {
      before: ({ hq }) => {
        hq.job('Export', { keepFinished: true }, async (ctx) => {
          ctx.progress(1, 4, 'reads <b>pages</b>')
          await second.opened
          ctx.progress(3, 4, 'writes')
          await end.opened
        })
      },
    })
    const jid = await hq.push({ class: 'Export', args: ['long '.repeat(20_000), 'the end'] })
    await work()
    await go(`/jobs/${jid}`)
    await pill(page, 'running')
    await button(page, 'Show all 100kB').click()
    await page.getByText('"the end"').first().waitFor()
    const shown = (words: string) => page.locator('.job-body', { hasText: words }).waitFor()
    await shown('1 of 4reads <b>pages</b>')
    second.open()
    await shown('3 of 4writes')
    end.open()
    await pill(page, 'succeeded')
    await shown('3 of 4writes')
  })

  test('shows the context of its push, and an encrypted argument as such', async () => {
    const current = new AsyncLocalStorage<{ tenant: string }>()
    const { page, another, go } = await open('/', {})
    const { hq } = another({ encryption: { keys: { 1: Buffer.alloc(32) }, active: 1 } })
    hq.context('request', current)
    hq.job('Pay', { encrypt: true }, async (_ctx, _id: number, _iban: string) => {})
    const jid = await current.run({ tenant: 'acme' }, () => hq.jobNamed('Pay').performAsync(7, 'DE02'))
    await go(`/jobs/${jid}`)
    await page.getByText('"[encrypted]"').first().waitFor()
    await page.locator('dl.kv dt', { hasText: 'Context' }).waitFor()
    await page.locator('dl.kv dd', { hasText: '{"request": {"tenant": "acme"}}' }).waitFor()
    expect(await page.content()).not.toContain('DE02')
  })

  test('has other arguments after an edit, and is pushed again as a new job', async () => {
    const { page, hq, go } = await open('/', {})
    const jid = await hq.push({ class: 'Mail', args: ['bob', { n: 5 }], wait: 3600 })
    await go(`/jobs/${jid}`)
    await button(page, 'Edit…').click()
    const field = page.getByLabel('Arguments, as a JSON array')
    expect(await button(page, 'Save').isDisabled()).toBe(true)
    await field.fill('{"no": "list"}')
    await button(page, 'Save').click()
    await page.getByRole('alert').getByText('This is not a JSON array.').waitFor()
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA')
    await field.fill('["ann", 1152921504606846977]')
    await button(page, 'Save').click()
    await page.getByText('The job has other arguments now.').waitFor()
    expect((await hq.scheduled.page()).items[0]?.text).toContain('["ann", 1152921504606846977]'.replace(' ', ''))
    await button(page, 'Duplicate…').click()
    await button(page, 'Push a new job').click()
    await page.getByText('This is the new job.').waitFor()
    await pill(page, 'in its queue')
    const [copy] = (await hq.queue('default').page()).items
    expect(copy?.args).toEqual(['ann', 1152921504606846977n])
    expect(page.url()).toContain(`/jobs/${copy?.jid}`)
  })

  test('shows for a row of a task its outcome, its messages and its task', async () => {
    const { page, hq, work, go } = await open('/tasks', {
      before: ({ hq }) => {
        hq.job('ImportRow', { retry: false }, async (ctx, row: { sku: string }) => {
          await ctx.message(`read <b>${row.sku}</b>`)
          throw new BusinessFailure('no price', { code: 'price_missing' })
        })
      },
    })
    const task = await hq.tasks.create(hq.jobNamed('ImportRow'), [[{ sku: 'a-1' }]])
    await work()
    await until(async () => (await task.status())?.state === 'done')
    const [event] = await all(task.events())
    await go(`/jobs/${event?.jid}`)
    await page.getByText('read <b>a-1</b>').waitFor()
    await pill(page, 'failed')
    await page.locator('.messages').getByText('no price').waitFor()
    await page.getByText('price_missing').waitFor()
    await page.getByText('"a-1"').waitFor()
    await page.getByRole('link', { name: task.id }).click()
    await page.getByRole('heading', { name: 'ImportRow' }).first().waitFor()
  })
})
