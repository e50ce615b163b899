import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../redis/port.ts'
import { Example } from './example.ts'
import { installFrameworks, installPacked, written } from './packed.ts'
import { folderOf } from './project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A job with another life than its application, and options that the page takes from another provider. */
const REFUSED = `
import 'reflect-metadata'
import { Injectable, Module, Scope } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { JobContext } from 'highkiq'
import { Job } from 'highkiq/nestjs'
import { HighkiqConfigured } from './configured.ts'

@Injectable({ scope: Scope.REQUEST })
class OfRequest {
  @Job('Late')
  run(_ctx: JobContext): void {}
}

@Module({ imports: [HighkiqConfigured], providers: [OfRequest] })
class AppModule {}

await NestFactory.createApplicationContext(AppModule, { abortOnError: false, logger: false }).catch((error) => {
  console.log(error.code, error.message)
})
`

/**
 * Tests that on a version of NestJS the app of docs/nestjs.md runs its job, stops its worker and passes its test. `list` names
 * the packages (`test/NAME.json`).
 */
export function testNest(version: string, list: string): void {
  test(
    `on NestJS ${version} the app of docs/nestjs.md runs its job, stops its worker and passes its test`,
    {
      timeout: 180_000,
    },
    () => runApp(version, list),
  )
}

/** Writes the app of the page: the file `settings`, and `files` in `src`. `list` names its packages. Returns the folder. */
export function nestApp(list: string, settings: string, files: string[]): string {
  const { folder } = new Example('docs/nestjs.md', [settings, ...files], (packages) => {
    installFrameworks(packages, list)
    installPacked(packages)
    // Jest has installed them.
    const types = join(packages, '@types/node')
    if (existsSync(types)) return
    mkdirSync(join(packages, '@types'), { recursive: true })
    symlinkSync(join(root, 'node_modules/@types/node'), types)
  })
  mkdirSync(join(folder, 'src'))
  for (const file of files) renameSync(join(folder, file), join(folder, 'src', file))
  return folder
}

async function runApp(version: string, list: string): Promise<void> {
  const files = ['app.module.ts', 'configured.ts', 'mail.ts', 'main.ts', 'server.ts', 'mail.test.ts']
  const folder = nestApp(list, 'tsconfig.json', files)
  const installed = readFileSync(join(folder, 'node_modules/@nestjs/core/package.json'), 'utf8')
  expect(JSON.parse(installed).version).toMatch(new RegExp(`^${version}\\.`))
  writeFileSync(join(folder, 'src/refused.ts'), REFUSED)
  const tsc = join(folderOf('typescript-5.9'), 'bin/tsc')
  expect(spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' }).stdout).toBe('')

  const { VITEST: _, HIGHKIQ_URL: __, NODE_ENV: ___, ...env } = process.env
  const start = (file: string, more: NodeJS.ProcessEnv) => {
    const app = spawn(process.execPath, [`dist/${file}`], { cwd: folder, env: { ...env, ...more } })
    onTestFinished(() => void app.kill('SIGKILL'))
    return app
  }
  const app = start('main.js', { WORKER: '1' })
  await written(app, /sent to ann@example\.com/)
  const hq = new Highkiq({ url: `sqlite:${join(folder, 'highkiq.db')}` })
  onTestFinished(() => hq.close())
  expect((await hq.processes().totals()).processes).toBe(1)
  app.kill('SIGTERM')
  await once(app, 'exit')
  // A worker that is only killed stays in the list until its lease ends.
  expect((await hq.processes().totals()).processes).toBe(0)

  const [port, token] = [await freePort(), 'only-the-test-knows-it']
  const server = start('server.js', { PORT: `${port}`, JOBS_TOKEN: token })
  const get = (path: string, headers = {}) =>
    fetch(`http://127.0.0.1:${port}/jobs${path}`, { headers }).catch(() => new Response(null, { status: 503 }))
  await expect.poll(async () => (await get('/api/v1/stats')).status, { timeout: 90_000 }).toBe(401)
  const live = await get('/api/v1/live', { authorization: `Bearer ${token}` })
  expect(live.status).toBe(200)
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  await ended
  await live.body?.cancel().catch(() => {})

  const memory = { ...env, REDIS_URL: 'sqlite::memory:' }
  expect(execFileSync(process.execPath, ['dist/refused.js'], { cwd: folder, env: memory, encoding: 'utf8' })).toBe(
    'INVALID_OPTION @Job("Late"): OfRequest must be a singleton, because a job has no request: remove its scope, or resolve what has one by ModuleRef in the job\n',
  )
  const vitest = spawnSync('node_modules/.bin/vitest', ['run', 'dist'], { cwd: folder, env, encoding: 'utf8' })
  expect(vitest.status, vitest.stdout + vitest.stderr).toBe(0)
}
