// The files of a new project, and how they come into its folder. `npm create highkiq` and `highkiq init` share them.
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'

const textOf = (path) => readFileSync(new URL(path, import.meta.url), 'utf8')

/** The version of this package, which is that of Highkiq. */
export const { version } = JSON.parse(textOf('./package.json'))

/** Each store with the URL that a new project uses on the developer's machine. */
export const STORES = { sqlite: 'sqlite:highkiq.db', redis: 'redis://localhost:6379/0' }

/**
 * Package managers: how to run a program of a package, the names of the lock file, that of new projects first, and how a
 * Dockerfile installs packages from it.
 */
const MANAGERS = {
  npm: { exec: 'npx', lockfiles: ['package-lock.json'], dockerInstall: 'npm ci --omit=dev' },
  pnpm: {
    exec: 'pnpm exec',
    lockfiles: ['pnpm-lock.yaml'],
    dockerInstall: 'npm install -g pnpm && pnpm install --prod --frozen-lockfile',
  },
  yarn: { exec: 'yarn run', lockfiles: ['yarn.lock'], dockerInstall: 'yarn install --production --frozen-lockfile' },
  bun: {
    exec: 'bunx',
    lockfiles: ['bun.lock', 'bun.lockb'],
    dockerInstall: 'npm install -g bun && bun install --production',
  },
}
/** The settings of Yarn 2 and newer, and the folders beside them that an installation may need. */
const YARN_SETTINGS = '.yarnrc.yml'
const YARN_FOLDERS = ['.yarn/releases', '.yarn/plugins', '.yarn/patches']

/** Files by their names in `template`: npm packs no file whose name is `.gitignore`. */
const FILES = {
  'jobs.ts': 'jobs.ts',
  'web.ts': 'web.ts',
  'jobs.test.ts': 'jobs.test.ts',
  'tsconfig.json': 'tsconfig.json',
  'README.md': 'README.md',
  Dockerfile: 'Dockerfile',
  'compose.yaml': 'compose.yaml',
  dockerignore: '.dockerignore',
  gitignore: '.gitignore',
  env: '.env',
}

const SCRIPTS = {
  web: 'node --import tsx web.ts',
  worker: 'highkiq work -r jobs.ts',
  test: 'vitest run',
  typecheck: 'tsc',
}
/** The script `test` that `npm init` writes. It runs no tests, so ours replaces it. */
const NO_TEST = 'echo "Error: no test specified" && exit 1'
const DEV_DEPENDENCIES = { '@types/node': '^20.19.43', typescript: '^7.0.2', vitest: '~4.1' }

function dependenciesFor(store) {
  return { highkiq: `^${version}`, ...(store === 'sqlite' ? { libsql: '^0.5.29' } : {}), tsx: '^4.23.15' }
}

/** A request that can't be met. Its message says what to do. */
export class StarterError extends Error {}

/** Returns the package manager that `npm_config_user_agent` names. Yarn 2 and newer, and unknown ones, count as npm. */
export function managerOf(userAgent = '') {
  const [, name, major] = /^(\w+)\/(\d+)/.exec(userAgent) ?? []
  return Object.hasOwn(MANAGERS, name ?? '') && !(name === 'yarn' && Number(major) > 1) ? name : 'npm'
}

/** Returns the package manager of a project: that of its package.json, else of its lock file, else of the user agent. */
export function managerIn(folder, userAgent) {
  const [, named] = /^(\w+)@/.exec(readPackage(folder).about.packageManager ?? '') ?? []
  if (Object.hasOwn(MANAGERS, named ?? '')) return named
  const locked = Object.keys(MANAGERS).find((name) => lockfileIn(folder, name))
  return locked ?? managerOf(userAgent)
}

const lockfileIn = (folder, manager) => MANAGERS[manager].lockfiles.find((file) => existsSync(join(folder, file)))

/** Whether the package manager of a project is Yarn 2 or newer, which has other options than Yarn 1. */
function isModernYarn(folder, manager, { packageManager = '' }) {
  return manager === 'yarn' && (existsSync(join(folder, YARN_SETTINGS)) || /^yarn@(?!1\.)/.test(packageManager))
}

