import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { sidekiqWeb } from './sidekiq-web.ts'
import { besideRuby } from './world.ts'

besideRuby('Sidekiq Web', (world) => {
  test('the Busy page of Sidekiq Web shows our process and its running jobs, and its buttons quiet and stop it', async () => {
    const web = await sidekiqWeb(world().url)
    const node = world().node()
    const stopped = gate()
    node.hq.on('exit', stopped.open)
    const worker = await node.work({ queues: ['critical', 'low'], concurrency: 7, tag: 'shop', timeout: 50 })
    const jid = await node.hq.push({ class: 'Long', args: ['go'], queue: 'low', tags: ['vip'] })
    await world().reports(1, 'began')

    await web.press('/busy', { identity: worker.identity, quiet: '1' })
    await web.press('/busy', { identity: worker.identity, stop: '1' })
    await until(async () => (await world().redis.hget(worker.identity, 'quiet')) === 'true')
    const page = await web.text('/busy')
    const name = worker.identity.split(':').slice(0, 2).join(':')
    const year = new Date().getUTCFullYear()
    expect(page).toMatch(new RegExp(`${name} shop quiet Queues: critical, low ${year}-\\S+ \\S+ \\S+ [\\d,]+ MB 7 1 `))
    expect(page).toMatch(new RegExp(`${name}:\\S+ \\S+ ${jid} low Long vip "go" ${year}-`))
    expect(page).toContain('1 Processes 7 Threads 1 Busy 14% Utilization')

    await world().redis.set('go', 1)
    await stopped.opened
    expect(await web.text('/busy')).toContain('0 Processes 0 Threads 0 Busy')
  })

  test('the other pages of Sidekiq Web show our jobs and their outcomes, and its buttons change them', async () => {
    const { redis } = world()
    const web = await sidekiqWeb(world().url)
    const node = world().node()
    const worker = await node.work({ queues: ['node'] })
    const args = [['node'], 'žluť 🐎 <b>', 2n ** 64n, 0.00001]
    const shown = '["node"], "žluť 🐎 <b>", 18446744073709551616, 1.0e-05'
    const failed = await node.hq.push({ class: 'Picky', args, queue: 'node', backtrace: true, tags: ['vip'] })
    const dead = await node.hq.push({ class: 'Picky', args, queue: 'node', retry: 0 })
    const later = await node.hq.push({ class: 'Quick', args, queue: 'node', at: Date.now() / 1000 + 1000 })
    await world().set('dead', 1)
    const [retry = ''] = await world().set('retry', 1)
    await node.settled()
    await worker.quiet()
    const waiting = await node.hq.push({ class: 'Quick', args, queue: 'waiting' })

    const error = 'RangeError: not in node: žluťoučký 🐎'
    expect(await web.text('/')).toContain('2 Processed 2 Failed 0 Busy 1 Enqueued 1 Retries 1 Scheduled 1 Dead')
    expect(await web.text('/queues/waiting')).toContain(`Quick ${shown}`)
    expect(await web.text('/scheduled')).toContain(`node Quick ${shown}`)
    expect(await web.text('/morgue')).toContain(`node Picky ${shown} ${error}`)
    expect(await web.text('/retries')).toContain(`0 node Picky vip ${shown} ${error}`)

    const [, score] = await redis.zrange('retry', '0', '0', 'WITHSCORES')
    const key = `${score}-${failed}`
    const page = await web.text(`/retries/${key}`)
    for (const text of [`JID ${failed}`, shown, 'Error Class RangeError', 'not in node: žluťoučký 🐎']) {
      expect(page).toContain(text)
    }
    expect(page).toMatch(/Error Backtrace at .*jobs\.js:\d+/)

    await web.press('/retries', { 'key[]': key, retry: 'Retry now' })
    expect(await world().queue('node')).toMatchObject([{ jid: failed, retry_count: -1 }])
    expect(JSON.parse(retry)).toMatchObject({ jid: failed, retry_count: 0 })
    await web.press('/morgue', {}, '/morgue/all/retry')
    const [, at] = await redis.zrange('schedule', '0', '0', 'WITHSCORES')
    await web.press('/scheduled', { 'key[]': `${at}-${later}`, add_to_queue: 'Add to queue' })
    expect((await world().queue('node')).map(({ jid }) => jid)).toEqual([failed, dead, later])
    const [text = ''] = await redis.lrange('queue:waiting', '0', '0')
    await web.press('/queues/waiting', { key_val: text }, '/queues/waiting/delete')
    expect(await redis.keys('queue:waiting')).toEqual([])
    expect(text).toContain(waiting)

    const another = world().node()
    await another.work({ queues: ['node'] })
    expect(await world().reports(1)).toMatchObject([{ by: 'node', jid: later }])
    await until(() => another.errors.length === 2)
  })
})
