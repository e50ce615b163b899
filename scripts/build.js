// Writes the package to dist/: the library with its conformance suite, and beside it the dashboard. With --changed only
// what is older than its sources.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

/** `from`: the sources; `written`: the file that the last step writes. Its time tells when the build began. */
const PARTS = {
  library: {
    from: ['src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'dashboard/src/styles'],
    written: 'dist/index.js',
    steps: [
      ['node', 'scripts/generate.js'],
      ['node', '--import', 'tsx', 'scripts/generate-client.js'],
      ['node', 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'],
      ['node', 'scripts/bundle.js'],
    ],
  },
  conformance: {
    from: ['test/conformance', 'tsconfig.conformance.json'],
    written: 'dist/conformance/index.js',
    steps: [
      ['node', 'scripts/bundle-conformance.js'],
      ['node', 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.conformance.json'],
      ['node', 'scripts/package-files.js'],
    ],
  },
  dashboard: {
    from: ['dashboard', 'src/i18n', 'package.json'],
    written: 'dist/dashboard/index.html',
    steps: [['node', 'node_modules/vite/bin/vite.js', 'build', 'dashboard', '--logLevel', 'warn']],
  },
}

const { dependencies, devDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const missing = Object.keys({ ...dependencies, ...devDependencies }).filter(
  (name) => !existsSync(`${root}node_modules/${name}`),
)
if (missing.length > 0) {
  console.error(`not installed: ${missing.join(', ')}. package.json has changed: run npm ci`)
  process.exit(1)
}

const onlyChanged = process.argv.includes('--changed')
const lost = Object.values(PARTS)
  .flatMap(({ from }) => from)
  .filter((path) => !existsSync(`${root}${path}`))
if (lost.length > 0) throw new Error(`scripts/build.js names sources that are not there: ${lost.join(', ')}`)
try {
  const { library, conformance, dashboard } = PARTS
  const isLibraryOld = isOld(library)
  await Promise.all([
    // The conformance suite has types of the library.
    isLibraryOld && build(library).then(() => build(conformance)),
    !isLibraryOld && isOld(conformance) && build(conformance),
    isOld(dashboard) && build(dashboard),
  ])
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}

async function build({ written, steps }) {
  const began = new Date()
  for (const [command, ...options] of steps) await run(command, options)
  utimesSync(`${root}${written}`, began, began)
}

function run(command, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, options, { cwd: root, stdio: 'inherit' })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`${[command, ...options].join(' ')} failed`))
    })
  })
}

function isOld({ from, written }) {
  if (!onlyChanged || !existsSync(`${root}${written}`)) return true
  const built = statSync(`${root}${written}`).mtimeMs
  return sourcesIn(from).some((path) => statSync(`${root}${path}`).mtimeMs > built)
}

/** The files below, without those that no build reads or that the build writes. */
function sourcesIn(paths) {
  return paths
    .flatMap((path) => {
      if (statSync(`${root}${path}`).isFile()) return path
      return readdirSync(`${root}${path}`, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length))
    })
    .filter((path) => !/\.(test|generated)\.tsx?$/.test(path))
}
