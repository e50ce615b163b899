import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { Example } from './example.ts'

test('the example of several stores pushes all jobs of a customer to one store, where they are unique', async () => {
  const example = new Example('docs/scaling.md', ['stores.ts'])
  expect(example.run('stores.ts')).toBe('')
  const customers: unknown[] = []
  let stores = 0
  for (let n = 0; n < 8; n++) {
    const file = join(example.folder, `${n % 2}-s${n}.db`)
    if (!existsSync(file)) continue
    stores++
    const hq = new Highkiq({ url: `sqlite:${file}` })
    for await (const { args } of hq.queue('default')) customers.push(...args)
    await hq.close()
  }
  expect(customers.sort()).toEqual(['ann', 'bob', 'eve'])
  expect(stores).toBeGreaterThan(1)
})
