import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
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

const VERSIONS = [
  ['12', 'frameworks'],
  ['11', 'nestjs-11'],
]
const DOES = 'on NestJS %s the app of docs/nestjs.md runs its job, stops its worker and passes its test'

test.each(VERSIONS)(DOES, { timeout: 180_000 }, async (version, list) => {
  const files = ['app.module.ts', 'configured.ts', 'mail.ts', 'main.ts', 'mail.test.ts']
  const { folder } = new Example('docs/nestjs.md', files, (packages) => {
    installFrameworks(packages, list)
    installPacked(packages)
    mkdirSync(join(packages, '@types'), { recursive: true })
    symlinkSync(join(root, 'node_modules/@types/node'), join(packages, '@types/node'))
  })
  const installed = readFileSync(join(folder, 'node_modules/@nestjs/core/package.json'), 'utf8')
  expect(JSON.parse(installed).version).toMatch(new RegExp(`^${version}\\.`))
  writeFileSync(join(folder, 'refused.ts'), REFUSED)
  const compilerOptions = {
    ...{ strict: true, skipLibCheck: true, types: ['node'], experimentalDecorators: true, emitDecoratorMetadata: true },
    ...{
      target: 'es2022',
      lib: ['esnext'],
      module: 'nodenext',
      rewriteRelativeImportExtensions: true,
      outDir: 'built',
    },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  const tsc = join(folderOf('typescript-5.9'), 'bin/tsc')
  expect(spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' }).stdout).toBe('')

  const { VITEST: _, HIGHKIQ_URL: __, NODE_ENV: ___, ...env } = process.env
  const app = spawn(process.execPath, ['built/main.js'], { cwd: folder, env })
  onTestFinished(() => void app.kill('SIGKILL'))
  await written(app, /sent to ann@example\.com/)
  const hq = new Highkiq({ url: `sqlite:${join(folder, 'mail.db')}` })
  onTestFinished(() => hq.close())
  expect((await hq.processes().totals()).processes).toBe(1)
  app.kill('SIGTERM')
  await once(app, 'exit')
  // A worker that is only killed stays in the list until its lease ends.
  expect((await hq.processes().totals()).processes).toBe(0)

  const memory = { ...env, REDIS_URL: 'sqlite::memory:' }
  expect(execFileSync(process.execPath, ['built/refused.js'], { cwd: folder, env: memory, encoding: 'utf8' })).toBe(
    'INVALID_OPTION @Job("Late"): OfRequest must be a singleton, because a job has no request: remove its scope, or resolve what has one by ModuleRef in the job\n',
  )
  const vitest = spawnSync('node_modules/.bin/vitest', ['run', 'built'], { cwd: folder, env, encoding: 'utf8' })
  expect(vitest.status, vitest.stdout + vitest.stderr).toBe(0)
})
