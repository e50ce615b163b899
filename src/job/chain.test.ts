import { expect, test } from 'vitest'
import { Chain, type Middleware } from './chain.ts'

type Link = Middleware<string[], string>

const named =
  (name: string): Link =>
  async (trail, next) => {
    trail.push(name)
    return `${name}(${await next()})`
  }
const [a, b, c] = [named('a'), named('b'), named('c')]
const run = (chain: Chain<string[], string>) => chain.run([], async () => 'x')

test('an empty chain calls the inner function', async () => {
  const chain = new Chain<string[], string>()
  expect(chain.size).toBe(0)
  expect(await run(chain)).toBe('x')
})

test('the first link is the outermost', async () => {
  const chain = new Chain<string[], string>().use(a).use(b).prepend(c)
  expect(chain.size).toBe(3)
  expect(await run(chain)).toBe('c(a(b(x)))')
})

test('a chain has each link once: adding it again moves it', async () => {
  expect(await run(new Chain<string[], string>().use(a).use(b).use(a))).toBe('b(a(x))')
  expect(await run(new Chain<string[], string>().use(a).use(b).prepend(b))).toBe('b(a(x))')
  expect(await run(new Chain<string[], string>().use(a).use(b).use(c).insertBefore(a, c))).toBe('c(a(b(x)))')
  expect(await run(new Chain<string[], string>().use(a).use(b).use(c).insertAfter(c, a))).toBe('b(c(a(x)))')
})

test('insertBefore a missing link prepends, insertAfter a missing link appends', async () => {
  expect(await run(new Chain<string[], string>().use(a).insertBefore(c, b))).toBe('b(a(x))')
  expect(await run(new Chain<string[], string>().use(a).insertAfter(c, b))).toBe('a(b(x))')
})

test('links are removed, one or all; removing a missing link does nothing', async () => {
  expect(await run(new Chain<string[], string>().use(a).use(b).remove(a).remove(c))).toBe('b(x)')
  expect(await run(new Chain<string[], string>().use(a).use(b).clear())).toBe('x')
})

test('a link that does not call next ends the chain; an error passes outwards', async () => {
  const thrown = new Error('no')
  const chain = new Chain<string[], string>()
    .use(a)
    .use(() => 'stopped')
    .use(b)
  expect(await run(chain)).toBe('a(stopped)')
  const broken = new Chain<string[], string>().use(a).use(() => {
    throw thrown
  })
  await expect(run(broken)).rejects.toBe(thrown)
})

test('a change to a chain does not affect a running call', async () => {
  const chain = new Chain<string[], string>()
  chain.use((_, next) => {
    chain.remove(b).use(c)
    return next()
  })
  chain.use(b)
  expect(await run(chain)).toBe('b(x)')
  expect(await run(chain)).toBe('c(x)')
})

test.each(['use', 'prepend', 'insertBefore', 'insertAfter'] as const)('%s refuses anything but a function', (verb) => {
  const chain = new Chain<string[], string>().use(a)
  const add = (link: unknown) =>
    verb.startsWith('insert') ? chain[verb](a, link as never) : chain[verb](link as never, a)
  for (const odd of [undefined, null, {}, 'x']) {
    expect(() => add(odd)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  }
  expect(chain.size).toBe(1)
})
