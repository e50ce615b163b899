import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('each case of the specification of ordered queues has a test that names its number', () => {
  const files = ['conformance/ordered', 'engine'].flatMap((folder) => {
    const path = join(import.meta.dirname, '..', folder)
    const names = readdirSync(path).filter((name) => folder !== 'engine' || /^ordered.*\.ts$/.test(name))
    return names.map((name) => readFileSync(join(path, name), 'utf8'))
  })
  const titles = files.flatMap((text) => text.match(/(?:\(|name: )\s*['`](?:\[\d+\] )+/g) ?? [])
  const numbers = new Set(titles.flatMap((title) => title.match(/\d+/g) ?? []).map(Number))
  const missing = Array.from({ length: 40 }, (_, i) => i + 1).filter((n) => !numbers.has(n))
  expect(missing).toEqual([])
})
