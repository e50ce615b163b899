import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { copyPackages, installFrameworks, installPacked, written } from './packed.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const TOKEN = 'only-the-test-knows-it'
export const FILES = [
  ...['next.config.ts', 'instrumentation.ts', 'lib/jobs.ts'],
  ...['app/layout.tsx', 'app/page.tsx', 'app/actions.ts', 'app/prices/route.ts', 'app/jobs/[[...path]]/route.ts'],
  ...['app/prices/route.test.ts', 'vitest.config.mts'],
]

/** The packages of the app. With the compiler, the build checks the types of the page. */
export function install(packages: string): void {
  installFrameworks(packages)
  // A bundler follows no links out of the folder of an app.
  copyPackages(packages)
  installPacked(packages)
  for (const name of ['typescript', '@types/node']) symlinkSync(join(root, 'node_modules', name), join(packages, name))
}

// In CI the first build of Next warns that it has no cache.
const { NODE_ENV: _, VITEST: __, HIGHKIQ_URL: ___, FORCE_COLOR: ____, CI: _____, ...outside } = process.env
const env = { ...outside, NEXT_TELEMETRY_DISABLED: '1', NO_COLOR: '1', WORKER: '1', JOBS_TOKEN: TOKEN }
const NEXT = 'node_modules/next/dist/bin/next'
export const headers = { authorization: `Bearer ${TOKEN}` }

/** Starts Next, and returns its address, and its process, which ends with the test. */
export async function start(
  folder: string,
  command: 'start' | 'dev',
  more: NodeJS.ProcessEnv = {},
): Promise<{ url: string; next: ChildProcess }> {
  // In a group of its own, for it starts processes.
  const own = { cwd: folder, env: { ...env, ...more }, detached: true }
  const next = spawn(process.execPath, [NEXT, command, '-p', '0'], own)
  onTestFinished(() => {
    if (next.exitCode === null && next.signalCode === null) process.kill(-(next.pid as number), 'SIGKILL')
  })
  const text = await written(next, /http:\/\/localhost:\d+[\s\S]*Ready in/)
  return { url: (/http:\/\/localhost:\d+/.exec(text) as RegExpExecArray)[0], next }
}

export function pushPrice(url: string, sku: string): Promise<Response> {
  return fetch(`${url}/prices`, { method: 'POST', body: JSON.stringify({ sku, price: '5' }) })
}

export function build(folder: string, ...flags: string[]): void {
  // As create-next-app writes it; the build adds the rest.
  writeFileSync(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "paths": { "@/*": ["./*"] } } }')
  const { stderr, stdout, status } = spawnSync(process.execPath, [NEXT, 'build', ...flags], {
    // A build does not know the token.
    ...{ cwd: folder, env: { ...env, JOBS_TOKEN: undefined }, encoding: 'utf8' },
  })
  expect(stderr).toBe('')
  expect(stdout).not.toMatch(/warn|error|⚠/i)
  expect(status).toBe(0)
}

/** Runs the tests of the app. Returns their output when one fails, otherwise an empty text. */
export function runTests(folder: string): string {
  const options = { cwd: folder, env, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/vitest', ['run'], options)
  return status === 0 ? '' : `${stdout}${stderr}`
}

/** Sends a file by the form of the page, as a browser without JavaScript does. */
async function send(url: string, text: string): Promise<Response> {
  const page = await (await fetch(url)).text()
  const form = new FormData()
  for (const [, name = '', value = ''] of page.matchAll(/<input type="hidden" name="([^"]+)"(?: value="([^"]*)")?/g)) {
    form.set(name, value.replaceAll('&quot;', '"'))
  }
  form.set('file', new File([text], 'prices.csv'))
  return fetch(url, { method: 'POST', body: form, redirect: 'manual', headers: { origin: url } })
}

/** Imports a file by the form of the page, opens the link to its task, and resolves when its rows have run. */
export async function importFile(url: string): Promise<void> {
  const refused = await send(url, '')
  expect([refused.status, await refused.text()]).toEqual([200, expect.stringContaining('empty')])
  const imported = await send(url, 'sku,price\nB-1,5\nB-2,6\nB-3,free\n')
  const location = imported.headers.get('location') ?? ''
  const [, path, id] = /^http:\/\/localhost:3000(\/jobs\/tasks\/(\w+)\?token=.+)$/.exec(location) ?? []
  const submitters = await fetch(`${url}${path}`, { headers: { accept: 'text/html' } })
  expect([submitters.status, await submitters.text()]).toEqual([200, expect.stringContaining('prices.csv')])

  const task = `${url}/jobs/api/v1/tasks/${id}`
  expect((await fetch(task)).status).toBe(401)
  const status = async () => (await fetch(task, { headers })).json()
  await expect.poll(status, { timeout: 90_000 }).toMatchObject({ state: 'done', counts: { finished: 2, failed: 1 } })
}
