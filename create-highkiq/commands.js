// The two commands, `npm create highkiq` and `highkiq init`: options, questions on a terminal, and what they print.
import { basename, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import {
  addToProject,
  checkEmpty,
  managerIn,
  managerOf,
  readPackage,
  STORES,
  StarterError,
  version,
  writeProject,
} from './starter.js'

const HELP = `Usage: npm create highkiq [folder] -- [options]

Makes a project with jobs, a worker, a web server with the dashboard, a test, a Dockerfile and a Compose file. The folder
must be empty or new. In an existing project, "npx highkiq init" adds the same files and overwrites none.

Options:
  --store <store>  where jobs are kept: sqlite, a file for one machine, or redis, for many (default: sqlite)
  -h, --help       print this help
  -v, --version    print the version

Without a terminal nothing is asked, so name the folder.

Examples:
  npm create highkiq shop
  npm create highkiq shop -- --store redis
  pnpm create highkiq shop --store redis
`

const isStore = (store) => Object.hasOwn(STORES, store)
const storeProblem = (store) =>
  isStore(store) ? undefined : `--store must be ${Object.keys(STORES).join(' or ')} (got ${JSON.stringify(store)})`

/**
 * Runs `npm create highkiq` with streams, an environment and the folder that paths start from.
 * @returns the exit code: 0 done, 1 given up, 2 wrong usage
 */
export async function create(argv, { stdin, stdout, stderr, env, folder }) {
  try {
    const { values, positionals } = parse(argv)
    if (values.help) stdout.write(HELP)
    else if (values.version) stdout.write(`${version}\n`)
    else await createProject(positionals[0], values.store, { stdin, stdout, stderr, env, folder })
    return 0
  } catch (thrown) {
    const problem = problemOf(thrown)
    if (!problem) throw thrown
    stderr.write(`create-highkiq: ${problem.message}\n`)
    return problem.exitCode
  }
}

/** Returns what to print for an error of the starter, or of a file that can't be read or written; undefined for others. */
export function problemOf(thrown) {
  if (thrown instanceof StarterError) return { message: thrown.message, exitCode: thrown instanceof GivenUp ? 1 : 2 }
  return typeof thrown?.syscall === 'string' ? { message: thrown.message, exitCode: 1 } : undefined
}

/** @throws StarterError */
function parse(argv) {
  const options = {
    store: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean', short: 'v' },
  }
  const seeHelp = '"npm create highkiq -- --help" shows all options'
  const read = () => {
    try {
      return parseArgs({ args: [...argv], options, allowPositionals: true })
    } catch (thrown) {
      throw new StarterError(`${thrown.message.split('. ')[0]}: ${seeHelp}`)
    }
  }
  const { values, positionals } = read()
  const problem = values.store === undefined ? undefined : storeProblem(values.store)
  if (problem) throw new StarterError(problem)
  if (positionals.length > 1) {
    throw new StarterError(`name one folder (got ${positionals.join(', ')}): ${seeHelp}`)
  }
  return { values, positionals }
}

async function createProject(named, wanted, { stdin, stdout, stderr, env, folder }) {
  const isTerminal = stdin.isTTY && stderr.isTTY
  if (named === undefined && !isTerminal) {
    throw new StarterError(
      'name the folder of the new project, because there is no terminal to ask on: npm create highkiq shop',
    )
  }
  const { name, store } = await answers({ stdin, stderr }, async (ask) => {
    const name = named ?? (await ask('Folder of the project', 'shop', (given) => folderProblem(folder, given)))
    checkEmpty(resolve(folder, name), name)
    return { name, store: wanted ?? (isTerminal ? await askForStore(ask) : 'sqlite') }
  })
  const manager = managerOf(env.npm_config_user_agent)
  const files = writeProject(resolve(folder, name), { store, manager, shown: name })
  const steps = [
    ...(resolve(folder, name) === folder ? [] : [`cd ${quoted(name)}`]),
    `${manager} install`,
    ...(store === 'redis' ? ['docker compose up -d redis    # unless a Redis runs on port 6379'] : []),
    `${manager} run worker            # and in another terminal: ${manager} run web`,
  ]
  stdout.write(
    `${basename(resolve(folder, name))} has ${files.length} files; its jobs are kept in ${shownStore(store)}.\n\n`,
  )
  stdout.write(
    `Next:\n${steps.map((step) => `  ${step}\n`).join('')}\nREADME.md describes the files and the commands.\n`,
  )
}

/**
 * Runs `highkiq init` in a folder. Without `store` it asks on a terminal.
 * @throws StarterError
 */
export async function init({ store: wanted, folder }, { stdin, stdout, stderr, env }) {
  // Refused before a question is asked.
  readPackage(folder)
  const isTerminal = stdin.isTTY && stderr.isTTY
  const store =
    wanted ?? (isTerminal ? await answers({ stdin, stderr }, (ask) => askForStore(ask)) : Object.keys(STORES)[0])
  const manager = managerIn(folder, env.npm_config_user_agent)
  const added = addToProject(folder, { store, manager })
  const { written, kept, scripts, otherScripts, missing, missingDev } = added
  const said = [
    written.length > 0 ? `Wrote ${written.join(', ')}.` : 'Wrote no file.',
    ...(written.includes('jobs.ts') ? [`jobs.ts: jobs are kept in ${shownStore(store)}.`] : []),
    ...(kept.length > 0 ? [`Kept ${kept.join(', ')}: nothing is overwritten.`] : []),
    ...Object.entries(scripts).map(([name, script]) => `package.json: added the script ${name}: ${script}`),
    ...Object.entries(otherScripts).map(
      ([name, script]) => `package.json: kept its script ${name}; ours is: ${script}`,
    ),
    ...(added.leavesTest
      ? [
          'jobs.test.ts: not written, because it needs Vitest, which the script test does not run. To get it, make that script "vitest run", and run this again.',
        ]
      : []),
    ...(added.leavesTypes
      ? ['tsconfig.json: imports that end with .ts need "allowImportingTsExtensions": true and "noEmit": true.']
      : []),
    ...(added.leavesLinker
      ? [
          '.yarnrc.yml: the Dockerfile needs "nodeLinker: node-modules", because containers run node_modules/.bin/highkiq.',
        ]
      : []),
    ...(added.leavesSecret
      ? [
          '.env: not written, because .gitignore does not name it. Add it there, and run this again: compose.yaml needs its token.',
        ]
      : []),
  ]
  const steps = [
    ...(missing.length > 0 ? [`${manager} add ${missing.join(' ')}`] : []),
    ...(missingDev.length > 0 ? [`${manager} add -D ${missingDev.join(' ')}`] : []),
    `${manager} run worker`,
  ]
  stdout.write(`${said.join('\n')}\n\nNext:\n${steps.map((step) => `  ${step}\n`).join('')}`)
}

/** Returns a word as the shells of all systems take it. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `"${word.replace(/["$`]/g, '\\$&')}"`)

const shownStore = (store) => (store === 'redis' ? `Redis (${STORES.redis})` : 'the SQLite file highkiq.db')

/** The user ended the questions. */
class GivenUp extends StarterError {}

const askForStore = (ask) => ask('Store of the jobs: sqlite or redis', 'sqlite', storeProblem)

function folderProblem(folder, name) {
  try {
    checkEmpty(resolve(folder, name), name)
    return undefined
  } catch (thrown) {
    if (thrown instanceof StarterError) return thrown.message
    throw thrown
  }
}

/**
 * Runs `work` with a function that asks a question until its answer has no problem.
 * @throws StarterError when the input ends, at Ctrl-C and Ctrl-D
 */
async function answers({ stdin, stderr }, work) {
  let lines
  const ended = new AbortController()
  const ask = async (question, fallback, problemWith) => {
    lines ??= createInterface({ input: stdin, output: stderr }).once('close', () => ended.abort())
    for (;;) {
      const given = await lines.question(`${question} (${fallback}): `, { signal: ended.signal }).catch((thrown) => {
        if (thrown.name === 'AbortError') throw new GivenUp('nothing was written')
        throw thrown
      })
      const answer = given.trim() || fallback
      const problem = problemWith(answer)
      if (problem === undefined) return answer
      stderr.write(`${problem}\n`)
    }
  }
  try {
    return await work(ask)
  } finally {
    lines?.close()
  }
}
