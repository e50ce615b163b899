/** `highkiq adopt` on a real Redis, with keys as go-workers and Lowkiq write them. */

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { Highkiq } from 'highkiq'
import { expect, onTestFinished } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { ask, stringsOf } from '../redis/ask.ts'
import { type FaultProxy, startProxy } from '../redis/proxy.ts'
import { encode } from '../redis/resp.ts'
import { emptyServer, type RedisServer } from '../redis/server.ts'
import type { Act } from '../redis/step.ts'
import { onRedis } from '../redis/suite.ts'
import { type Folder, test } from './command.ts'

/** Keys as Lowkiq writes them; see fixtures/lowkiq.rb. */
const LOWKIQ = readFileSync(new URL('../redis/fixtures/lowkiq.jsonl', import.meta.url), 'utf8')
const FACTS = "Highkiq can't see all processes of"

const go = (n: number) => JSON.stringify({ queue: 'sums', class: 'Add', args: [n], jid: `jid${n}`, enqueued_at: 1.5 })

/** Pushes jobs to `sums` and fetches some of them, with the commands of go-workers. */
async function fetchedByGo({ port }: RedisServer, pushed: number, fetched: number, prefix = ''): Promise<void> {
  const queue = `${prefix}queue:sums`
  await stringsOf(
    port,
    ['SADD', `${prefix}queues`, 'sums'],
    ...Array.from({ length: pushed }, (_, n) => ['LPUSH', queue, go(n)]),
    ...Array.from({ length: fetched }, () => ['BRPOPLPUSH', queue, `${queue}:1:inprogress`, '1']),
  )
}

/** The numbers of the jobs in the order in which a worker fetches them. */
async function waiting(server: RedisServer, key = 'queue:sums'): Promise<number[]> {
  const texts = await server.ask('LRANGE', key, '0', '-1')
  return texts.map((text) => JSON.parse(text).args[0]).reverse()
}

async function proxyOf(server: RedisServer): Promise<FaultProxy> {
  const proxy = await startProxy(server)
  onTestFinished(() => proxy.close())
  return proxy
}

/** Something happens to the command's nth request with this text; then its process is killed. */
async function killedAt(
  folder: Folder,
  proxy: FaultProxy,
  args: string[],
  text: string,
  n: number,
  act: Act,
): Promise<void> {
  let seen = 0
  const isIt = (name: string, parts: Buffer[]) => [name, ...parts].some((part) => part.includes(text)) && ++seen === n
  const step = proxy.onRequest(isIt, act)
  const running = folder.start([...args, '--url', proxy.url()])
  await step.happened
  running.kill('SIGKILL')
  await running.ended
  step.cut()
}

async function restoreLowkiq({ port }: RedisServer): Promise<void> {
  const commands = LOWKIQ.trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as string[]).map((part) => Buffer.from(part, 'latin1')))
  await ask(port, ...commands)
}

/** What an ordered queue has now, by id. */
async function stateOf(url: string, queue: string) {
  const store = openStore(url)
  try {
    const some = { limit: 1000, payloads: 1000 }
    const ids = await store.ordered.waiting(queue, 'id', some)
    const read = (payloads: readonly (readonly [string, number])[]) =>
      payloads.map(([text, score]) => [JSON.parse(text), score])
    return {
      waiting: Object.fromEntries(ids.map(({ id, payloads, ...rest }) => [id, { ...rest, payloads: read(payloads) }])),
      dead: (await store.ordered.morgue(queue, 'id', some)).map(({ payloads, ...rest }) => ({
        ...rest,
        payloads: read(payloads),
      })),
    }
  } finally {
    await store.close()
  }
}

