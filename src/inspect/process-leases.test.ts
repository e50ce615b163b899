import { expect, test } from 'vitest'
import { processLeases } from './process-leases.ts'

test('a process has the leases whose owners begin with its identity', () => {
  const of = processLeases(['b:2:y', 'a:1:x', 'c:3:z', 'b:2:x', 'b:20:x'].map((owner) => ({ owner })))
  const ownersOf = (identity: string) => of(identity).map(({ owner }) => owner)
  expect(ownersOf('a:1')).toEqual(['a:1:x'])
  expect(ownersOf('b:2:')).toEqual(['b:2:x', 'b:2:y'])
  expect(ownersOf('c:3:z')).toEqual(['c:3:z'])
  for (const unknown of ['a:0', 'b:3', 'd']) expect(ownersOf(unknown)).toEqual([])
  expect(processLeases([])('a:1')).toEqual([])
})
