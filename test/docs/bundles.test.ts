import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { emptyServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const APP = `
import { Highkiq } from 'highkiq'
import { createHandler } from 'highkiq/http'

const hq = new Highkiq()
const Save = hq.job('Save', async (ctx, { sku }: { sku: string }) => ctx.log.info({ sku }, 'saving'))

async function main() {
  await Save.performAsync({ sku: 'A-1' })
  await hq.tasks.import(Save, Buffer.from('sku\\nB-1\\nB-2\\n'))
  const handle = createHandler(hq, { auth: () => true })
  const get = (path: string, accept = 'text/html') =>
    handle(new Request('http://localhost' + path, { headers: { accept } }))
  console.log('enqueued', (await hq.stats()).enqueued, (await get('/api/v1/stats', '*/*')).status)
  const page = await get('/')
  console.log('dashboard', page.status, /serverExternalPackages/.test(await page.text()))
  const worker = hq.worker()
  console.log('worker', await worker.start().then(() => 'started', ({ code }) => code))
  await hq.close()
}
void main()
`

/** The page's line of esbuild for ES modules. */
function banner(): string {
  const [, code = ''] = /--banner:js='([^']+)'/.exec(readFileSync(join(root, 'docs/serverless.md'), 'utf8')) ?? []
  return `--banner:js=${code}`
}

/** A folder with a bundle of the app, and `packages`. */
function bundle(format: 'esm' | 'cjs', packages: string[]): { folder: string; file: string } {
  const made = mkdtempSync(join(tmpdir(), 'highkiq-bundle-'))
  const folder = join(made, 'alone')
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  for (const name of ['node_modules', 'alone/node_modules']) mkdirSync(join(made, name), { recursive: true })
  symlinkSync(root, join(made, 'node_modules/highkiq'))
  writeFileSync(join(made, 'app.ts'), APP)
  const file = format === 'esm' ? 'app.mjs' : 'app.cjs'
  const flags = ['--bundle', '--platform=node', `--format=${format}`, `--outfile=${file}`, '--log-level=error']
  const esbuild = join(root, 'node_modules/esbuild/bin/esbuild')
  execFileSync(esbuild, ['app.ts', ...flags, ...(format === 'esm' ? [banner()] : [])], { cwd: made })
  copyFileSync(join(made, file), join(folder, file))
  rmSync(join(made, 'node_modules'), { recursive: true })
  for (const name of packages) {
    symlinkSync(name === 'highkiq' ? root : join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  return { folder, file }
}

function run({ folder, file }: { folder: string; file: string }, url: string): string {
  const { VITEST: _, ...env } = process.env
  const own = { ...env, HIGHKIQ_URL: url, HIGHKIQ_LOG_LEVEL: 'fatal' }
  return execFileSync(process.execPath, [file], { cwd: folder, encoding: 'utf8', env: own })
}

const ALONE = 'enqueued 3 200\ndashboard 500 true\nworker BUNDLED\n'

test.each(['esm', 'cjs'] as const)(
  'a bundle of esbuild (%s) pushes and imports, and says what its dashboard and worker need',
  { timeout: 300_000 },
  (format) => {
    expect(run(bundle(format, ['libsql']), 'sqlite:jobs.db')).toBe(ALONE)
    const installed = bundle(format, ['libsql', 'highkiq'])
    expect(run(installed, 'sqlite:jobs.db')).toBe('enqueued 3 200\ndashboard 200 false\nworker started\n')
  },
)

onRedis('without any package', () => {
  test('a bundle of esbuild pushes and imports', { timeout: 300_000 }, async () => {
    const { port } = await emptyServer()
    expect(run(bundle('cjs', []), `redis://127.0.0.1:${port}/0`)).toBe(ALONE)
  })
})
