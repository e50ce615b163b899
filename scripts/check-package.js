// Checks the package as users get it: packs it, lints it, and uses it from CommonJS and TypeScript. Run `npm run build` first.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MOST_FILES = 500
/** Packages that are built into Highkiq, so users do not have them. */
const BUILT_IN = ['hono', '@hono', 'ioredis', 'pino']

const root = fileURLToPath(new URL('../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'highkiq-package-'))
const modules = join(folder, 'node_modules')
const failures = []

/** Runs a program of a development dependency, and records a failure when it does not exit with 0. */
function check(what, script, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: 'utf8' })
  console.log(`${status === 0 ? 'ok' : 'FAILED'}  ${what}`)
  if (status !== 0) failures.push(`${what}\n${stdout}${stderr}`)
}

/** The same for a result of our own. */
function expectThat(what, isSo, details = '') {
  console.log(`${isSo ? 'ok' : 'FAILED'}  ${what}`)
  if (!isSo) failures.push(`${what}\n${details}`)
}

function unpack(tarball) {
  mkdirSync(join(modules, 'highkiq'), { recursive: true })
  execFileSync('tar', ['xzf', tarball, '--strip-components', '1', '-C', join(modules, 'highkiq')])
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name.startsWith('.') || name === 'highkiq' || name === 'tsx' || BUILT_IN.includes(name)) continue
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
}

try {
  const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: root,
  })
  const answer = JSON.parse(packed)
  const [{ filename, files }] = Array.isArray(answer) ? answer : Object.values(answer)
  const tarball = join(folder, filename)
  const maps = files.filter(({ path }) => path.endsWith('.map')).map(({ path }) => path)
  expectThat(`${files.length} files, at most ${MOST_FILES}`, files.length <= MOST_FILES)
  expectThat('no source maps', maps.length === 0, maps.join('\n'))

  const bin = (...path) => join(root, 'node_modules', ...path)
  check('publint', bin('publint', 'src', 'cli.js'), 'run', tarball, '--strict')
  // The package is ESM: require() of it works since Node 20.19, which is what this rule does not know.
  const attw = [tarball, '--ignore-rules', 'cjs-resolves-to-esm', '--profile', 'node16', '--no-emoji']
  check('attw', bin('@arethetypeswrong', 'cli', 'dist', 'index.js'), ...attw)

  unpack(tarball)
  writeFileSync(join(folder, 'require.cjs'), "if (typeof require('highkiq').Highkiq !== 'function') process.exit(1)\n")
  check("require('highkiq')", 'require.cjs')
  const entries = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports)
  // NestJS is not installed here: test/docs/nestjs.test.ts uses its module.
  const ours = entries.filter((name) => !name.endsWith('.json') && name !== './nestjs')
  const names = ours.map((name) => `highkiq${name.slice(1)}`)
  writeFileSync(join(folder, 'import.mjs'), names.map((name) => `await import('${name}')\n`).join(''))
  check(`import ${names.join(', ')}`, 'import.mjs')
  check('highkiq --version', join(modules, 'highkiq', 'dist', 'cli', 'main.js'), '--version')
  const demo = ['demo', '--rows', '50', '--out', join(folder, 'demo')]
  check('highkiq demo', join(modules, 'highkiq', 'dist', 'cli', 'main.js'), ...demo)

  const types = `${names.map((name, n) => `import * as m${n} from '${name}'\n`).join('')}
export const hq: m0.Highkiq = new m0.Highkiq()
export const Greet = hq.job('Greet', async (_ctx, name: string) => name.length)
export const all = [${names.map((_, n) => `m${n}`).join(', ')}]
`
  writeFileSync(join(folder, 'types.mts'), types)
  writeFileSync(join(folder, 'types.cts'), types)
  const resolutions = { bundler: 'esnext', node16: 'node20', nodenext: 'nodenext' }
  for (const [resolution, module] of Object.entries(resolutions)) {
    const options = ['--noEmit', '--strict', '--target', 'es2023', '--module', module]
    const moduleResolution = resolution === 'bundler' ? ['--moduleResolution', 'bundler'] : []
    const sources = resolution === 'nodenext' ? ['types.mts', 'types.cts'] : ['types.mts']
    check(
      `types with moduleResolution ${resolution}`,
      bin('typescript', 'bin', 'tsc'),
      ...options,
      ...moduleResolution,
      ...sources,
    )
  }

  const jobs =
    "import { Highkiq } from 'highkiq'\nexport const hq: Highkiq = new Highkiq({ url: 'sqlite:jobs.db' })\nhq.job('A', async () => {})\n"
  writeFileSync(join(folder, 'jobs.ts'), jobs)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const main = join(modules, 'highkiq', 'dist', 'cli', 'main.js')
  const { status, stderr } = spawnSync(process.execPath, [main, 'enqueue', 'A', '-r', 'jobs.ts'], {
    cwd: folder,
    encoding: 'utf8',
  })
  const isNative = Boolean(process.features.typescript)
  const isRight = isNative ? status === 0 : status === 2 && stderr.includes('npm i tsx')
  expectThat(`a TypeScript jobs file without tsx ${isNative ? 'is loaded by Node' : 'says npm i tsx'}`, isRight, stderr)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
if (failures.length > 0) {
  console.error(`\n${failures.join('\n\n')}`)
  process.exit(1)
}
