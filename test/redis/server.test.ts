import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type RedisServer, type ServerOptions, startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('a Redis server of a test', () => {
  test('answers at its own port, with its options, and is gone after remove', async () => {
    const server = await started({ databases: 3, maxmemory: '20mb' })
    expect(await server.ask('PING')).toEqual(['PONG'])
    expect(await server.ask('CONFIG', 'GET', 'databases')).toEqual(['databases', '3'])
    expect(await server.ask('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', String(20 * 1024 * 1024)])
    expect(server.url(2)).toBe(`redis://127.0.0.1:${server.port}/2`)
    const { pid, folder } = server
    await server.remove()
    expect(lives(pid)).toBe(false)
    expect(existsSync(folder)).toBe(false)
  })

  test('two servers share nothing', async () => {
    const [one, other] = await Promise.all([started(), started()])
    await one.ask('SET', 'key', 'value')
    expect(await other.ask('GET', 'key')).toEqual([])
  })

  test('with a file it keeps its data through stop, kill and restart', async () => {
    const server = await started({ appendonly: true, appendfsync: 'always' })
    const { port, pid } = server
    await server.ask('SET', 'one', '1')
    await server.restart()
    expect(server.port).toBe(port)
    expect(server.pid).not.toBe(pid)
    await server.ask('SET', 'two', '2')
    await server.kill()
    await expect(server.ask('PING')).rejects.toThrow('ECONNREFUSED')
    await server.start()
    expect(await server.ask('MGET', 'one', 'two')).toEqual(['1', '2'])
  })

  test('without a file a restart loses its data', async () => {
    const server = await started()
    await server.ask('SET', 'one', '1')
    await server.restart()
    expect(await server.ask('DBSIZE')).toEqual(['0'])
  })

  test('a frozen server does not answer, and can be stopped', async () => {
    const server = await started()
    server.freeze()
    const answer = server.ask('PING')
    expect(await Promise.race([answer, sleep(100, 'nothing')])).toBe('nothing')
    server.thaw()
    expect(await answer).toEqual(['PONG'])
    server.freeze()
    await server.stop()
    await expect(server.ask('PING')).rejects.toThrow('ECONNREFUSED')
  })

  test('a server that does not start rejects with its log', async () => {
    await expect(startServer({ 'no-such-directive': 1 })).rejects.toThrow('Bad directive')
  })

  test('it ends with the process that started it, also when that is killed', async () => {
    const module = fileURLToPath(new URL('./server.ts', import.meta.url))
    const program = `
      const { startServer } = await import(${JSON.stringify(module)})
      const { pid, folder } = await startServer({ appendonly: true })
      console.log(JSON.stringify({ pid, folder }))
    `
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(child.stdout, 'data')
    const { pid, folder } = JSON.parse(String(line)) as { pid: number; folder: string }
    expect(lives(pid)).toBe(true)
    child.kill('SIGKILL')
    while (lives(pid) || existsSync(folder)) await sleep(10)
  })
})

async function started(options?: ServerOptions): Promise<RedisServer> {
  const server = await startServer(options)
  onTestFinished(() => server.remove())
  return server
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
