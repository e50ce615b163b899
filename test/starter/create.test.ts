/** `npm create highkiq`: its options, questions, refusals and files. The test of a whole project is beside this file. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { create } from '../../create-highkiq/commands.js'

const root = new URL('../../', import.meta.url)

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-create-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

interface Run {
  code: number
  stdout: string
  stderr: string
}

/**
 * Runs it in a folder. With `answers` there is a terminal, on which each question gets the next answer; after the last one
 * the terminal ends.
 */
async function run(
  folder: string,
  args: string[],
  { answers, agent }: { answers?: string[]; agent?: string } = {},
): Promise<Run> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const texts = { stdout: '', stderr: '' }
  stdout.on('data', (text) => (texts.stdout += text))
  stderr.on('data', (text) => {
    texts.stderr += text
    if (!String(text).endsWith('): ')) return
    const answer = answers?.shift()
    if (answer === undefined) stdin.end()
    else stdin.write(`${answer}\n`)
  })
  if (answers) for (const stream of [stdin, stderr]) Object.assign(stream, { isTTY: true })
  const env = agent === undefined ? {} : { npm_config_user_agent: agent }
  const streams = { stdin, stdout, stderr, env, folder } as unknown as Parameters<typeof create>[1]
  return { code: await create(args, streams), ...texts }
}

const read = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8')
const FILES = [
  '.dockerignore',
  '.env',
  '.gitignore',
  'Dockerfile',
  'README.md',
  'compose.yaml',
  'jobs.test.ts',
  'jobs.ts',
  'package.json',
  'tsconfig.json',
  'web.ts',
]

test('create-highkiq has the version of highkiq, and new projects the packages that highkiq is tested with', async () => {
  const own = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
  const folder = newFolder()
  expect(await run(folder, ['--version'])).toMatchObject({ code: 0, stdout: `${own.version}\n` })
  await run(folder, ['shop'])
  const { dependencies, devDependencies } = JSON.parse(read(folder, 'shop/package.json'))
  const { highkiq, ...others } = dependencies
  expect(highkiq).toBe(`^${own.version}`)
  for (const [name, range] of Object.entries({ ...others, ...devDependencies })) {
    expect(range, name).toBe(own.devDependencies[name])
  }
})