/** Returns which lock file a Dockerfile copies, how it installs packages, and the parts of the template for that. */
function installationIn(folder, manager, about) {
  const { lockfiles, dockerInstall } = MANAGERS[manager]
  if (!isModernYarn(folder, manager, about)) {
    return { lockfile: lockfileIn(folder, manager) ?? lockfiles[0], dockerInstall, parts: [] }
  }
  const hasFolder = YARN_FOLDERS.some((name) => existsSync(join(folder, name)))
  return {
    lockfile: `${lockfiles[0]} ${YARN_SETTINGS}`,
    dockerInstall: 'corepack enable && yarn install --immutable',
    parts: hasFolder ? ['yarn'] : [],
  }
}

/** @throws StarterError when the folder holds anything but a repository without files */
export function checkEmpty(folder, shown) {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory()) throw new StarterError(`${shown} is a file: choose another name for the folder`)
  const names = readdirSync(folder).filter((name) => name !== '.git')
  if (names.length === 0) return
  const some = names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
  throw new StarterError(
    `the folder ${shown} is not empty (it has ${some}): choose another one, or run "npx highkiq init" in it, which adds only what is missing`,
  )
}

/**
 * Writes a new project into a folder, which it creates.
 * @returns the names of the files; @throws StarterError when the folder is not empty
 */
export function writeProject(folder, { store, manager, shown = folder }) {
  checkEmpty(folder, shown)
  mkdirSync(folder, { recursive: true })
  const dependencies = dependenciesFor(store)
  const name = packageName(basename(folder), { ...dependencies, ...DEV_DEPENDENCIES })
  const about = { name, private: true, type: 'module', engines: { node: '>=20.19' }, scripts: SCRIPTS }
  const packageJson = `${JSON.stringify({ ...about, dependencies, devDependencies: DEV_DEPENDENCIES }, null, 2)}\n`
  const installation = installationIn(folder, manager, about)
  const files = { 'package.json': packageJson, ...filesFor({ name, store, manager, installation }) }
  for (const [file, text] of Object.entries(files)) {
    if (!writeNew(join(folder, file), text)) {
      throw new StarterError(`${join(shown, file)} appeared meanwhile: is another program writing into this folder?`)
    }
  }
  return Object.keys(files)
}

/**
 * Adds what is missing to an existing project: files, and scripts of package.json. It overwrites nothing.
 * @returns `written`, `kept`: names of files; `scripts`: names of those that were added; `otherScripts`: those that run
 * something else, with ours; `missing` and `missingDev`: packages to install; `leavesSecret`: whether `.env` was left
 * out, because git would commit it; `leavesTest`: whether the test was left out, because the project's script `test`
 * does not run Vitest; `leavesTypes`: whether its tsconfig.json may refuse imports that end with .ts; `leavesLinker`:
 * whether its Yarn makes no folder node_modules
 * @throws StarterError without a readable package.json
 */
export function addToProject(folder, { store, manager }) {
  const { path, before, about } = readPackage(folder)
  const scripts = about.scripts ?? {}
  const [added, others] = [{}, {}]
  for (const [name, script] of Object.entries(SCRIPTS)) {
    if (scripts[name] === undefined || scripts[name] === NO_TEST) added[name] = script
    else if (scripts[name] !== script) others[name] = script
  }
  const leavesTest = others.test !== undefined && !/\bvitest\b/.test(scripts.test)
  const [written, kept] = [[], []]
  let leavesSecret = false
  const installation = installationIn(folder, manager, about)
  const files = filesFor({ name: about.name ?? basename(folder), store, manager, installation, hasTest: !leavesTest })
  for (const [file, text] of Object.entries(files)) {
    if (existsSync(join(folder, file))) kept.push(file)
    else if (file === '.env' && !ignoresEnv(folder)) leavesSecret = true
    else (writeNew(join(folder, file), text) ? written : kept).push(file)
  }
  if (Object.keys(added).length > 0) replace(path, before, { ...about, scripts: { ...scripts, ...added } })
  const has = { ...about.dependencies, ...about.devDependencies }
  return {
    ...{ written, kept, leavesSecret, leavesTest, scripts: added, otherScripts: others },
    leavesTypes: !allowsTsImports(folder),
    leavesLinker: isModernYarn(folder, manager, about) && !linksNodeModules(folder),
    missing: Object.keys(dependenciesFor(store)).filter((name) => about.dependencies?.[name] === undefined),
    missingDev: Object.keys(DEV_DEPENDENCIES).filter(
      (name) => has[name] === undefined && !(leavesTest && name === 'vitest'),
    ),
  }
}

