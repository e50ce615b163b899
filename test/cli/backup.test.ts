/** `highkiq backup` on real files that other processes use. */

import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { Highkiq } from 'highkiq'
import { describe, expect, onTestFinished } from 'vitest'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { Collector, recorder } from '../engine/bench.ts'
import { emptyServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

function appAt(url: string): Highkiq {
  const hq = new Highkiq({ url, logger: recorder() })
  onTestFinished(() => hq.close())
  return hq
}

describe('on SQLite', () => {
  test('the copy has all jobs that were stored before, while other jobs are pushed and run', async ({ folder }) => {
    const url = `sqlite:${folder.at('jobs.db')}`
    const hq = appAt(url)
    const Job = hq.job('Job', { queue: 'still' }, async (_ctx, _n: number) => {})
    const Other = hq.job('Other', async () => {})
    await Job.performBulk(Array.from({ length: 2000 }, (_, n) => [n] as [number]))
    chmodSync(folder.at('jobs.db'), 0o640)
    await hq.worker({ queues: ['default'], leaseSeconds: 1 }).start()
    let isOver = false
    const pushing = (async () => {
      while (!isOver) {
        await Other.performBulk(Array.from({ length: 10 }, () => []))
        await nextTurn()
      }
    })()
    const copy = folder.at("it's a copy.db")
    const { code, stdout, stderr } = await folder.run(['backup', copy, '--url', url])
    isOver = true
    await pushing
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^sqlite:.* was copied to .*it's a copy\.db \([\d,]+ kB\)\n$/)
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder.path).filter((name) => name.includes('.part'))).toEqual([])

    const restored = appAt(`sqlite:${copy}`)
    const ran = new Collector<number>()
    restored.job('Job', async (_ctx, n: number) => ran.add(n))
    restored.job('Other', async () => {})
    expect(await restored.queue('still').size()).toBe(2000)
    const worker = restored.worker({ queues: ['still', 'default'], concurrency: 50 })
    await worker.start()
    const all = await ran.atLeast(2000)
    await worker.stop()
    expect([...all].sort((a, b) => a - b)).toEqual(Array.from({ length: 2000 }, (_, n) => n))
  })

  test('a file of an older version is copied as it is, so that it can be migrated later', async ({ folder }) => {
    const fixture = new URL('../sqlite/fixtures/0.1.db.gz', import.meta.url)
    writeFileSync(folder.at('old.db'), gunzipSync(readFileSync(fixture)))
    const url = `sqlite:${folder.at('old.db')}`
    expect(await runHere(['backup', folder.at('copy.db'), '--url', url, '--json'])).toMatchObject({ code: 0 })
    const plan = async (name: string) => {
      const { stdout } = await runHere(['migrate', '--dry-run', '--json', '--url', `sqlite:${folder.at(name)}`])
      return JSON.parse(stdout).version
    }
    expect([await plan('old.db'), await plan('copy.db')]).toEqual([12, 12])
  })

  test('an existing copy, a missing store and a missing folder are refused with advice', async ({ folder }) => {
    const url = `sqlite:${folder.at('jobs.db')}`
    const refusal = async (to: string, from = url) => {
      const { code, stdout, stderr } = await runHere(['backup', folder.at(to), '--url', from])
      expect({ code: code === 0, stdout }).toEqual({ code: false, stdout: '' })
      return stderr
    }
    expect(await refusal('copy.db')).toMatch(/jobs\.db/)
    expect(existsSync(folder.at('jobs.db'))).toBe(false)
    await appAt(url).store.open()
    writeFileSync(folder.at('copy.db'), 'mine')
    expect(await refusal('copy.db')).toMatch(/copy\.db exists already: name a new file/)
    expect(readFileSync(folder.at('copy.db'), 'utf8')).toBe('mine')
    expect(await refusal('missing/copy.db')).toMatch(
      /missing.copy\.db can't be written .*name a file in a folder that exists/,
    )
    writeFileSync(folder.at('new.db-wal'), 'of an earlier file')
    expect(await refusal('new.db')).toMatch(/new\.db-wal exists already/)
    expect(await refusal('other.db', 'sqlite::memory:')).toMatch(/a store in memory has no file to copy/)
    const db = await openDriver(folder.at('jobs.db'))
    expect(Object.values(db.prepare('PRAGMA integrity_check').get() as object)).toEqual(['ok'])
    db.close()
  })
})

test('commands for one store refuse shards, and name a file of a shard that does not exist', async ({ folder }) => {
  const files = ['a', 'b'].map((name) => `sqlite:${folder.at(name)}.db`)
  const missing = await runHere(['queues', '--url', files.join(' ')])
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining(`${folder.at('a.db')} does not exist`)])
  expect((await runHere(['migrate', '--url', files.join(' ')])).code).toBe(0)
  expect((await runHere(['queues', '--url', files.join(' ')])).stdout).toBe('no queues\n')
  for (const command of [
    ['backup', folder.at('copy.db')],
    ['migrate', '--dry-run'],
  ]) {
    const { code, stderr } = await runHere([...command, '--url', files.join(' ')])
    expect([code, stderr]).toEqual([2, expect.stringContaining('are the shards of one store')])
  }
})

onRedis('on Redis', () => {
  test('is refused, and the error names the tools of the server', async () => {
    const server = await emptyServer()
    const { code, stderr } = await runHere(['backup', 'copy.rdb', '--url', server.url()])
    expect(code).toBe(2)
    expect(stderr).toMatch(/is not a SQLite file: back it up with the tools of its server/)
  })
})
