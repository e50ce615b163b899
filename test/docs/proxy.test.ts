import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
import { serve } from 'highkiq/http'
import { expect, onTestFinished, test } from 'vitest'
import { pathOf } from '../programs/program.ts'
import { suiteWith } from '../programs/suite.ts'
import { freePort } from '../redis/port.ts'
import { blocksOf } from './blocks.ts'
import { nginx } from './program.ts'

const TOKEN = 'a token of thirty-two characters'

/** Starts nginx with the location that a page shows, in front of a server at `port`. Returns its own port. */
async function startProxy(location: string, port: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-nginx-'))
  mkdirSync(join(folder, 'logs'))
  const own = await freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const config = `
daemon off; pid ${folder}/pid; error_log stderr;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server { listen 127.0.0.1:${own}; ${location.replace(/(proxy_pass http:..127.0.0.1:)\d+/, `$1${port}`)} }
}`
  writeFileSync(join(folder, 'nginx.conf'), config)
  const child = spawn(pathOf(nginx) as string, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'pipe' })
  let said = ''
  child.stderr.on('data', (text) => (said += text))
  onTestFinished(async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  })
  while (!(await listens(own))) {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`)
    await sleep(20)
  }
  return own
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })
}

suiteWith([nginx], 'nginx', () => {
  test.each([
    ['docs/secure.md', '/'],
    ['docs/dashboard.md', '/jobs/'],
  ])(
    'with the location of %s shows the dashboard to who has the token, and passes its stream on',
    async (page, base) => {
      const hq = new Highkiq({ url: 'sqlite::memory:' })
      onTestFinished(() => hq.close())
      const options = { port: 0, basePath: base.slice(0, -1), auth: { bearer: TOKEN }, trustProxy: ['127.0.0.1'] }
      const server = await serve(hq, options)
      onTestFinished(() => server.close())
      const [block] = blocksOf(page, 'nginx')
      const port = await startProxy(block?.code ?? '', Number(new URL(server.url).port))
      const get = (path: string, headers: Record<string, string> = {}) =>
        fetch(`http://127.0.0.1:${port}${base}${path}`, { headers })
      expect((await get('api/v1/stats')).status).toBe(401)
      const authorization = `Bearer ${TOKEN}`
      expect((await get('api/v1/stats', { authorization })).status).toBe(200)
      const origin = `http://127.0.0.1:${port}`
      const pushed = await fetch(`${origin}${base}api/v1/jobs`, {
        method: 'POST',
        headers: { authorization, origin, 'content-type': 'application/json' },
        body: '{"class":"Mail","args":[]}',
      })
      expect(pushed.status).toBe(201)
      const stream = await get('api/v1/live', { authorization, accept: 'text/event-stream' })
      let text = ''
      for await (const part of stream.body ?? []) {
        text += Buffer.from(part).toString()
        if (text.includes('data:')) break
      }
      expect(text).toContain('data:')
    },
  )
})
