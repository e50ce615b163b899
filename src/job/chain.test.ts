import { expect, test } from 'vitest'
import { Chain, type Middleware } from './chain.ts'

type Link = Middleware<string[], string>
type Links = Chain<string[], string>

const named =
  (name: string): Link =>
  async (trail, next) => {
    trail.push(name)
    return `${name}(${await next()})`
  }
const [a, b, c] = [named('a'), named('b'), named('c')]
const run = (chain: Links) => chain.run([], async () => 'x')
const chainOf = (...links: Link[]) => links.reduce((chain, link) => chain.use(link), new Chain<string[], string>())

test.each<[title: string, chain: Links, size: number, result: string]>([
  ['an empty chain calls the inner function', chainOf(), 0, 'x'],
  ['the first link is the outermost', chainOf(a, b).prepend(c), 3, 'c(a(b(x)))'],
  ['a link that is used again is moved to the end', chainOf(a, b, a), 2, 'b(a(x))'],
  ['a link that is prepended again is moved to the front', chainOf(a, b).prepend(b), 2, 'b(a(x))'],
  ['a link that is inserted before another is moved', chainOf(a, b, c).insertBefore(a, c), 3, 'c(a(b(x)))'],
  ['a link that is inserted after another is moved', chainOf(a, b, c).insertAfter(c, a), 3, 'b(c(a(x)))'],
  ['insertBefore a missing link prepends', chainOf(a).insertBefore(c, b), 2, 'b(a(x))'],
  ['insertAfter a missing link appends', chainOf(a).insertAfter(c, b), 2, 'a(b(x))'],
  ['a link is removed; removing a missing link does nothing', chainOf(a, b).remove(a).remove(c), 1, 'b(x)'],
  ['all links are removed', chainOf(a, b).clear(), 0, 'x'],
])('%s', async (_, chain, size, result) => {
  expect(chain.size).toBe(size)
  expect(await run(chain)).toBe(result)
})

test('a link that does not call next ends the chain; an error passes outwards', async () => {
  const thrown = new Error('no')
  expect(await run(chainOf(a, () => 'stopped', b))).toBe('a(stopped)')
  const broken = chainOf(a, () => {
    throw thrown
  })
  await expect(run(broken)).rejects.toBe(thrown)
})

test('a change to a chain does not affect a running call', async () => {
  const chain = chainOf()
  chain.use((_, next) => {
    chain.remove(b).use(c)
    return next()
  })
  chain.use(b)
  expect(await run(chain)).toBe('b(x)')
  expect(await run(chain)).toBe('c(x)')
})

test.each(['use', 'prepend', 'insertBefore', 'insertAfter'] as const)('%s refuses anything but a function', (verb) => {
  const chain = chainOf(a)
  const add = (link: unknown) =>
    verb.startsWith('insert') ? chain[verb](a, link as never) : chain[verb](link as never, a)
  for (const odd of [undefined, null, {}, 'x']) {
    expect(() => add(odd)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  }
  expect(chain.size).toBe(1)
})
