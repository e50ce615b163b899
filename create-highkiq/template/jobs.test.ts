import { fake } from 'highkiq/testing'
import { expect, test } from 'vitest'
import { hq, SavePrice, Welcome } from './jobs.ts'

test('a new customer gets a welcome', async () => {
  using jobs = fake(hq) // pushes stay in memory
  await Welcome.performAsync('ann')
  expect(Welcome.jobs).toMatchObject([{ args: ['ann'] }])
  await jobs.drain() // runs them; an error of a handler fails the test
})

test('a row with a wrong price is rejected', async () => {
  await expect(SavePrice.performInline({ sku: 'a-2', price: '12,5O' })).rejects.toThrow('"12,5O" is not a price')
})
