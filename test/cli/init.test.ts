/** `highkiq init` in existing projects. */

import { chmodSync, existsSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { expect, onTestFinished } from 'vitest'
import { Folder, test } from './command.ts'

const read = (folder: Folder, file: string) => readFileSync(folder.at(file), 'utf8')
const npm = { npm_config_user_agent: 'npm/11.0.0' }

test('init adds files and scripts to a project, and names the packages to install', async ({ folder }) => {
  folder.write({ 'package.json': '{\n\t"name": "shop",\n\t"version": "1.0.0"\n}\n' })
  const { code, stdout, stderr } = await folder.run(['init'], npm)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('Wrote jobs.ts, web.ts, ')
  expect(stdout).toContain('package.json: added the script worker: highkiq work -r jobs.ts')
  expect(stdout).toMatch(/npm add highkiq libsql tsx\n *npm add -D @types\/node typescript vitest\n *npm run worker/)
  const text = read(folder, 'package.json')
  expect(text).toMatch(/^\{\n\t"name": "shop",\n\t"version": "1.0.0",\n\t"scripts": \{\n\t\t"web"/)
  expect(text.endsWith('}\n')).toBe(true)
  expect(read(folder, '.env')).toMatch(/^HIGHKIQ_WEB_TOKEN=\w+$/m)

  // The project that it has made runs.
  const pushed = await folder.run(['enqueue', 'Welcome', '"ann"', '-r', 'jobs.ts'])
  expect(pushed).toMatchObject({ code: 0 })

  const files = ['package.json', 'jobs.ts', '.env'].map((file) => read(folder, file))
  const again = await folder.run(['init'], npm)
  expect(again.stdout).not.toContain('allowImportingTsExtensions')
  expect(again.stdout).toMatch(/^Wrote no file\.\nKept jobs\.ts, .*: nothing is overwritten\.\n/)
  expect(['package.json', 'jobs.ts', '.env'].map((file) => read(folder, file))).toEqual(files)
})

test('init overwrites nothing: files and scripts of the project stay, and it says which', async ({ folder }) => {
  const about = {
    name: 'shop',
    scripts: { test: 'jest', worker: 'highkiq work -r jobs.ts' },
    dependencies: { highkiq: '*', tsx: '*' },
  }
  const mine = {
    'package.json': JSON.stringify(about),
    'web.ts': 'mine',
    'tsconfig.json': '{}',
    '.gitignore': 'dist\n',
  }
  folder.write(mine)
  const { code, stdout } = await folder.run(['init', '--store', 'redis'], { npm_config_user_agent: 'pnpm/10.0.0' })
  expect(code).toBe(0)
  expect(stdout).toContain('Kept web.ts, tsconfig.json, .gitignore: nothing is overwritten.')
  expect(stdout).toContain('package.json: kept its script test; ours is: vitest run')
  expect(stdout).not.toContain('script worker')
  expect(stdout).toContain('"allowImportingTsExtensions": true')
  expect(stdout).not.toContain('pnpm add highkiq')
  expect(stdout).toContain('pnpm add -D @types/node typescript\n')
  // Its own script would run a test for Vitest, and fail.
  expect(stdout).toContain('jobs.test.ts: not written, because it needs Vitest')
  expect(existsSync(folder.at('jobs.test.ts'))).toBe(false)
  expect(read(folder, 'README.md')).not.toMatch(/run test|jobs\.test\.ts|#vitest/)
  expect(JSON.parse(read(folder, 'package.json'))).toEqual({
    ...about,
    scripts: { ...about.scripts, web: 'node --import tsx web.ts', typecheck: 'tsc' },
  })
  for (const file of ['web.ts', 'tsconfig.json', '.gitignore'] as const) expect(read(folder, file)).toBe(mine[file])
  expect(read(folder, 'jobs.ts')).toContain('redis://localhost:6379/0')
  // git would commit the secret.
  expect(stdout).toContain('.env: not written, because .gitignore does not name it.')
  expect(existsSync(folder.at('.env'))).toBe(false)
  folder.write({ '.gitignore': 'dist\n.env\n' })
  expect((await folder.run(['init', '--store', 'redis'], npm)).stdout).toMatch(/^Wrote \.env\.\n/)
})

test('init writes its test when the script test is the one of npm init, or runs Vitest', async ({ folder }) => {
  const write = (script: string) => folder.write({ 'package.json': JSON.stringify({ scripts: { test: script } }) })
  const script = () => JSON.parse(read(folder, 'package.json')).scripts.test
  write('vitest run --coverage')
  expect((await folder.run(['init'], npm)).stdout).toContain('jobs.test.ts, ')
  expect(read(folder, 'README.md')).toContain('tests of the jobs: `npm run test` |\n')
  expect(script()).toBe('vitest run --coverage')
  write('echo "Error: no test specified" && exit 1')
  expect((await folder.run(['init'], npm)).stdout).toContain('package.json: added the script test: vitest run')
  expect(script()).toBe('vitest run')
})

test.each([
  [{ packageManager: 'pnpm@10.1.0+sha512.ab' }, 'yarn.lock', 'pnpm', 'pnpm-lock.yaml'],
  [{}, 'pnpm-lock.yaml', 'pnpm', 'pnpm-lock.yaml'],
  [{}, 'yarn.lock', 'yarn', 'yarn.lock'],
  [{}, 'bun.lock', 'bun', 'bun.lock'],
  [{}, 'bun.lockb', 'bun', 'bun.lockb'],
  [{ packageManager: 'yarn@1.22.22' }, 'yarn.lock', 'yarn', 'yarn.lock'],
  [{ packageManager: 'yarn@4.9.1' }, 'yarn.lock', 'yarn', 'yarn.lock .yarnrc.yml'],
  [{ packageManager: 'other@1.0.0' }, 'other.lock', 'npm', 'package-lock.json'],
])('init follows the package manager of a project with %j and %s', async (about, file, manager, lockfile) => {
  const folder = new Folder()
  onTestFinished(() => folder.remove())
  folder.write({ 'package.json': JSON.stringify(about), [file]: '' })
  expect((await folder.run(['init'], npm)).stdout).toContain(`${manager} add highkiq `)
  expect(read(folder, 'Dockerfile')).toContain(`COPY package.json ${lockfile} ./`)
})

test('init writes a Dockerfile for Yarn 4, which copies its settings and installs into node_modules', async ({
  folder,
}) => {
  folder.write({ 'package.json': '{}', 'yarn.lock': '', '.yarnrc.yml': 'enableTelemetry: false\n' })
  const { stdout } = await folder.run(['init'], npm)
  expect(stdout).toContain('.yarnrc.yml: the Dockerfile needs "nodeLinker: node-modules"')
  const copied = 'COPY package.json yarn.lock .yarnrc.yml ./\n'
  const installed = 'RUN corepack enable && yarn install --immutable\n'
  expect(read(folder, 'Dockerfile')).toContain(copied + installed)
  rmSync(folder.at('Dockerfile'))
  folder.write({ '.yarnrc.yml': 'nodeLinker: node-modules\n', '.yarn/releases/yarn-4.9.1.cjs': '' })
  const again = await folder.run(['init'], npm)
  expect(again.stdout).toMatch(/^Wrote Dockerfile\.\n/)
  expect(again.stdout).not.toContain('nodeLinker')
  expect(read(folder, 'Dockerfile')).toContain(`${copied}COPY .yarn .yarn\n${installed}`)
})

test('init keeps a symbolic link, the mode, the line ends and the first mark of package.json', async ({ folder }) => {
  folder.write({
    'real.json': '\ufeff{\r\n  "name": "shop"\r\n}\r\n',
    '.gitignore': '\ufeff.env\r\ndist\r\n',
  })
  chmodSync(folder.at('real.json'), 0o640)
  symlinkSync('real.json', folder.at('package.json'))
  symlinkSync('nowhere.ts', folder.at('web.ts'))
  const { code, stdout } = await folder.run(['init'], npm)
  expect(code).toBe(0)
  expect(stdout).toContain('Kept web.ts, .gitignore: nothing is overwritten.')
  expect(stdout).not.toContain('.env: not written')
  expect(readlinkSync(folder.at('package.json'))).toBe('real.json')
  expect(existsSync(folder.at('nowhere.ts'))).toBe(false)
  expect(statSync(folder.at('real.json')).mode & 0o777).toBe(0o640)
  const text = read(folder, 'real.json')
  expect(text).toMatch(/^\ufeff\{\r\n {2}"name": "shop",\r\n {2}"scripts": \{\r\n/)
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
})

test('init advises on a tsconfig.json that has the options only in comments', async ({ folder }) => {
  folder.write({
    'package.json': '{}',
    'tsconfig.json': '{\n  // "noEmit": true,\n  "allowImportingTsExtensions": true\n}\n',
  })
  expect((await folder.run(['init'], npm)).stdout).toContain('"noEmit": true.')
})

test("init refuses what it can't use, and changes nothing", async ({ folder }) => {
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await folder.run(['init', ...args], npm)
    expect([code, stdout]).toEqual([2, ''])
    return stderr
  }
  expect(await refused()).toBe(
    'highkiq: there is no package.json in this folder: run "npm init -y" first, or make a new project with "npm create highkiq shop"\n',
  )
  folder.write({ 'package.json': '{ "name": ' })
  expect(await refused()).toBe('highkiq: package.json is not a JSON object: correct it first\n')
  folder.write({ 'package.json': '{}' })
  expect(await refused('--store', 'mysql')).toContain('Allowed choices are sqlite, redis.')
  expect(await refused('--stor', 'redis')).toContain("unknown option '--stor'")
  expect(existsSync(folder.at('jobs.ts'))).toBe(false)
  expect(read(folder, 'package.json')).toBe('{}')
})
