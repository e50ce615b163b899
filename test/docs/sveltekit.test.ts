import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../redis/port.ts'
import { Example } from './example.ts'
import { installFrameworks, installPacked, written } from './packed.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const SESSION = 'only-the-test-knows-it'
const FILES = [
  ...['svelte.config.js', 'src/hooks.server.ts', 'src/lib/server/jobs.ts'],
  ...['src/routes/+page.server.ts', 'src/routes/+page.svelte', 'src/routes/jobs/[...path]/+server.ts'],
]
const VITE = `
import { sveltekit } from '@sveltejs/kit/vite'

export default { plugins: [sveltekit()] }
`
const HTML = '<!doctype html><head>%sveltekit.head%</head><body>%sveltekit.body%</body>'

test('the app of docs/sveltekit.md is built, imports a file, runs its jobs and stops gracefully', {
  timeout: 400_000,
}, async () => {
  const { folder } = new Example('docs/sveltekit.md', FILES, (packages) => {
    installFrameworks(packages, 'sveltekit')
    installPacked(packages)
  })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "dependencies": { "highkiq": "*" } }')
  writeFileSync(join(folder, 'vite.config.js'), VITE)
  writeFileSync(join(folder, 'src/app.html'), HTML)
  const { VITEST: _, NODE_ENV: __, HIGHKIQ_URL: ___, ...outside } = process.env
  const build = spawnSync(process.execPath, ['node_modules/vite/bin/vite.js', 'build'], {
    ...{ cwd: folder, env: outside, encoding: 'utf8' },
  })
  expect(build.status, build.stdout + build.stderr).toBe(0)
  const typeRoots = [join(root, 'node_modules/@types')]
  const compilerOptions = { strict: true, skipLibCheck: true, types: ['node'], typeRoots }
  const tsconfig = { extends: './.svelte-kit/tsconfig.json', compilerOptions }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '--pretty', 'false']
  expect(spawnSync(process.execPath, tsc, { cwd: folder, encoding: 'utf8' }).stdout).toBe('')

  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const own = { PORT: `${port}`, ORIGIN: url, WORKER: '1', SHUTDOWN_TIMEOUT: '1', ADMIN_SESSION: SESSION }
  const server = spawn(process.execPath, ['build'], { cwd: folder, env: { ...outside, ...own } })
  onTestFinished(() => void server.kill('SIGKILL'))
  await written(server, /Listening on/)
  const get = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    fetch(`${url}${path}`, {
      ...init,
      redirect: 'manual',
      headers: { cookie: `session=${SESSION}`, origin: url, accept: 'text/html', ...init.headers },
    })
  const post = (path: string, fields: Record<string, string | File>) => {
    const body = new FormData()
    for (const [name, value] of Object.entries(fields)) body.set(name, value)
    return get(path, { method: 'POST', body })
  }

  expect((await fetch(url)).status).toBe(401)
  expect(await (await get('/')).text()).toContain('action="?/import"')
  const saved = written(server, /"sku":"A-1".*saved/)
  expect(await (await post('/?/save', { sku: 'A-1', price: '5' })).text()).toMatch(/queued: [0-9a-f]{24}/)
  await saved
  expect(await (await post('/?/import', { file: new File([], '') })).text()).toContain('choose a file')
  const imported = await post('/?/import', { file: new File(['sku,price\nB-1,5\nB-2,6\n'], 'prices.csv') })
  const [, id] = /^\/jobs\/tasks\/(\w+)$/.exec(imported.headers.get('location') ?? '') ?? []
  expect([imported.status, id]).toEqual([303, expect.any(String)])
  const task = `/jobs/api/v1/tasks/${id}`
  expect((await fetch(`${url}${task}`)).status).toBe(401)
  const status = async () => (await get(task, { headers: { accept: '*/*' } })).json()
  await expect.poll(status, { timeout: 90_000 }).toMatchObject({ state: 'done', counts: { finished: 2, failed: 0 } })
  const dashboard = await get('/jobs/')
  expect([dashboard.status, await dashboard.text()]).toEqual([200, expect.stringContaining('<html')])

  // An open stream does not keep the server from ending.
  const live = await get('/jobs/api/v1/live', { headers: { accept: '*/*' } })
  expect(live.status).toBe(200)
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  await live.body?.cancel().catch(() => {})
})

test('docs/sveltekit.md names the versions that its app was tested with', () => {
  const page = readFileSync(new URL('../../docs/sveltekit.md', import.meta.url), 'utf8')
  const { dependencies } = JSON.parse(readFileSync(new URL('../sveltekit.json', import.meta.url), 'utf8'))
  expect(page).toContain(`SvelteKit ${dependencies['@sveltejs/kit']}`)
  expect(page).toContain(`adapter-node ${dependencies['@sveltejs/adapter-node']}`)
})
