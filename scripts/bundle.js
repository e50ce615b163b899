// Turns src into the JavaScript of the package: dist/**.js. Each file of src has its own, by which it can be imported,
// and the code of all lies in a few files beside them: Node takes a millisecond for each file that it loads. The few
// modules of Hono that the HTTP server needs are among them: the whole package is 4 MB.
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../', import.meta.url))
const names = readdirSync(`${root}src`, { recursive: true })
  .filter((name) => /(?<!\.test|\.d)\.ts$/.test(name) && !/^http(\/assets|-client)\//.test(name))
  .map((name) => name.slice(0, -'.ts'.length))
const text = new Map(names.map((name) => [name, readFileSync(`${root}src/${name}.ts`, 'utf8')]))

/** What these load at once, beside themselves. */
function reachableFrom(...starts) {
  const found = new Set(starts)
  for (const name of found) {
    for (const [, what, path] of text.get(name).matchAll(/^(?:import|export) ([^']*?)?from '(\.[^']*)\.ts'$/gm)) {
      if (/^type\b/.test(what)) continue
      found.add(new URL(path, `file:///${name}`).pathname.slice(1))
    }
  }
  return found
}

// Programs do something when they are loaded: their own code stays with them. What few need comes first.
const PROGRAMS = [
  'cli/main',
  'cli/child',
  'worker/threads/thread',
  'worker/lease/lease-thread',
  'store/sqlite/file/checkpoint-thread',
  'load/ts-as-module',
]
const commandLine = (start) => new Set([...reachableFrom(start)].filter((name) => name.startsWith('cli/')))
const LAYERS = {
  version: new Set(['version.generated']),
  stores: reachableFrom(
    'worker/lease/lease-thread',
    'store/redis/workers/renewer',
    'store/sqlite/workers/renewer',
    'store/postgres/workers/renewer',
    'store/sharded/renewer',
  ),
  highkiq: reachableFrom('index'),
  workbook: reachableFrom('tasks/spreadsheet/xlsx'),
  doctor: reachableFrom('doctor/examine'),
  http: reachableFrom('http/index'),
  cli: commandLine('cli/run-command'),
  work: commandLine('cli/commands/work'),
  commands: commandLine('cli/commands'),
}
const BUNDLED = ['hono', '@hono/node-server']
// Each of these is one file of CommonJS, which `require` loads when it is needed.
const REQUIRED = ['ioredis', 'pino']
const nameOf = (id) => id.slice(`${root}src/`.length, -'.ts'.length)

// ioredis adds 600 methods to one prototype. V8 copies the table of such an object at each one, 6 MB in all, unless a
// property was deleted before: then it is a dictionary.
let hasDictionary = false
const dictionaryOfCommands = {
  name: 'dictionary-of-commands',
  transform: {
    filter: { id: /\/ioredis\/built\/utils\/Commander\.js$/ },
    handler: (code) => {
      const loop = 'commands.forEach(function (commandName) {\n    Commander.prototype['
      if (!code.includes(loop)) throw new Error('ioredis adds its commands in another way: change scripts/bundle.js')
      hasDictionary = true
      const asDictionary =
        'Commander.prototype.a = Commander.prototype.b = 0;\ndelete Commander.prototype.a;\ndelete Commander.prototype.b;\n'
      return { code: code.replace(loop, `${asDictionary}${loop}`), map: null }
    },
  },
}

// Nothing here uses transports of pino. They load modules by names that are known only when they run.
let hasTransports = false
const noTransports = {
  name: 'no-transports',
  load: {
    filter: { id: /\/pino\/lib\/transport\.js$/ },
    handler: () => {
      hasTransports = true
      return "module.exports = () => { throw new Error('this pino has no transports') }"
    },
  },
}

/** Throws at a tagged template that is not ASCII, because its tag may read the text without its escapes. */
function refuseTagged(node) {
  if (node.type === 'TaggedTemplateExpression') {
    const text = node.quasi.quasis.map(({ value }) => value.raw).join('')
    if (/[^\0-\x7f]/.test(text)) throw new Error(`this tagged template must be ASCII: ${text}`)
  }
  for (const part of Object.values(node)) if (part && typeof part === 'object') refuseTagged(part)
}

const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(names.map((name) => [name, `src/${name}.ts`])),
  external: (id) => /^[^./]/.test(id) && !BUNDLED.some((name) => id === name || id.startsWith(`${name}/`)),
  platform: 'node',
  preserveEntrySignatures: 'allow-extension',
  treeshake: false,
  checks: { ineffectiveDynamicImport: false },
  plugins: [
    {
      // Bundlers of apps follow the calls in this file, which is not bundled here: it is for all chunks, beside them.
      name: 'required',
      resolveId: { filter: { id: /\/required\.cjs$/ }, handler: () => ({ id: './required.cjs', external: true }) },
    },
    {
      // A file of ASCII takes half the memory of another one.
      name: 'ascii',
      generateBundle(_, files) {
        const escaped = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
        for (const file of Object.values(files)) {
          if (file.type !== 'chunk') continue
          refuseTagged(this.parse(file.code))
          file.code = file.code.replace(/[^\0-\x7f]/g, escaped)
        }
      },
    },
  ],
})
rmSync(`${root}dist/chunks`, { recursive: true, force: true })
await bundle.write({
  dir: 'dist',
  format: 'esm',
  // These keep bundlers of apps from following an import.
  comments: { annotation: true, legal: false, jsdoc: false },
  // For debuggers: HIGHKIQ_MAPS=1 npm run build. The package has no sources, so it has no maps.
  sourcemap: process.env.HIGHKIQ_MAPS === '1',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      { name: 'hono', priority: 20, test: (id) => BUNDLED.some((name) => id.includes(`/node_modules/${name}/`)) },
      ...Object.entries(LAYERS).map(([name, modules], i) => ({
        name,
        priority: 10 - i,
        test: (id) => id.startsWith(`${root}src/`) && modules.has(nameOf(id)) && !PROGRAMS.includes(nameOf(id)),
      })),
    ],
  },
})
await bundle.close()
for (const name of BUNDLED) {
  copyFileSync(`${root}node_modules/${name}/LICENSE`, `${root}dist/chunks/${name.replace('/', '-')}.LICENSE`)
}
const required = new RegExp(`(?<=\\brequire\\(')(${REQUIRED.join('|')})(?='\\))`, 'g')
const calls = readFileSync(`${root}src/load/required.cjs`, 'utf8')
writeFileSync(`${root}dist/chunks/required.cjs`, calls.replace(required, './$1.cjs'))
for (const name of REQUIRED) {
  const part = await rolldown({
    cwd: root,
    input: { [name]: name },
    platform: 'node',
    plugins: [dictionaryOfCommands, noTransports],
  })
  const { output } = await part.write({
    dir: 'dist/chunks',
    format: 'cjs',
    entryFileNames: '[name].cjs',
    codeSplitting: false,
    comments: false,
  })
  await part.close()
  const folders = output[0].moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [])
  const licences = [...new Set(folders)].map((folder) => {
    const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
    if (!file) throw new Error(`${folder} has no licence`)
    return `${folder.replace(/^.*\/node_modules\//, '')}\n\n${readFileSync(`${folder}/${file}`, 'utf8')}`
  })
  writeFileSync(`${root}dist/chunks/${name}.LICENSE`, licences.join('\n\n'))
}
// The client also runs in browsers, so it is one file that imports nothing.
const client = await rolldown({ cwd: root, input: 'src/http-client/index.ts', platform: 'browser' })
await client.write({ file: 'dist/http-client/index.js', format: 'esm', comments: false })
await client.close()
if (!hasTransports) throw new Error('pino has no lib/transport.js any more: change scripts/bundle.js')
if (!hasDictionary) throw new Error('ioredis has no Commander.js any more: change scripts/bundle.js')
