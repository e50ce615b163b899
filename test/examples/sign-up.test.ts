import { expect, test } from 'vitest'
import { Example, follow, json, openPage } from './example.ts'

const LIMIT_MS = 90_000

interface Product {
  sku: string
  name: string
  price: string
}

test('a form becomes a task; its rejected rows are corrected and retried', { timeout: LIMIT_MS }, async () => {
  const url = await new Example('sign-up').url
  const args = Array.from({ length: 30 }, (_, n): [Product] => [
    { sku: `AB-${1000 + n}`, name: n === 3 ? '' : 'Teapot', price: n === 7 ? 'x' : '5' },
  ])
  const headers = { 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    json<{ id: string; rows: number }>(fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) }))
  const { id } = await post('/api/v1/tasks', { job: 'SignUpProduct', args })
  expect((await follow(url, id)).at(-1)?.counts).toMatchObject({ finished: 28, failed: 2 })
  interface Refused {
    index: number
    args: [Product]
    messages: { text: string }[]
  }
  const events = await json<{ items: Refused[] }>(fetch(`${url}/api/v1/tasks/${id}/events?status=failed`))
  const reasons = events.items.map(({ index, messages }) => [index, messages.at(-1)?.text])
  expect(reasons).toEqual([
    [3, 'name: a product needs a name'],
    [7, 'price: "x" is not a price'],
  ])
  const corrections = events.items.map(({ index, args: [product] }) => ({
    index,
    product: { ...product, name: 'Cup', price: '6' },
  }))
  expect(await post(`/sign-ups/${id}/corrections`, corrections)).toMatchObject({ rows: 2, run: 2 })
  expect((await follow(url, id)).at(-1)).toMatchObject({ state: 'done', counts: { finished: 30, failed: 0 } })

  const there = await openPage(url)
  if (!there) return
  const { page, faults } = there
  await page.getByRole('button', { name: 'Write 200' }).click()
  await page.getByRole('button', { name: 'Sign them up' }).click()
  const soFar = page.getByRole('status')
  await soFar.getByText('184 of 200 are signed up, 16 refused. That is all of them.').waitFor()
  const rows = page.locator('#rows tr')
  await rows.nth(15).waitFor()
  expect(await rows.count()).toBe(16)
  expect(await rows.first().locator('td').last().textContent()).toBe('name: a product needs a name')

  // A page that is opened again shows the same.
  await page.reload()
  await rows.nth(15).waitFor()
  for (const row of await rows.all()) {
    const index = await row.getAttribute('data-index')
    await row.locator('[name=sku]').fill(`KL-${1000 + Number(index)}`)
    await row.locator('[name=name]').fill('Corrected')
    await row.locator('[name=price]').fill(index === '24' ? 'free' : '9.90')
  }
  await page.getByRole('button', { name: 'Try these again' }).click()
  await soFar.getByText('199 of 200 are signed up, 1 refused. That is all of them.').waitFor()
  await page.getByText('"free" is not a price').waitFor()
  await page.getByLabel('price of row 25').fill('1')
  await page.getByRole('button', { name: 'Try these again' }).click()
  await soFar.getByText('200 of 200 are signed up, 0 refused.').waitFor()
  expect(await page.locator('#refused').isVisible()).toBe(false)
  expect(faults).toEqual([])
})
