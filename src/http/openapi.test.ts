import { expect, test } from 'vitest'
import { openApiDocument } from './openapi.ts'
import { ROUTES } from './route-table.ts'

test('the document is computed once, for all mount paths', async () => {
  let computed = 0
  const documentFor = openApiDocument(() => {
    computed++
    return ROUTES
  })
  const [root, jobs] = await Promise.all([documentFor(''), documentFor('/jobs')])
  expect(JSON.parse(root)).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/' }] })
  expect(JSON.parse(jobs)).toEqual({ ...JSON.parse(root), servers: [{ url: '/jobs' }] })
  expect(computed).toBe(1)
})
