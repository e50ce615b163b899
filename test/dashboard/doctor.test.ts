import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

inBrowser('the doctor', (open) => {
  test('the page shows the worst findings first, links them to their pages, and examines them again', async () => {
    const { page, faults } = await open('/doctor', {
      before: ({ hq }) => hq.push({ class: 'Send', args: [1], queue: 'mail' }),
    })
    await page.getByRole('heading', { name: 'Doctor' }).getByText('errors').waitFor()
    const rows = page.getByRole('table', { name: 'Doctor' }).locator('tbody tr')
    const unserved = rows.filter({ hasText: 'no worker serves the queue mail, where 1 job waits' })
    await unserved.getByText('Start one: highkiq work -q mail').waitFor()
    await unserved.getByText('Queues without a worker').waitFor()
    const severities = (await rows.locator('td:first-child').allInnerTexts()).map((text) => text.trim())
    const order = ['error', 'warning', 'ok']
    expect(severities).toEqual(severities.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)))
    const okRows = rows.filter({ has: page.locator('td:first-child').getByText('ok', { exact: true }) })
    expect(await okRows.getByRole('link').count()).toBe(0)

    await unserved.getByRole('link', { name: 'Show' }).click()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('mail is paused').waitFor()
    await page.goBack()
    const paused = rows.filter({ hasText: 'the queue mail is paused, and 1 job waits' })
    const again = page.getByRole('button', { name: 'Examine again' })
    // The server reuses the findings for five seconds.
    await until(async () => {
      await again.click()
      return (await paused.count()) === 1
    })
    expect(await unserved.count()).toBe(0)
    await page.route('**/diagnosis', (route) => route.fulfill({ status: 500, json: {} }), { times: 1 })
    await again.click()
    await page.getByRole('alert').waitFor()
    await again.click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await paused.waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('500'))).toBe(true)
  })

  test('findings and advice are in the language of the viewer, those of a store of your own in English', async () => {
    let examinations = 0
    const { page } = await open('/doctor', {
      locale: 'ru-RU',
      before: async ({ hq }) => {
        for (const n of [1, 2]) await hq.push({ class: 'Send', args: [n], queue: 'mail' })
        await hq.queue('mail').pause()
        hq.store.diagnose = async () => {
          examinations++
          return [{ check: 'server', severity: 'warning', text: 'the fan is loud', advice: 'Clean it' }]
        }
      },
    })
    const rows = page.getByRole('main').locator('tbody tr')
    const paused = rows.filter({ hasText: 'Очередь mail на паузе, в ней ждут 2 задания' })
    await paused.getByText('Чтобы продолжить: highkiq resume mail').waitFor()
    await rows.getByText(/^Ни одно запланированное задание и ни один повтор не опаздывают на 30\sс$/).waitFor()
    const english = await page.getByRole('main').locator('td [lang=en]').allInnerTexts()
    expect(english).toEqual(['the fan is loud', 'Clean it'])
    await page.getByRole('combobox', { name: 'Язык' }).selectOption('zh')
    await rows.getByText('队列 mail 已暂停，有 2 个作业在等待').waitFor()
    await rows.getByText('要继续：highkiq resume mail').waitFor()
    await rows.getByText('the fan is loud').waitFor()
    expect(examinations).toBe(1)
  })

  test('each check has a name in the language of the page', async () => {
    const { page } = await open('/doctor', { locale: 'ru-RU' })
    const rows = page.getByRole('main').locator('tbody tr')
    await rows.filter({ hasText: 'Хранилище' }).first().waitFor()
    const names = await rows.locator('b.b').allInnerTexts()
    expect(names.filter((name) => !/[а-я]/.test(name))).toEqual([])
    expect(names.length).toBeGreaterThan(12)
  })
})
