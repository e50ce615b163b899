import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { Example } from './example.ts'

test('the example of shards pushes the jobs of a customer to the same shard, where they are unique', async () => {
  const example = new Example('docs/scaling.md', ['shards.ts'])
  expect(example.run('shards.ts')).toBe('')
  const customers: unknown[] = []
  let shards = 0
  for (let n = 0; n < 8; n++) {
    const file = join(example.folder, `${n % 2}-s${n}.db`)
    if (!existsSync(file)) continue
    shards++
    const hq = new Highkiq({ url: `sqlite:${file}` })
    for await (const { args } of hq.queue('default')) customers.push(...args)
    await hq.close()
  }
  expect(customers.sort()).toEqual(['ann', 'bob', 'eve'])
  expect(shards).toBeGreaterThan(1)
})