onRedis('adopt', () => {
  test('jobs that a dead Go process had fetched are the next of their queue, in their order', {
    timeout: 180_000,
  }, async ({ folder }) => {
    const server = await emptyServer()
    await fetchedByGo(server, 4, 3, 'app:')
    const url = `${server.url()}?namespace=app`
    const found = await folder.json<{ findings: object[] }>('doctor', '--url', url)
    expect(found.findings).toContainEqual(
      expect.objectContaining({ check: 'leftovers', advice: expect.stringMatching(/: highkiq adopt go-workers$/) }),
    )
    const dry = await folder.run(['adopt', 'go-workers', '--url', url, '--dry-run'])
    expect(dry).toMatchObject({ code: 0, stdout: 'would move 3 jobs of process 1 to sums\n', stderr: '' })
    expect(await waiting(server, 'app:queue:sums')).toEqual([3])
    const asked = await folder.run(['adopt', 'go-workers', '--url', url])
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining(`${FACTS} go-workers`) })
    expect(asked.stderr).toContain('Confirm with --yes')
    const done = await folder.run(['adopt', 'go-workers', '--url', url, '--yes'])
    expect(done).toMatchObject({ code: 0, stdout: 'moved 3 jobs of process 1 to sums\n' })
    expect(await waiting(server, 'app:queue:sums')).toEqual([0, 1, 2, 3])
    const none = await folder.run(['adopt', 'go-workers', '--url', url, '--yes'])
    expect(none).toMatchObject({ code: 0, stdout: 'nothing to adopt: processes of go-workers have left no jobs\n' })
    const doctor = await folder.json<{ findings: { check: string; severity: string }[] }>('doctor', '--url', url)
    expect(doctor.findings).toContainEqual(expect.objectContaining({ check: 'leftovers', severity: 'ok' }))
  })

  test('adopting jobs of Go is killed, loses answers, and moves each job once', { timeout: 180_000 }, async ({
    folder,
  }) => {
    const server = await emptyServer()
    const proxy = await proxyOf(server)
    await fetchedByGo(server, 400, 390)
    const args = ['adopt', 'go-workers', '--yes']
    await killedAt(folder, proxy, args, 'LMOVE', 1, 'hold')
    await killedAt(folder, proxy, args, 'LMOVE', 50, 'hold')
    await killedAt(folder, proxy, args, 'LMOVE', 120, 'hold-reply')
    proxy.onRequest((name) => name === 'LMOVE', 'cut-before-reply')
    expect(await folder.run([...args, '--url', proxy.url()])).toMatchObject({ code: 1 })
    expect(await folder.run([...args, '--url', proxy.url()])).toMatchObject({ code: 0 })
    expect(await waiting(server)).toEqual(Array.from({ length: 400 }, (_, n) => n))
    expect(await server.ask('EXISTS', 'queue:sums:1:inprogress')).toEqual(['0'])
  })

  test('names of queues and processes may have colons, and a live Go process is seen', { timeout: 180_000 }, async ({
    folder,
  }) => {
    const server = await emptyServer()
    const url = server.url()
    await stringsOf(
      server.port,
      ['SADD', 'queues', 'a:b', 'c'],
      ...['a:b:1', 'c:host:7', 'unknown:1', 'x:y:1'].map((name) => ['LPUSH', `queue:${name}:inprogress`, go(1)]),
    )
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    onTestFinished(() => void socket.destroy())
    socket.write(encode('BRPOPLPUSH', 'queue:c', 'queue:c:8:inprogress', '0'))
    await expect.poll(() => server.ask('CLIENT', 'LIST').then(String)).toContain('cmd=brpoplpush')
    const { code, stderr } = await folder.run(['adopt', 'go-workers', '--url', url, '--yes'])
    expect(code).toBe(1)
    expect(stderr).toBe(
      `highkiq: the client at 127.0.0.1:${socket.localPort} waits for jobs with BRPOPLPUSH, as a process of go-workers does: stop it first. If it is another program, add --force\n`,
    )
    const { lists } = await folder.json<{ lists: object[] }>('adopt', 'go-workers', '--url', url, '--yes', '--force')
    expect(lists).toHaveLength(4)
    expect(lists).toEqual(
      expect.arrayContaining([
        { queue: 'a:b', process: '1', size: 1 },
        { queue: 'c', process: 'host:7', size: 1 },
        { queue: 'unknown', process: '1', size: 1 },
        { queue: 'x:y', process: '1', size: 1 },
      ]),
    )
  })

  test('a queue whose name ends like a list of go-workers keeps its jobs', async ({ folder }) => {
    const server = await emptyServer()
    const url = server.url()
    await stringsOf(
      server.port,
      ['SADD', 'queues', 'mail', 'mail:eu:inprogress'],
      ...['mail:eu:inprogress', 'mail:1:inprogress'].map((name) => ['LPUSH', `queue:${name}`, go(1)]),
    )
    const { stdout } = await folder.run(['doctor', '--url', url])
    expect(stdout).toContain('go-workers has jobs in queue:mail:1:inprogress, which Highkiq does not read')
    const { lists } = await folder.json<{ lists: object[] }>('adopt', 'go-workers', '--url', url, '--yes')
    expect(lists).toEqual([{ queue: 'mail', process: '1', size: 1 }])
    expect(await waiting(server, 'queue:mail:eu:inprogress')).toEqual([1])
  })

  test('queues of Lowkiq become ordered queues with payloads, times, retries, errors and the morgue', {
    timeout: 180_000,
  }, async ({ folder }) => {
    const server = await emptyServer()
    const url = server.url()
    await restoreLowkiq(server)
    const odd =
      "highkiq: Odd::Times: time stays: a payload has a Ruby object of the class Time, which JSON can't represent\n"
    const asked = await folder.run(['adopt', 'lowkiq', '--url', url])
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining(`${FACTS} Lowkiq`) })
    const dry = await folder.run(['adopt', 'lowkiq', '--url', url, '--dry-run'])
    expect(dry).toMatchObject({
      code: 1,
      stdout:
        'Odd::Times: would move 1 waiting id and 0 dead ids, and 1 id stays\nSyncUser: would move 6 waiting ids and 1 dead id\n',
      stderr: odd,
    })
    expect(await server.ask('EXISTS', 'hk:ordered')).toEqual(['0'])
    const done = await folder.run(['adopt', 'lowkiq', '--url', url, '--yes'])
    expect(done).toMatchObject({
      code: 1,
      stdout:
        'Odd::Times: moved 1 waiting id and 0 dead ids, and 1 id stays\nSyncUser: moved 6 waiting ids and 1 dead id\n',
      stderr: odd,
    })
    const { waiting, dead } = await stateOf(url, 'SyncUser')
    expect(waiting).toEqual({
      7: expect.objectContaining({
        performIn: 1000.5,
        retryCount: -1,
        error: null,
        payloads: [
          [{ name: 'Ann' }, 1],
          [{ name: 'Anne' }, 2],
        ],
      }),
      failed: expect.objectContaining({
        performIn: 3_000_000_000,
        retryCount: 4,
        error: 'brökén',
        payloads: [[{ v: 1 }, 1]],
      }),
      fetched: expect.objectContaining({
        performIn: 1000,
        retryCount: 2,
        payloads: [
          [{ v: 1 }, 1],
          [{ v: 2 }, 2],
          [{ v: 3 }, 3],
        ],
      }),
      later: expect.objectContaining({ performIn: 4_000_000_000, payloads: [['plain', 1.5]] }),
      types: expect.objectContaining({ performIn: 1000 }),
    })
    expect(dead).toEqual([
      { id: 'dead', payloads: [[{ v: 1 }, 1]], updatedAt: 1_700_000_000.25, error: 'broken', deaths: 1 },
    ])
    const store = openStore(url)
    const types = (await store.ordered.find('SyncUser', 'types')).waiting?.payloads[0]?.[0]
    await store.close()
    expect(types).toBe(
      '{"3":[null,true,false,1.5,-0.25],"default":{"a":1},"empty":{},"integers":[0,1,-1,122,123,-123,-124,255,256,-256,-257,65535,65536,1073741824,-1073741825,1099511627776,1180591620717411303424,-1180591620717411303424],"latin":"é","links":["twice","twice",100000000000000000000,"again","again"],"symbol":"naïve","text":"grüße"}',
    )
    // Only what could not be moved is left.
    const rest = (await server.ask('KEYS', 'lowkiq:*')).filter((key) => !key.startsWith('lowkiq:A:v1:Odd::Times:'))
    expect(rest).toEqual([])
    expect(await server.ask('ZCARD', 'lowkiq:A:v1:Odd::Times:payloads:time')).toEqual(['1'])
  })

  test('adopting a queue of Lowkiq is killed, loses answers, and a running worker gets each payload once', {
    timeout: 240_000,
  }, async ({ folder }) => {
    const server = await emptyServer()
    const proxy = await proxyOf(server)
    const root = 'lowkiq:A:v1:Copy'
    const ids = Array.from({ length: 60 }, (_, n) => `id${n}`)
    const versions = [1, 2, 3]
    // The members are JSON, as an app may write them.
    await stringsOf(
      server.port,
      ...ids.flatMap((id) => [
        ['ZADD', `${root}:all_ids_lex`, '0', id],
        ['ZADD', `${root}:all_ids_scored_by_perfrom_in`, '1000', id],
        ['ZADD', `${root}:all_ids_scored_by_retry_count`, '-1', id],
        ['ZADD', `${root}:ids_scored_by_perform_in:0`, '1000', id],
        ['ZADD', `${root}:payloads:${id}`, ...versions.flatMap((v) => [String(v), JSON.stringify({ id, v })])],
      ]),
    )
    const hq = new Highkiq({ url: server.url(), logger: { debug() {}, info() {}, warn() {}, error() {} } })
    onTestFinished(() => hq.close())
    const seen: string[] = []
    hq.ordered('Copy', { shards: 2, batchSize: 5 }, async (_ctx, batch: Map<string, { id: string; v: number }[]>) => {
      for (const payloads of batch.values()) for (const { id, v } of payloads) seen.push(`${id} ${v}`)
    })
    await hq.worker({ orderedConcurrency: 2 }).start()
    const args = ['adopt', 'lowkiq', '--yes']
    const script = `${root}:payloads:`
    await killedAt(folder, proxy, args, script, 2, 'hold')
    await killedAt(folder, proxy, args, `"id":"id5"`, 1, 'hold-reply')
    const isMove = (name: string, parts: Buffer[]) =>
      name.startsWith('EVAL') && parts.some((part) => part.includes(script))
    proxy.onRequest(isMove, 'cut-before-reply')
    expect(await folder.run([...args, '--url', proxy.url()])).toMatchObject({ code: 1 })
    expect(await folder.run([...args, '--url', proxy.url()])).toMatchObject({ code: 0, stderr: '' })
    const expected = ids.flatMap((id) => versions.map((v) => `${id} ${v}`)).sort()
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(expected.length)
    expect([...seen].sort()).toEqual(expected)
    expect(await server.ask('KEYS', 'lowkiq:*')).toEqual([])
    const doctor = await folder.run(['doctor', '--url', server.url()])
    expect(doctor.stdout).not.toContain('Lowkiq')
  })

  test('a fetched id that is not UTF-8 stays and is named, and the others move', { timeout: 180_000 }, async ({
    folder,
  }) => {
    const server = await emptyServer()
    const root = 'lowkiq:A:v1:Odd'
    const odd = Buffer.from([0xff, 0x61])
    const fetched = (id: string | Buffer): (string | Buffer)[][] => [
      ['HSET', `${root}:processing:ids_with_perform_in:0`, id, '1000'],
      ['ZADD', Buffer.concat([Buffer.from(`${root}:processing:payloads:`), Buffer.from(id)]), '1', '{"v":1}'],
    ]
    await ask(server.port, ...fetched(odd), ...fetched('fine'))
    expect(await folder.run(['adopt', 'lowkiq', '--url', server.url(), '--yes'])).toMatchObject({
      code: 1,
      stdout: 'Odd: moved 1 waiting id and 0 dead ids, and 1 id stays\n',
      stderr: 'highkiq: Odd: \ufffda stays: its id is empty or not valid UTF-8\n',
    })
  })

  test('an id that both have keeps the state of Highkiq, and a waiting one the earlier time', {
    timeout: 180_000,
  }, async ({ folder }) => {
    const server = await emptyServer()
    const [url, root] = [server.url(), 'lowkiq:A:v1:Both']
    const store = openStore(url)
    const here = (id: string) => ({ id, payload: '"here"', score: 1, performIn: 1000 })
    await store.ordered.push('Both', 2, [here('waits'), here('dead')], 1_000_000)
    await store.ordered.act('Both', 'kill', ['dead'], { error: 'newer', now: 2_000_000 })
    await store.close()
    await stringsOf(
      server.port,
      ['ZADD', `${root}:all_ids_lex`, '0', 'waits'],
      ['ZADD', `${root}:all_ids_scored_by_perfrom_in`, '5000', 'waits'],
      ['ZADD', `${root}:all_ids_scored_by_retry_count`, '3', 'waits'],
      ['ZADD', `${root}:payloads:waits`, '2', '"there"'],
      ['HSET', `${root}:errors`, 'waits', 'older'],
      ['ZADD', `${root}:morgue:all_ids_lex`, '0', 'dead'],
      ['ZADD', `${root}:morgue:all_ids_scored_by_updated_at`, '1500', 'dead'],
      ['ZADD', `${root}:morgue:payloads:dead`, '2', '"there"'],
      ['HSET', `${root}:morgue:errors`, 'dead', 'older'],
    )
    expect(await folder.run(['adopt', 'lowkiq', '--url', url, '--yes'])).toMatchObject({ code: 0, stderr: '' })
    const payloads = [
      ['here', 1],
      ['there', 2],
    ]
    expect(await stateOf(url, 'Both')).toEqual({
      waiting: { waits: expect.objectContaining({ performIn: 1000, retryCount: -1, error: null, payloads }) },
      dead: [{ id: 'dead', updatedAt: 2000, error: 'newer', deaths: 1, payloads }],
    })
  })

  test("what can't be adopted is refused or named", { timeout: 180_000 }, async ({ folder }) => {
    const server = await emptyServer()
    const sqlite = await folder.run(['adopt', 'lowkiq', '--url', 'sqlite::memory:', '--yes'])
    expect(sqlite).toMatchObject({
      code: 2,
      stderr:
        'highkiq: sqlite::memory: has no jobs of other programs: give the Redis where they are, --url redis://…\n',
    })
    await stringsOf(
      server.port,
      ['SET', 'lowkiq:A:v1:Old:processing:2', 'written by Marshal'],
      ['ZADD', 'lowkiq:A:v1:Old:all_ids_lex', '0', 'a'],
      ['ZADD', 'lowkiq:A:v1:Old:all_ids_scored_by_perfrom_in', '1', 'a'],
      ['ZADD', 'lowkiq:A:v1:Old:payloads:a', '1', 'no JSON'],
    )
    const { code, stdout, stderr } = await folder.run(['adopt', 'lowkiq', '--url', server.url(), '--yes'])
    expect([code, stdout]).toEqual([1, 'Old: moved 0 waiting ids and 0 dead ids, and 2 ids stay\n'])
    expect(stderr).toContain('highkiq: Old: a stays: a payload is neither Ruby Marshal nor JSON')
    expect(stderr).toContain('highkiq: Old: shard 2 stays: fetched by an old version')
  })
})
