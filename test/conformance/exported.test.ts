import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Registers a store as a third party does. Its URL says which operation is broken, if any. */
const STORE = `
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registerStore } from 'highkiq/store'
import { openStore } from '${root}dist/store/open.js'

registerStore('copy', (url, settings) => {
  const { host, pathname } = new URL(url)
  const store = openStore('sqlite:' + pathname, settings)
  if (host === 'broken') store.results.secret = async (_name, proposed) => proposed
  return store
})

export function factoryOf(host) {
  return {
    shared: true,
    module: import.meta.url,
    async create() {
      const folder = await mkdtemp(join(tmpdir(), 'highkiq-copy-'))
      const destroy = () => rm(folder, { recursive: true, force: true })
      return { url: 'copy://' + host + join(folder, 'jobs.db'), destroy }
    },
  }
}
`

/** Runs a program on node:test in a folder where only highkiq and fast-check are installed. */
function run(program: string): { code: number | null; report: string } {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-exported-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/highkiq'))
  symlinkSync(join(root, 'node_modules/fast-check'), join(folder, 'node_modules/fast-check'))
  writeFileSync(join(folder, 'store.mjs'), STORE)
  writeFileSync(join(folder, 'store.test.mjs'), program)
  const argv = ['--test-reporter=tap', 'store.test.mjs']
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: folder, encoding: 'utf8' })
  return { code: status, report: stdout + stderr }
}

const IMPORTS = `
import { describe, test } from 'node:test'
import { conformance } from 'highkiq/store/conformance'
import { factoryOf } from './store.mjs'
`

test('a third party proves its store with node:test, also in processes of its own', () => {
  const { code, report } = run(`${IMPORTS}
    const chosen = ({ area, name }) => area === 'results' || area === 'jobSets' || name.startsWith('a waiter gets the job that another process')
    conformance({ describe, test }, 'a copy', factoryOf('whole'), (about) => chosen(about) && !about.isLong)`)
  expect(report).toMatch(/^# pass [1-9]\d$/m)
  expect(report).toMatch(/^# fail 0$/m)
  expect(report).toMatch(/^ *ok \d+ - a waiter gets the job that another process pushes/m)
  expect(code).toBe(0)
}, 120_000)

test('a broken store of a third party fails the case about its fault', () => {
  const { code, report } = run(`${IMPORTS}
    conformance({ describe, test }, 'a copy', factoryOf('broken'), ({ name }) => name.includes('secret'))`)
  expect(report).toMatch(/^ *not ok \d+ - the first proposed secret of a name stays/m)
  expect(report).toMatch(/expected .* toBe /)
  expect(code).toBe(1)
}, 60_000)

test('the suite in the package imports no test runner', () => {
  const text = readFileSync(join(root, 'dist/conformance/index.js'), 'utf8')
  const packages = [...text.matchAll(/^import .* from "([^".#][^"]*)"/gm)].map(([, name]) => name)
  expect(packages.filter((name) => !name?.startsWith('node:'))).toEqual(['fast-check'])
})
