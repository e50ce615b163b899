import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Collector, gate } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const dialog = (page: Page) => page.locator('dialog[open]')
const pill = (page: Page, words: string) => page.locator('h1 .pill', { hasText: words }).waitFor()

/** A schema that gives JSON Schema, and refuses a price that is not above 0. */
const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    jsonSchema: {
      input: () => ({
        type: 'object',
        required: ['sku', 'price'],
        properties: {
          sku: { type: 'string', description: 'as on the label' },
          price: { type: 'number' },
          size: { enum: ['s', 'm'] },
          isNew: { type: 'boolean' },
          tags: { type: 'array' },
        },
      }),
    },
    validate: (row: { price: number }) =>
      row.price > 0 ? { value: row } : { issues: [{ message: 'must be above 0', path: ['price'] }] },
  },
} as unknown as StandardSchemaV1<unknown, object>

inBrowser('the forms of a job', (open) => {
  test('a job is added by the fields of its schema, and each wrong value is shown at its field', async () => {
    const { page, hq, faults } = await open('/jobs', {
      before: ({ hq }) => {
        hq.job('ImportRow', { validate: schema, queue: 'rows', priority: 2 }, async () => {})
      },
    })
    await page.keyboard.press('n')
    const field = (label: string) => dialog(page).getByLabel(label, { exact: true })
    await field('Class').fill('ImportRow')
    await page.keyboard.press('Tab')
    await field('sku *').fill('007')
    await page.getByText('as on the label').waitFor()
    await field('price *').fill('1,5')
    await button(page, 'Add the job').click()
    const alert = dialog(page).getByRole('alert')
    await alert.getByText('This is not a number').waitFor()
    // The field has the focus, so that it can be corrected at once.
    await page.keyboard.press('Control+a')
    await page.keyboard.type('-2')
    await field('size').selectOption('m')
    await field('isNew').selectOption('false')
    await field('tags').fill('["a"]')
    expect(await field('Queue').getAttribute('placeholder')).toBe('rows')
    await page.keyboard.press('Control+Enter')
    await alert.getByText('must be above 0').waitFor()
    expect(await field('price *').getAttribute('aria-invalid')).toBe('true')
    expect(await hq.queue('rows').size()).toBe(0)
    expect(faults.splice(0)).toEqual([expect.stringContaining('400')])
    await field('price *').fill('12.5')
    await field('Tags, one on each line').fill('vip\nspring sale')
    await page.keyboard.press('Control+Enter')
    await page.getByText('The job was added.').waitFor()
    await pill(page, 'in its queue')
    const [job] = (await hq.queue('rows').page()).items
    expect({ args: job?.args, priority: job?.priority, tags: job?.tags }).toEqual({
      args: [{ sku: '007', price: 12.5, size: 'm', isNew: false, tags: ['a'] }],
      priority: 2,
      tags: ['vip', 'spring sale'],
    })
  })

  test('a job of another class is added with the arguments of the last one, at a time, in the queue of the page', async () => {
    const { page, hq } = await open('/queues/mail', {
      before: async ({ hq }) => {
        await hq.push({ class: 'Mail', args: ['bob', 1152921504606846977n], queue: 'mail' })
      },
    })
    await button(page, 'Add job…').click()
    const field = (label: string) => dialog(page).getByLabel(label, { exact: true })
    expect(await field('Queue').inputValue()).toBe('mail')
    await field('Class').fill('Mail')
    await page.keyboard.press('Tab')
    await page.getByText('the newest one found').waitFor()
    expect(await field('Arguments, as a JSON array').inputValue()).toBe('["bob",1152921504606846977]')
    await field('Arguments, as a JSON array').fill('["ann",1152921504606846977]')
    await field('Queue').fill('a b')
    await button(page, 'Add the job').click()
    await dialog(page).getByRole('alert').getByText('A queue name has no spaces').waitFor()
    await field('Queue').fill('mail')
    await field('Runs').selectOption('3600')
    await field('Priority').selectOption('7')
    await button(page, 'Add the job').click()
    await pill(page, 'scheduled')
    const [entry] = (await hq.scheduled.page()).items
    expect({ args: entry?.args, queue: entry?.payload.queue }).toEqual({
      args: ['ann', 1152921504606846977n],
      queue: 'p7:mail',
    })
  })

  test('hidden and encrypted arguments are never filled in, and ordered queues are refused', async () => {
    const { page, hq, another, faults } = await open('/jobs', {
      http: { redact: ['password'] },
      before: async ({ hq }) => {
        hq.ordered('Stock', { shards: 1 }, async () => {})
        await hq.push({ class: 'Login', args: [{ password: 'swordfish' }], wait: 3600 })
      },
    })
    const { hq: other } = another({ encryption: { keys: { 1: Buffer.alloc(32) }, active: 1 } })
    await other.job('Pay', { encrypt: true }, async (_ctx, _id: number, _iban: string) => {}).performAsync(7, 'DE02')
    await button(page, 'Add job…').click()
    for (const [name, words] of [
      ['Login', 'The arguments of such jobs have hidden parts'],
      ['Pay', 'The last argument is stored encrypted, so'],
    ] as const) {
      await dialog(page).getByLabel('Class', { exact: true }).fill(name)
      await page.keyboard.press('Tab')
      await page.getByText(words).waitFor()
      expect(await dialog(page).getByLabel('Arguments, as a JSON array').inputValue()).toBe('[]')
    }
    // An ordered queue takes no such jobs: its name is wrong as a class.
    await dialog(page).getByLabel('Class', { exact: true }).fill('Stock')
    await button(page, 'Add the job').click()
    await dialog(page).getByRole('alert').getByText('Stock is an ordered queue').waitFor()
    expect(await dialog(page).getByLabel('Class', { exact: true }).getAttribute('aria-invalid')).toBe('true')
    expect(faults.splice(0)).toEqual([expect.stringContaining('400')])
    await page.keyboard.press('Escape')
    expect(await dialog(page).count()).toBe(0)
    expect(await hq.scheduled.size()).toBe(1)
  })

  test('a job with hidden arguments is not edited, and its duplicate gets them unchanged', async () => {
    const { page, hq, go } = await open('/', { http: { redact: ['password'] } })
    const jid = await hq.push({ class: 'Login', args: [{ password: 'swordfish' }], wait: 3600, tags: ['vip'] })
    await go(`/jobs/${jid}`)
    await page.getByText('[redacted]').first().waitFor()
    await page.keyboard.press('e')
    await dialog(page).getByText('Parts of the arguments are hidden here').waitFor()
    expect(await button(page, 'Save').isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await button(page, 'Duplicate…').click()
    await dialog(page).getByText('The new job gets them unchanged.').waitFor()
    await dialog(page).getByLabel('Queue', { exact: true }).fill('logins')
    await button(page, 'Push a new job').click()
    await pill(page, 'in its queue')
    expect((await hq.queue('logins').page()).items.map(({ args, tags }) => [args, tags])).toEqual([
      [[{ password: 'swordfish' }], ['vip']],
    ])
    expect(await page.content()).not.toContain('swordfish')
  })

  test('a class that the server does not define brings its queue, and another class replaces what was filled in', async () => {
    const { page, hq } = await open('/jobs', {
      before: async ({ hq }) => {
        await hq.push({ class: 'Elsewhere', args: [1], queue: 'rare' })
        await hq.push({ class: 'Mail', args: ['bob'], queue: 'mail' })
      },
    })
    const asked: string[] = []
    page.on('request', (request) => asked.push(...(/\/classes\/(\w+)/.exec(request.url())?.slice(1) ?? [])))
    await page.keyboard.press('n')
    const field = (label: string) => dialog(page).getByLabel(label, { exact: true })
    await field('Class').fill('Elsewhere')
    await page.keyboard.press('Tab')
    await expect.poll(() => field('Queue').inputValue()).toBe('rare')
    await field('Class').fill('Mail')
    // The first Enter shows what the form fills in, the second one adds the job.
    await page.keyboard.press('Enter')
    await expect.poll(() => field('Queue').inputValue()).toBe('mail')
    expect(await field('Arguments, as a JSON array').inputValue()).toBe('["bob"]')
    expect(await hq.queue('mail').size()).toBe(1)
    await page.keyboard.press('Enter')
    await pill(page, 'in its queue')
    expect(asked).toEqual(['Elsewhere', 'Mail'])
    expect((await hq.queue('mail').page()).items.map(({ args }) => args)).toEqual([['bob'], ['bob']])
  })

  test('a second click after a lost answer adds no second job', async () => {
    const { page, hq, faults } = await open('/metrics/Mail')
    await button(page, 'Add job…').click()
    expect(await dialog(page).getByLabel('Class', { exact: true }).inputValue()).toBe('Mail')
    await page.route('**/api/v1/jobs', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await button(page, 'Add the job').click()
    await dialog(page).getByRole('alert').waitFor()
    expect(await hq.queue('default').size()).toBe(1)
    expect(faults.splice(0)).toEqual([expect.stringContaining('Failed to load')])
    await page.unroute('**/api/v1/jobs')
    await button(page, 'Add the job').click()
    await pill(page, 'in its queue')
    expect(await hq.queue('default').size()).toBe(1)
    // The same for a duplicate.
    await button(page, 'Duplicate…').click()
    await page.route('**/duplicate**', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await button(page, 'Push a new job').click()
    await dialog(page).getByRole('alert').waitFor()
    expect(await hq.queue('default').size()).toBe(2)
    expect(faults.splice(0)).toEqual([expect.stringContaining('Failed to load')])
    await page.unroute('**/duplicate**')
    await button(page, 'Push a new job').click()
    await dialog(page).waitFor({ state: 'detached' })
    expect(await hq.queue('default').size()).toBe(2)
  })

  test('an edit of a job that another person has edited meanwhile changes nothing', async () => {
    const { page, hq, go, faults } = await open('/')
    const jid = String(await hq.push({ class: 'Mail', args: [1] }))
    await go(`/jobs/${jid}`)
    await button(page, 'Edit…').click()
    await dialog(page).getByLabel('Arguments, as a JSON array').fill('[2]')
    await hq.edit(jid, [3])
    // Also when the page shows the change behind the dialog.
    await page.getByText('[3]', { exact: true }).first().waitFor()
    await button(page, 'Save').click()
    await dialog(page).getByRole('alert').getByText('The job has changed or moved meanwhile').waitFor()
    expect((await hq.queue('default').page()).items.map(({ args }) => args)).toEqual([[3]])
    expect(faults.splice(0)).toEqual([expect.stringContaining('404')])
  })

  test('a running job is duplicated with other arguments, and an edit of a tracked job is refused in words', async () => {
    const doors = gate()
    const begun = new Collector<unknown>()
    const { page, hq, work, go } = await open('/', {
      before: ({ hq }) => {
        hq.job('Slow', async (_ctx, n: unknown) => {
          begun.add(n)
          await doors.opened
        })
        hq.job('Tracked', { track: true, queue: 'tracked' }, async () => {})
      },
    })
    const running = await hq.push({ class: 'Slow', args: [1] })
    const tracked = await hq.push({ class: 'Tracked', args: [] })
    await work({ queues: ['default'] })
    await begun.atLeast(1)
    await go(`/jobs/${running}`)
    await pill(page, 'running')
    expect(await button(page, 'Edit…').count()).toBe(0)
    await button(page, 'Duplicate…').click()
    await dialog(page).getByLabel('Arguments, as a JSON array').fill('[2]')
    await button(page, 'Push a new job').click()
    expect(await begun.atLeast(2)).toEqual([1, 2])
    // The worker may be faster than the answer, after which the page opens the new job.
    await page.getByText('This is the new job.').waitFor()
    doors.open()
    await go(`/jobs/${tracked}`)
    await button(page, 'Edit…').click()
    await dialog(page).getByText('A task keeps a record of this job.').waitFor()
  })
})
