import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Pairs } from './definition.ts'
import { iterate } from './sources.ts'

async function all<Item, Cursor>(pairs: Pairs<Item, Cursor>): Promise<(readonly [Item, Cursor])[]> {
  const found: (readonly [Item, Cursor])[] = []
  for await (const pair of pairs) found.push(pair)
  return found
}

function csv(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-iterate-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'a.csv'), text)
  return join(folder, 'a.csv')
}

test('a source that starts at a cursor yields the item of that cursor first, then the same items as a full run', async () => {
  const path = csv('\uFEFFsku,price\na,1\nb,"2,5"\n\nc,3\n')
  const fetched: (number | null)[] = []
  const pages: Record<number, { items: string[]; next: number | null }> = {
    0: { items: ['a', 'b'], next: 1 },
    1: { items: [], next: 2 },
    2: { items: ['c', 'd', 'e'], next: null },
  }
  const page = (at: number | null) => {
    fetched.push(at)
    return pages[at ?? 0] ?? { items: [] }
  }
  const sources: ((cursor: never) => Pairs<unknown, unknown>)[] = [
    (cursor) => iterate.array(['x', 'y', 'z'], cursor),
    (cursor) => iterate.csv(path, cursor),
    (cursor) => iterate.csv(path, cursor, { header: false }),
    (cursor) => iterate.pages(page, cursor),
  ]
  for (const from of sources) {
    const whole = await all(from(null as never))
    expect(whole.length).toBeGreaterThan(2)
    for (const [i, [, cursor]] of whole.entries()) {
      expect(await all(from(JSON.parse(JSON.stringify(cursor)) as never))).toEqual(whole.slice(i))
    }
  }
  expect(await all(iterate.csv(path, null))).toEqual([
    [{ sku: 'a', price: '1' }, 0],
    [{ sku: 'b', price: '2,5' }, 1],
    [{ sku: 'c', price: '3' }, 2],
  ])
  fetched.length = 0
  await all(iterate.pages(page, { page: 2, index: 1 }))
  expect(fetched).toEqual([2])
})

test('a CSV source refuses a missing file, and a row with fewer or more cells than the first', async () => {
  await expect(all(iterate.csv('/nowhere/a.csv', null))).rejects.toThrow('ENOENT')
  await expect(all(iterate.csv(csv('a,b\n1\n'), null))).rejects.toThrow(/column/i)
  const longer = all(iterate.csv(csv('a,b\n1,2,3\n'), null))
  await expect(longer).rejects.toMatchObject({ code: 'INVALID_FILE', details: { row: 2 } })
})

test('a loop over a CSV source can end early', async () => {
  const path = csv(`a\n${'1\n'.repeat(100_000)}`)
  for await (const [row] of iterate.csv(path, 5)) {
    expect(row).toEqual({ a: '1' })
    break
  }
})
