// A redis-server of the run's own: a free port, no persistence.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Redis from 'ioredis'

export async function startServer() {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-bench-'))
  const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: folder }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = spawn('redis-server', args, { stdio: 'ignore' })
  const exited = once(server, 'exit')
  const kill = () => server.kill('SIGKILL')
  process.once('exit', kill)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const admin = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null, retryStrategy: () => 20 })
  admin.on('error', () => {})
  while ((await admin.ping()) !== 'PONG') await sleep(20)
  return {
    url: `redis://127.0.0.1:${port}`,
    /** Empties it, scripts too: each measurement begins with nothing. */
    async flush() {
      await admin.flushall('SYNC')
      await admin.script('FLUSH', 'SYNC')
    },
    async version() {
      return /redis_version:(\S+)/.exec(await admin.info('server'))[1]
    },
    async stop() {
      admin.disconnect()
      server.kill('SIGTERM')
      await exited
      process.off('exit', kill)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}
