import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { bench } from '../engine/bench.ts'
import { startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('queues of a worker that Sidekiq serves, too', () => {
  test('a worker names them at its start, with the processes; a quiet one and one of other queues do not count', async () => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    const redis = new Redis(server.url(0))
    onTestFinished(() => redis.disconnect())
    const show = async (identity: string, info: object, quiet = 'false') => {
      await redis.sadd('processes', identity)
      await redis.hset(identity, { info: JSON.stringify(info), busy: 0, beat: Date.now() / 1000, quiet })
    }
    await show('ruby:1:a', { version: '8.1.7', queues: ['critical', 'mails'] })
    await show('ruby:2:b', { version: '8.1.7', capsules: { slow: { weights: { low: 3 } } } })
    await show('ruby:3:c', { version: '8.1.7', queues: ['other'] })
    await show('ruby:4:d', { version: '8.1.7', queues: ['node'] }, 'true')
    const warned = async (queues: string[]) => {
      const app = bench({ url: server.url(0) })
      await app.work({ queues })
      return app.log.lines.filter(({ message }) => message.startsWith('Sidekiq serves'))
    }
    expect(await warned(['node', 'critical', 'low'])).toEqual([
      {
        level: 'warn',
        about: { queues: ['critical', 'low'], processes: ['ruby:1:a', 'ruby:2:b'] },
        message: expect.stringContaining('Sidekiq serves the queues critical, low, too. Each process fails the jobs'),
      },
    ])
    expect(await warned(['mails'])).toMatchObject([{ message: expect.stringContaining('the queue mails, too') }])
    expect(await warned(['node'])).toEqual([])
  })
})
