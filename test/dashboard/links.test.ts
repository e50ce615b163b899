import { expect, test } from 'vitest'
import type { ServedApi } from '../http/api.ts'
import { inBrowser, type Opened } from './browser.ts'

/** Creates tasks of a user, without rows. */
const made = async ({ hq }: ServedApi) => {
  const job = hq.job('Row', async () => {})
  for (const name of ['Spring', 'Autumn']) await hq.tasks.create(job, [], { name, meta: { user: 7 } })
}

/** Returns the token of the link that was copied last. */
const copied = async (page: Opened['page']) => {
  const read = () => page.evaluate<string>('navigator.clipboard.readText()')
  await expect.poll(read).toContain('token=')
  const text = await read()
  return { url: text, token: new URL(text).searchParams.get('token') ?? '' }
}

const DAY = 86_400
const daysLeft = (token: string) => {
  const [, seconds] = /(?:^|\.)(\d{10})\./.exec(token) ?? []
  return seconds === undefined ? null : Math.round((Number(seconds) * 1000 - Date.now()) / 1000 / DAY)
}

inBrowser('links for submitters', (open) => {
  test('a link to a task is copied with its end and its rights, and all links are revoked', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page, hq } = await open('/tasks', { before: made, permissions })
    await page.getByRole('link', { name: 'Spring' }).click()
    const copy = async (life?: string, rights?: string) => {
      await page.evaluate(`navigator.clipboard.writeText('')`)
      await page.getByRole('button', { name: 'Copy link…' }).click()
      const dialog = page.getByRole('dialog')
      if (life) await dialog.getByLabel('How long it works').selectOption(life)
      if (rights) await dialog.getByLabel('What it allows').selectOption(rights)
      await dialog.getByRole('button', { name: 'Copy link', exact: true }).click()
      return copied(page)
    }
    const week = await copy()
    expect([daysLeft(week.token), week.token.startsWith('read.')]).toEqual([7, false])
    const month = await copy('30 days', 'only see')
    expect([daysLeft(month.token), month.token.startsWith('read.')]).toEqual([30, true])
    const kept = await copy('as long as the task is kept')
    expect([daysLeft(kept.token), kept.token.startsWith('read.')]).toEqual([null, false])
    for (const { url } of [week, month, kept]) expect((await fetch(url)).status).toBe(200)

    await page.getByRole('button', { name: 'Revoke links…' }).click()
    await page.getByRole('button', { name: 'Keep them' }).click()
    expect((await fetch(kept.url)).status).toBe(200)
    await page.getByRole('button', { name: 'Revoke links…' }).click()
    await page.getByRole('dialog').getByText('These links no longer open the task.').waitFor()
    await page.getByRole('button', { name: 'Revoke all links' }).click()
    await page.getByText('All links are revoked. New ones work.').waitFor()
    for (const { url } of [week, month, kept]) expect((await fetch(url)).status).toBe(401)
    expect((await fetch((await copy()).url)).status).toBe(200)
    expect((await hq.tasks.list()).items).toHaveLength(2)
  })

  test.each([
    ['en', 'Copy link', 'The link shows no hidden values'],
    ['zh', '复制链接', '链接不显示被隐藏的值'],
    ['ru', 'Скопировать ссылку', 'Скрытые значения по ней не видны'],
  ])('a server that hides values says in %s what a link shows', async (locale, button, words) => {
    const { page } = await open('/tasks', { before: made, http: { redact: ['password'] }, locale })
    await page.getByRole('link', { name: 'Spring' }).click()
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('dialog').getByText(words).waitFor()
  })

  test('a link to the tasks of a user is copied and revoked on their list', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page } = await open('/tasks?meta.user=7', { before: made, permissions })
    await page.getByRole('button', { name: 'Copy link for the submitter…' }).click()
    await page.getByLabel('How long it works').selectOption('until you revoke it')
    await page.getByRole('button', { name: 'Copy link', exact: true }).click()
    const { url, token } = await copied(page)
    expect(daysLeft(token)).toBe(null)
    expect(await (await fetch(url)).text()).toContain('Spring')
    await page.getByRole('button', { name: 'Revoke links…' }).click()
    await page.getByRole('button', { name: 'Revoke all links' }).click()
    await page.getByText('All links are revoked').waitFor()
    expect((await fetch(url)).status).toBe(401)
  })

  test('a read-only dashboard copies links that only show, and revokes none', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page } = await open('/tasks', { before: made, permissions, http: { readOnly: true } })
    await page.getByRole('link', { name: 'Spring' }).click()
    await page.getByRole('button', { name: 'Copy link…' }).click()
    expect(await page.getByLabel('What it allows').count()).toBe(0)
    await page.getByRole('button', { name: 'Copy link', exact: true }).click()
    expect((await copied(page)).token).toMatch(/^read\.\d{10}\./)
    expect(await page.getByRole('button', { name: 'Revoke links…' }).count()).toBe(0)
  })
})
