import { BusinessFailure } from 'highkiq'
import { expect, test } from 'vitest'
import { focusRow, inBrowser } from './browser.ts'

inBrowser('the list of tasks', (open) => {
  test('tasks are found by name and job, and each shows its state', async () => {
    const { page } = await open('/tasks', {
      before: async ({ hq }) => {
        const job = hq.job('ImportProduct', async () => {})
        const other = hq.job('ImportStock', async () => {})
        for (let i = 0; i < 30; i++) await hq.tasks.create(other, [], { name: `Stock ${i}` })
        const spring = await hq.tasks.create(job, [[], []], { name: 'Spring prices' })
        await spring.pause()
        await hq.tasks.create(job, [[]], { name: 'Summer prices' })
        for (let i = 30; i < 60; i++) await hq.tasks.create(other, [], { name: `Stock ${i}` })
      },
    })
    const rows = page.getByRole('table', { name: 'Tasks' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(25)
    await page.getByLabel('Search names').fill('PRICES')
    await expect.poll(() => rows.count()).toBe(2)
    expect(new URL(page.url()).searchParams.get('search')).toBe('PRICES')
    await rows.filter({ hasText: 'Spring' }).locator('.pill', { hasText: 'paused' }).waitFor()
    await rows.filter({ hasText: 'Summer' }).locator('.pill', { hasText: 'running' }).waitFor()
    // A wide table has a column for the state, so the name does not repeat it.
    expect(await rows.getByText('running', { exact: true }).filter({ visible: true }).count()).toBe(1)

    await page.getByLabel('Search names').fill('')
    await page.getByRole('button', { name: 'job', exact: true }).click()
    await page.getByRole('combobox', { name: 'job' }).fill('ImportProduct')
    await page.keyboard.press('Enter')
    await expect.poll(() => rows.count()).toBe(2)
    await page.locator('.tools select').selectOption('paused')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Search names').fill('autumn')
    await page.getByText('No task matches.').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect.poll(() => rows.count()).toBe(25)
  })

  test('tasks are paused, resumed, retried, cancelled and deleted in their rows and together', async () => {
    let isMended = false
    const { hq, page, work } = await open('/tasks', {
      before: async ({ hq }) => {
        const job = hq.job('Row', async (_ctx, _n: number) => {
          if (!isMended) throw new BusinessFailure('Price is empty', { code: 'price' })
        })
        for (const name of ['Monday', 'Tuesday', 'Wednesday']) {
          await hq.tasks.create(job, [[1], [2]], { name })
        }
      },
    })
    const states = async () => Object.fromEntries((await hq.tasks.list()).items.map(({ name, state }) => [name, state]))
    const row = (name: string) => page.getByRole('row', { name: new RegExp(name) })
    await focusRow(row('Monday'))
    await page.keyboard.press('p')
    await page.getByText('1 task is paused').waitFor()
    expect(await states()).toEqual({ Monday: 'paused', Tuesday: 'running', Wednesday: 'running' })

    // Each button has the number of the selected tasks that allow it.
    const bar = page.getByRole('region', { name: 'Selected tasks' })
    for (const name of ['Monday', 'Tuesday']) await row(name).getByRole('checkbox').check()
    await bar.getByText('2 tasks selected').waitFor()
    expect(await bar.locator('.actions button').allTextContents()).toEqual(['Pause 1', 'Resume 1', 'Cancel… 2'])
    await bar.getByRole('button', { name: 'Resume 1' }).click()
    await page.getByText('1 task is resumed').waitFor()
    expect(await states()).toMatchObject({ Monday: 'running', Tuesday: 'running' })
    await bar.waitFor({ state: 'detached' })

    await row('Wednesday').getByRole('checkbox').check()
    await bar.getByRole('button', { name: 'Cancel… 1' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Cancel 1 task?' }).waitFor()
    await dialog.getByRole('button', { name: 'Leave them' }).click()
    expect(await states()).toMatchObject({ Wednesday: 'running' })
    await bar.getByRole('button', { name: 'Cancel… 1' }).click()
    await dialog.getByRole('button', { name: 'Cancel 1 task' }).click()
    await expect.poll(async () => (await states()).Wednesday).toBe('cancelled')

    await work()
    await expect.poll(states).toEqual({ Monday: 'done', Tuesday: 'done', Wednesday: 'cancelled' })
    isMended = true
    for (const name of ['Monday', 'Tuesday']) await row(name).getByRole('checkbox').check()
    await bar.getByRole('button', { name: 'Retry rejected 2' }).click()
    await dialog.getByRole('heading', { name: 'Retry the rejected rows of 2 tasks?' }).waitFor()
    expect(await dialog.getByRole('listitem').allTextContents()).toEqual(['Tuesday2', 'Monday2'])
    await dialog.getByRole('button', { name: 'Retry the rows' }).click()
    await page.getByText('The rows of 2 tasks run again').waitFor()
    const finished = async () => (await hq.tasks.list()).items.reduce((sum, { counts }) => sum + counts.finished, 0)
    await expect.poll(finished).toBe(4)

    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await bar.getByRole('button', { name: /^Delete… 3/ }).click()
    await dialog.getByRole('button', { name: 'Delete 3 tasks' }).click()
    await page.getByText('No tasks yet').waitFor()
    expect(await states()).toEqual({})
  })

  test('a server without jobs says what imports need, and asks for no file', async () => {
    const { page } = await open('/tasks')
    await page.getByText('to import files here, load your jobs: highkiq web -r FILE').waitFor()
    await page.getByText('Import a file, or start one from code.').waitFor()
    expect(await page.getByText('Drop a CSV or XLSX file here').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Import a file' }).count()).toBe(0)
  })

  test('nothing can be selected or changed on a read-only page', async () => {
    const { page } = await open('/tasks', {
      http: { readOnly: true },
      before: async ({ hq }) => void (await hq.tasks.create(hq.job('Row', async () => {}) as never, [[]] as never)),
    })
    const table = page.getByRole('table', { name: 'Tasks' })
    await table.locator('tbody tr').waitFor()
    expect(await table.getByRole('checkbox').count()).toBe(0)
    expect(await table.getByRole('button').count()).toBe(0)
  })
})
