import { expect, test } from 'vitest'
import { fairShare, splitShards } from './shard-assignments.ts'

const sharesOf = (queue: string, shards: number, members: string[]) =>
  members.map((member) => fairShare(queue, shards, members, member))

test.each([
  [8, 1, [8]],
  [8, 2, [4, 4]],
  [5, 2, [2, 3]],
  [10, 4, [2, 2, 3, 3]],
  [2, 3, [0, 1, 1]],
])('%i shards are divided among %i members, each shard once', (shards, n, sizes) => {
  const members = Array.from({ length: n }, (_, i) => `host:${i}:${i * 7919}.0`)
  const shares = sharesOf('Sync', shards, members)
  expect(shares.map(({ length }) => length).sort()).toEqual(sizes)
  expect(shares.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: shards }, (_, i) => i))
})

test('the first shards of many queues are spread over the members', () => {
  const members = ['a.0', 'b.0', 'c.0']
  const first = Array.from({ length: 60 }, (_, i) => sharesOf(`queue${i}`, 3, members).findIndex((s) => s.includes(0)))
  for (const member of [0, 1, 2]) expect(first.filter((one) => one === member).length).toBeGreaterThan(8)
})

test('when a member joins, most shards keep their owner', () => {
  const before = sharesOf('Sync', 60, ['a.0', 'b.0', 'c.0'])
  const after = sharesOf('Sync', 60, ['a.0', 'b.0', 'c.0', 'd.0'])
  const stayed = before.map((share, i) => share.filter((shard) => after[i]?.includes(shard)).length)
  expect(stayed.reduce((a, b) => a + b)).toBeGreaterThan(30)
})

test('all shards, in order of definition, are assigned round robin', () => {
  const queues = Object.entries({ A: 3, B: 4, C: 1, D: 2 }).map(([queue, shards]) => ({ queue, shards }))
  const dealt = [0, 1, 2].map((node) =>
    [...splitShards({ nodes: 3, node }, queues)].flatMap(([queue, shards]) => shards.map((shard) => queue + shard)),
  )
  expect(dealt.map((names) => names.join(' '))).toEqual(['A0 B0 B3 D1', 'A1 B1 C0', 'A2 B2 D0'])
})

test('a function chooses among all shards', () => {
  const queues = ['A', 'B'].map((queue) => ({ queue, shards: 2 }))
  const share = splitShards((all) => all.filter(({ shard }) => shard === 1), queues)
  expect([...share]).toEqual(['A', 'B'].map((queue) => [queue, [1]]))
})