test('a new project has all files, of the store and the package manager', async () => {
  const folder = newFolder()
  const { code, stdout } = await run(folder, ['My Shop'], { agent: 'npm/11.0.0 node/v24.0.0 linux x64' })
  expect(code).toBe(0)
  expect(stdout).toContain('the SQLite file highkiq.db')
  expect(stdout).toContain('npm run worker')
  expect(stdout).toContain('  cd "My Shop"\n')
  expect(readdirSync(join(folder, 'My Shop')).sort()).toEqual(FILES)
  expect(JSON.parse(read(folder, 'My Shop/package.json'))).toMatchObject({
    name: 'my-shop',
    dependencies: { libsql: expect.any(String) },
  })
  expect(read(folder, 'My Shop/.env')).toMatch(/^HIGHKIQ_WEB_TOKEN=[0-9a-f]{48}$/m)
  expect(statSync(join(folder, 'My Shop/.env')).mode & 0o077).toBe(0)

  expect(await run(folder, ['blog', '--store', 'redis'], { agent: 'pnpm/10.1.0 npm/? node/v24.0.0' })).toMatchObject({
    code: 0,
  })
  expect(read(folder, 'blog/jobs.ts')).toContain("'redis://localhost:6379/0'")
  expect(JSON.parse(read(folder, 'blog/package.json')).dependencies).not.toHaveProperty('libsql')
  expect(read(folder, 'blog/Dockerfile')).toContain('pnpm install --prod --frozen-lockfile')
  expect(read(folder, 'blog/README.md')).toContain('pnpm run worker')
  expect(read(folder, 'blog/.env')).not.toBe(read(folder, 'My Shop/.env'))
  for (const file of FILES) {
    for (const project of ['My Shop', 'blog'])
      expect(read(folder, `${project}/${file}`)).not.toMatch(/\{\{|undefined|#(redis|sqlite)$/m)
  }
})

test.each([
  ['yarn/1.22.22 npm/? node/v24.0.0', 'yarn.lock'],
  ['bun/1.3.0 npm/? node/v24.0.0', 'bun.lock'],
  // Yarn 2 and newer have no folder node_modules by default, in which the Dockerfile finds highkiq.
  ['yarn/4.1.0 npm/? node/v24.0.0', 'package-lock.json'],
  ['constructor/1.0.0', 'package-lock.json'],
])('the Dockerfile for %s copies %s', async (agent, lockfile) => {
  const folder = newFolder()
  await run(folder, ['shop'], { agent })
  expect(read(folder, 'shop/Dockerfile')).toContain(`COPY package.json ${lockfile} ./`)
})

test('a project does not have the name of a package that it needs', async () => {
  const folder = newFolder()
  await run(folder, ['vitest'])
  await run(folder, ['…'])
  expect(JSON.parse(read(folder, 'vitest/package.json')).name).toBe('vitest-app')
  expect(JSON.parse(read(folder, '…/package.json')).name).toBe('my-app')
})

test('a folder that is not empty, or a file, is refused and stays as it is', async () => {
  const folder = newFolder()
  for (const name of ['shop/.git', 'empty/.git']) mkdirSync(join(folder, name), { recursive: true })
  for (const name of ['a.txt', 'b', 'c', 'd']) writeFileSync(join(folder, 'shop', name), name)
  writeFileSync(join(folder, 'file'), '')
  const refused = await run(folder, ['shop'])
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toBe(
    'create-highkiq: the folder shop is not empty (it has a.txt, b, c and 1 more): choose another one, or run "npx highkiq init" in it, which adds only what is missing\n',
  )
  expect(readdirSync(join(folder, 'shop')).sort()).toEqual(['.git', 'a.txt', 'b', 'c', 'd'])
  expect((await run(folder, ['file'])).stderr).toBe(
    'create-highkiq: file is a file: choose another name for the folder\n',
  )
  expect((await run(folder, ['file/shop'])).stderr).toMatch(/^create-highkiq: ENOTDIR: .*file\/shop/)
  expect(await run(folder, ['empty'])).toMatchObject({ code: 0 })
  expect(await run(join(folder, 'empty'), ['.'])).toMatchObject({ code: 2 })
})

test.each([
  [[], 'name the folder of the new project, because there is no terminal to ask on: npm create highkiq shop'],
  [['shop', '--store', 'mysql'], '--store must be sqlite or redis (got "mysql")'],
  [['shop', '--stor', 'redis'], `Unknown option '--stor': "npm create highkiq -- --help" shows all options`],
  [['shop', 'redis'], 'name one folder (got shop, redis): "npm create highkiq -- --help" shows all options'],
])('%j is refused with what to do', async (args, message) => {
  const folder = newFolder()
  expect(await run(folder, args)).toEqual({ code: 2, stdout: '', stderr: `create-highkiq: ${message}\n` })
  expect(readdirSync(folder)).toEqual([])
})

test('on a terminal it asks for the folder and the store until the answers are right', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'full/inside'), { recursive: true })
  const { code, stderr } = await run(folder, [], { answers: ['full', 'shop', 'mysql', 'redis'] })
  expect(code).toBe(0)
  expect(stderr).toMatch(/the folder full is not empty[\s\S]*must be sqlite or redis/)
  expect(read(folder, 'shop/jobs.ts')).toContain('redis://')
  // An empty answer is the default, and what a flag says is not asked.
  expect(await run(folder, [], { answers: ['', ''] })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('shop is not empty'),
  })
  expect(await run(folder, ['blog'], { answers: [''] })).toMatchObject({ code: 0 })
  expect(read(folder, 'blog/jobs.ts')).toContain('sqlite:highkiq.db')
  expect(await run(folder, ['both', '--store', 'redis'], { answers: [] })).toMatchObject({ code: 0, stderr: '' })
})

test('a user who ends the questions gets no folder', async () => {
  const folder = newFolder()
  const given = await run(folder, [], { answers: ['shop'] })
  expect(given).toMatchObject({ code: 1, stderr: expect.stringMatching(/create-highkiq: nothing was written\n$/) })
  expect(readdirSync(folder)).toEqual([])
})

test('--help names each option and the way into an existing project', async () => {
  const { code, stdout } = await run(newFolder(), ['--help'])
  expect(code).toBe(0)
  for (const text of ['--store <store>', '--version', 'npx highkiq init', 'npm create highkiq shop -- --store redis']) {
    expect(stdout).toContain(text)
  }
})