/** Returns the texts of the files by name. */
function filesFor({ name, store, manager, installation, hasTest = true }) {
  const { exec } = MANAGERS[manager]
  const { lockfile, dockerInstall } = installation
  const values = { name, manager, exec, lockfile, dockerInstall, url: STORES[store], token: newToken() }
  const parts = [store, ...installation.parts, ...(hasTest ? ['vitest'] : [])]
  const files = Object.entries(FILES).filter(([from]) => hasTest || from !== 'jobs.test.ts')
  return Object.fromEntries(
    files.map(([from, file]) => {
      const text = withParts(textOf(`./template/${from}`), parts)
      return [file, text.replace(/\{\{(\w+)\}\}/g, (_, key) => values[key])]
    }),
  )
}

const newToken = () => randomBytes(24).toString('hex')

/** Removes the lines of other parts: those of one part end with its name, as in `volumes: [jobs:/data] #redis`. */
function withParts(text, parts) {
  return text
    .split('\n')
    .flatMap((line) => {
      const [, content, only] = /^(.*) #(sqlite|redis|vitest|yarn)$/.exec(line) ?? [undefined, line, parts[0]]
      return parts.includes(only) ? [content] : []
    })
    .join('\n')
}

/** Writes a file that does not exist yet. @returns false when there is one, which stays as it is */
function writeNew(path, text) {
  try {
    // Only the owner may read a secret.
    writeFileSync(path, text, { flag: 'wx', mode: basename(path) === '.env' ? 0o600 : 0o666 })
    return true
  } catch (thrown) {
    if (thrown.code === 'EEXIST') return false
    throw thrown
  }
}

/**
 * Replaces a package.json in one step. It keeps its indentation, its line ends, a mark of UTF-8 at its start, and its mode; and
 * of a symbolic link the file behind it is replaced.
 */
function replace(path, before, about) {
  const indentation = /^[ \t]+/m.exec(before)?.[0] ?? '  '
  const text = `${JSON.stringify(about, null, indentation)}${before.endsWith('\n') ? '\n' : ''}`
  const target = realpathSync(path)
  const beside = `${target}.${process.pid}.new`
  const lines = before.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text
  writeFileSync(beside, before.startsWith(MARK) ? MARK + lines : lines)
  chmodSync(beside, statSync(target).mode)
  renameSync(beside, target)
}

/** With this mark some editors begin a file in UTF-8. npm and git ignore it. */
const MARK = '\ufeff'

/** Reads the package.json of a folder: its path, its text and what it says. @throws StarterError */
export function readPackage(folder) {
  const path = join(folder, 'package.json')
  if (!existsSync(path)) {
    throw new StarterError(
      'there is no package.json in this folder: run "npm init -y" first, or make a new project with "npm create highkiq shop"',
    )
  }
  const before = readFileSync(path, 'utf8')
  try {
    const about = JSON.parse(before.replace(MARK, ''))
    if (typeof about === 'object' && about !== null && !Array.isArray(about)) return { path, before, about }
  } catch {
    // The error below covers it.
  }
  throw new StarterError('package.json is not a JSON object: correct it first')
}

/** Returns the text of a file without the mark at its start; '' without the file. */
function textIn(folder, file) {
  const path = join(folder, file)
  return existsSync(path) ? readFileSync(path, 'utf8').replace(MARK, '') : ''
}

/** Returns whether git ignores the file `.env` of this folder, as far as its own .gitignore says. */
const ignoresEnv = (folder) => /^\/?\.env\*?\s*$/m.test(textIn(folder, '.gitignore'))

/** Returns whether the tsconfig.json of this folder itself allows imports that end with .ts, outside of comments. */
function allowsTsImports(folder) {
  const text = textIn(folder, 'tsconfig.json')
  return ['allowImportingTsExtensions', 'noEmit'].every((option) =>
    new RegExp(`^(?:(?!/[/*]).)*"${option}"\\s*:\\s*true`, 'm').test(text),
  )
}

/** Returns whether the Yarn of this folder installs packages into node_modules. Without the setting it does not. */
const linksNodeModules = (folder) => /^nodeLinker:\s*["']?node-modules\b/m.test(textIn(folder, YARN_SETTINGS))

/** Makes a name for a package of the name of a folder. A package can't have the name of one that it needs. */
function packageName(folder, packages) {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 200)
  return name === '' || Object.hasOwn(packages, name) ? `${name || 'my'}-app` : name
}
