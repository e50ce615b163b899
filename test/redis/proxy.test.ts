import { connect } from 'node:net'
import { Redis, type RedisOptions } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Faults } from './faults.ts'
import { type FaultProxy, startProxy } from './proxy.ts'
import { encode, type Message, Reader } from './resp.ts'
import { type RedisServer, startServer } from './server.ts'
import type { Match } from './step.ts'
import { onRedis } from './suite.ts'

onRedis('a proxy before a Redis server', () => {
  let server: RedisServer
  let proxy: FaultProxy
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())
  beforeEach(async () => {
    await server.ask('FLUSHALL')
    proxy = await startProxy(server)
    onTestFinished(() => proxy.close())
  })

  /** A client that repeats nothing. */
  function client(options: RedisOptions = {}): Redis {
    const redis = new Redis(proxy.url(), { maxRetriesPerRequest: 0, retryStrategy: () => 1, ...options })
    redis.on('error', () => {})
    onTestFinished(() => redis.disconnect())
    return redis
  }

  test.each([2, 3] as const)('passes all bytes on unchanged (protocol %i)', async (protocol) => {
    const redis = client({ protocol })
    const value = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 256))
    await redis.set('key', value)
    expect((await redis.getBuffer('key'))?.equals(value)).toBe(true)
    expect(await Promise.all(Array.from({ length: 1000 }, (_, i) => redis.echo(`${i}`)))).toEqual(
      Array.from({ length: 1000 }, (_, i) => `${i}`),
    )
    await redis.hset('hash', { a: 1, b: 2 })
    expect(await redis.hgetall('hash')).toEqual({ a: '1', b: '2' })
    await expect(redis.lpush('hash', 'x')).rejects.toThrow('WRONGTYPE')

    const listener = client({ protocol })
    const heard = new Promise((resolve) => listener.on('message', (_, message) => resolve(message)))
    await listener.subscribe('channel', 'other')
    await redis.publish('channel', 'hello')
    expect(await heard).toBe('hello')
  })

  test('cut-before: the server never sees the request', async () => {
    const redis = client()
    await redis.incr('n')
    const { happened } = proxy.onRequest(is('INCR'), 'cut-before')
    await expect(redis.incr('n')).rejects.toThrow()
    expect(await happened).toEqual({ name: 'INCR', args: [Buffer.from('n')] })
    expect(await server.ask('GET', 'n')).toEqual(['1'])
    expect(await redis.incr('n')).toBe(2)
  })

  test('cut-after-request: the server carries it out, and the reply is lost', async () => {
    const redis = client()
    proxy.onRequest(is('INCR'), 'cut-after-request')
    await expect(redis.incr('n')).rejects.toThrow()
    await until(async () => (await server.ask('GET', 'n'))[0] === '1')
  })

  test('cut-after-request: the server ends a blocked request', async () => {
    const redis = client()
    const step = proxy.onRequest(is('BLMOVE'), 'cut-after-request')
    await expect(redis.blmove('from', 'to', 'RIGHT', 'LEFT', 0)).rejects.toThrow()
    await step.happened
    await until(async () => (await server.ask('INFO', 'clients')).join().includes('blocked_clients:0'))
    await server.ask('LPUSH', 'from', 'job')
    expect(await server.ask('LLEN', 'from')).toEqual(['1'])
  })

  test('cut-before-reply: exactly that answer is lost, those before it arrive', async () => {
    const redis = client()
    const { happened } = proxy.onRequest((name, [key]) => name === 'INCR' && String(key) === 'b', 'cut-before-reply')
    const answers = await Promise.allSettled([redis.incr('a'), redis.incr('b'), redis.incr('a')])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    await happened
    expect(await server.ask('GET', 'b')).toEqual(['1'])
  })

  test('cut-before-reply: a blocked request whose answer is lost was carried out', async () => {
    const redis = client()
    const sent = proxy.onRequest(is('BLMOVE'), 'cut-before-reply')
    const moving = redis.blmove('from', 'to', 'RIGHT', 'LEFT', 0)
    const lost = expect(moving).rejects.toThrow()
    await until(async () => (await server.ask('INFO', 'clients')).join().includes('blocked_clients:1'))
    await server.ask('LPUSH', 'from', 'job')
    await lost
    await sent.happened
    expect(await server.ask('LRANGE', 'to', '0', '-1')).toEqual(['job'])
  })

  test('hold: the request waits with all behind it until it is released', async () => {
    const [redis, other] = [client(), client()]
    const step = proxy.onRequest(is('INCR'), 'hold')
    const answers = Promise.all([redis.incr('n'), redis.get('n')])
    await step.happened
    expect(await other.get('n')).toBe(null)
    step.release()
    expect(await answers).toEqual([1, '1'])
  })

  test('hold-reply: the request is carried out, its answer waits until it is released, or is cut', async () => {
    const redis = client()
    const step = proxy.onRequest(is('INCR'), 'hold-reply')
    const answer = redis.incr('n')
    await step.happened
    expect(await server.ask('GET', 'n')).toEqual(['1'])
    step.release()
    expect(await answer).toBe(1)

    const again = proxy.onRequest(is('INCR'), 'hold-reply')
    const lost = expect(redis.incr('n')).rejects.toThrow()
    await again.happened
    again.cut()
    await lost
    expect(await redis.get('n')).toBe('2')
  })

  test('hold: the request arrives, also when its client is gone by then', async () => {
    const redis = client()
    const step = proxy.onRequest(is('INCR'), 'hold')
    const lost = expect(redis.incr('n')).rejects.toThrow()
    await step.happened
    redis.disconnect()
    await lost
    expect(await server.ask('GET', 'n')).toEqual([])
    step.release()
    await until(async () => (await server.ask('GET', 'n'))[0] === '1')
  })

  test('pass: the test sees the request; each step happens once, the oldest first', async () => {
    const redis = client()
    const steps = [proxy.onRequest(is('GET'), 'pass'), proxy.onRequest(is('GET'), 'cut-before')]
    expect(await redis.get('n')).toBe(null)
    expect((await steps[0]?.happened)?.name).toBe('GET')
    await expect(redis.get('n')).rejects.toThrow()
    expect(await redis.get('n')).toBe(null)
  })

  test.each([2, 3])('pushes between replies do not count as replies (protocol %i)', async (protocol) => {
    const raw = rawClient(proxy.port)
    await raw.answers(1, encode('HELLO', String(protocol)))
    // Pushes: two confirmations and one message; then the reply that is lost.
    await raw.answers(2, encode('SUBSCRIBE', 'a', 'b'))
    await server.ask('PUBLISH', 'a', 'hello')
    await raw.answers(1)
    const step = proxy.onRequest(is('PING'), 'cut-before-reply')
    const hold = proxy.onRequest(is('PING'), 'hold-reply')
    raw.send(encode('PING', 'lost'))
    await step.happened
    await raw.closed

    const next = rawClient(proxy.port)
    await next.answers(1, encode('HELLO', String(protocol)))
    await next.answers(2, encode('SUBSCRIBE', 'a', 'b'))
    next.send(encode('PING', 'held'))
    await hold.happened
    hold.release()
    await server.ask('PUBLISH', 'b', 'bye')
    const words = (await next.answers(2)).map((message) => message.parts.map(String))
    const pong = protocol === 2 ? ['pong', 'held'] : ['held']
    expect(words).toEqual([pong, ['message', 'b', 'bye']])
  })

  test('refuse cuts every connection until accept', async () => {
    const redis = client()
    await redis.ping()
    expect(proxy.connections).toBe(1)
    proxy.refuse()
    await expect(redis.ping()).rejects.toThrow()
    await until(async () => proxy.connections === 0)
    proxy.accept()
    await until(() => redis.ping().catch(() => false))
  })

  test.each<Partial<Faults>>([{ delay: 20 }, { delay: 5, halve: 0.5 }])(
    'answers come late and in pieces, but whole and in order: %o',
    async (faults) => {
      proxy.set(faults)
      for (const protocol of [2, 3] as const) {
        const redis = client({ protocol })
        const texts = Array.from({ length: 200 }, (_, i) => `${i} ${'é\r\n'.repeat(i)}`)
        expect(await Promise.all(texts.map((text) => redis.echo(text)))).toEqual(texts)
      }
    },
  )

  test('a packet is held for seconds when that fault is set', async () => {
    const redis = client()
    await redis.ping()
    proxy.set({ stall: 1 })
    const began = performance.now()
    await redis.ping()
    expect(performance.now() - began).toBeGreaterThan(2000)
    proxy.calm()
    await redis.ping()
    expect(performance.now() - began).toBeLessThan(8000)
  })

  test('connections that are cut at random lose replies, and no reply is made up', async () => {
    proxy.set({ cut: 10, delay: 2, halve: 0.1, sever: 0.1 })
    let [answered, lost] = [0, 0]
    const direction = async () => {
      const redis = client()
      let last = 0
      for (let i = 0; i < 200; i++) {
        const n = await redis.incr('n').catch(() => 0)
        if (n > 0) answered++
        else lost++
        if (n > 0) expect(n).toBeGreaterThan(last)
        last = Math.max(last, n)
      }
    }
    await Promise.all([direction(), direction(), direction()])
    proxy.calm()
    const n = Number(await client().get('n'))
    expect(lost).toBeGreaterThan(10)
    expect(answered).toBeGreaterThan(100)
    // Some of the commands without a reply were carried out, and some were not.
    expect(n).toBeGreaterThan(answered)
    expect(n).toBeLessThan(answered + lost)
  })
})

function is(command: string): Match {
  return (name) => name === command
}

async function until(holds: () => Promise<unknown>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Sends bytes and reads messages over one connection. */
function rawClient(port: number) {
  const socket = connect({ port, host: '127.0.0.1' })
  const reader = new Reader()
  const messages: Message[] = []
  let wake = () => {}
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    messages.push(...reader.read(chunk))
    wake()
  })
  onTestFinished(() => void socket.destroy())
  const send = (bytes: Buffer) => void socket.write(bytes)
  return {
    send,
    closed: new Promise((resolve) => socket.on('close', resolve)),
    /** Returns the next `n` messages. */
    async answers(n: number, bytes?: Buffer): Promise<Message[]> {
      if (bytes) send(bytes)
      while (messages.length < n) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return messages.splice(0, n)
    },
  }
}
