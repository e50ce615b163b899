import { expect, test } from 'vitest'
import { processLeases } from './process-leases.ts'

test('a process has the leases whose owners are its identity and a number', () => {
  const of = processLeases(['b.1:2:y.0', 'a:1:x.3', 'b.1:2:y.12', 'b.1:2:yz.0', 'a:1:x'].map((owner) => ({ owner })))
  const ownersOf = (identity: string) => of(identity).map(({ owner }) => owner)
  expect(ownersOf('a:1:x')).toEqual(['a:1:x.3', 'a:1:x'])
  expect(ownersOf('b.1:2:y')).toEqual(['b.1:2:y.0', 'b.1:2:y.12'])
  for (const unknown of ['a:1', 'b.1:2', 'd']) expect(ownersOf(unknown)).toEqual([])
})
