// Makes the modules that are not written by hand.
// Turns the *.sql of a store into one typed module, so that no file is read at run time. A statement begins with a
// comment line `-- name: what it does`. The schema, its functions and the migrations are taken as they are, migrations in the order of
// their names.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const camelCase = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase())

/** `at` is the folder with schema.sql, migrations/ and, on a server, functions.sql. */
function generateSql(store, at) {
  const root = new URL(`../src/store/${store}/`, import.meta.url)
  const out = ['// Generated from *.sql by scripts/generate.js. Do not edit.', 'export const sql = {']
  const sqlFiles = readdirSync(root, { recursive: true }).filter((path) => path.endsWith('.sql'))
  const whole = ['schema', 'functions'].filter((name) => sqlFiles.includes(`${at}/${name}.sql`))
  const isWhole = (path) => whole.some((name) => path === `${at}/${name}.sql`)
  const isMigration = (path) => path.startsWith(`${at}/migrations/`)
  const textOf = (path) => readFileSync(new URL(path, root), 'utf8')

  for (const path of sqlFiles.filter((path) => !isWhole(path) && !isMigration(path)).sort()) {
    const text = textOf(path)
    out.push(`  ${camelCase(path.replace(/^.*\/|\.sql$/g, ''))}: {`)
    const seen = new Set()
    for (const block of text.split(/^(?=-- \w+:)/m)) {
      const head = /^-- (\w+): (.*)$/m.exec(block)
      if (!head) continue
      if (seen.has(head[1])) throw new Error(`${path}: ${head[1]} is there twice`)
      seen.add(head[1])
      const body = block
        .replace(/^--.*$/gm, '')
        .replace(/\s+/g, ' ')
        .trim()
        .replace(/;$/, '')
      out.push(`    /** ${head[2]} */`, `    ${head[1]}: ${JSON.stringify(body)},`)
    }
    out.push('  },')
  }
  out.push('} as const', '')
  for (const name of whole) out.push(`export const ${name} = ${JSON.stringify(textOf(`${at}/${name}.sql`))}`, '')
  out.push('export const migrations: readonly string[] = [')
  for (const path of sqlFiles.filter(isMigration).sort()) {
    out.push(`  ${JSON.stringify(textOf(path))},`)
  }
  out.push(']', '')
  writeFileSync(new URL('sql.generated.ts', root), out.join('\n'))
}
generateSql('sqlite', 'file')
generateSql('postgres', 'server')

// Turns src/store/redis/**/*.lua into one typed module: each script with the files that it includes, and its SHA-1.
// The header of a script says what it does, and describes KEYS, ARGV and the answer. Its line "include:" names other
// files; a file without that line is only included. The server defines each function of a script anew at every call, so
// a script gets only the functions that it calls.
const luaRoot = new URL('../src/store/redis/', import.meta.url)
const luaTexts = new Map()
for (const file of readdirSync(luaRoot, { recursive: true })) {
  const [, name] = /([^/\\]+)\.lua$/.exec(file) ?? []
  if (!name) continue
  if (luaTexts.has(name)) throw new Error(`${file}: there are two Lua files of this name`)
  luaTexts.set(name, readFileSync(new URL(file.replaceAll('\\', '/'), luaRoot), 'utf8'))
}
function luaCode(name) {
  const text = luaTexts.get(name)
  if (text === undefined) throw new Error(`there is no Lua file ${name}.lua`)
  return text.replace(/^\s*--.*$/gm, '')
}
function withoutUnusedFunctions(source) {
  const isUsed = (name) => source.match(new RegExp(`\\b${name}\\b`, 'g')).length > 1
  const kept = source.replace(/^local function (\w+)\((?:.*\bend|.*\n[\s\S]*?\nend)\n/gm, (text, name) =>
    isUsed(name) ? text : '',
  )
  return kept === source ? source : withoutUnusedFunctions(kept)
}
// Scripts share most of their functions, so each function is written once.
const functions = new Map()
const lua = []
for (const [name, text] of [...luaTexts].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const included = /^-- include: (.*)$/m.exec(text)?.[1]
  if (!included) continue
  const code = [...included.split(' '), name].map(luaCode).join('\n')
  const source = withoutUnusedFunctions(code).replace(/^\s+/gm, '')
  const sha = createHash('sha1').update(source).digest('hex')
  const title = /^-- (.*)$/m.exec(text)[1]
  const parts = source.split(/^(?=local function )/m).map((part) => {
    if (!functions.has(part)) functions.set(part, functions.size)
    return functions.get(part)
  })
  lua.push(`  /** ${title} */`, `  ${camelCase(name)}: script('${name}', '${sha}', [${parts.join(', ')}]),`)
}
const luaModule = `// Generated from the Lua files by scripts/generate.js. Do not edit.
const parts = [
${[...functions.keys()].map((part) => `  ${JSON.stringify(part)},\n`).join('')}]

function script(name: string, sha: string, own: readonly number[]) {
  return {
    name,
    sha,
    get source() {
      return own.map((i) => parts[i]).join('')
    },
  }
}

export const lua = {
${lua.join('\n')}
}
`
writeFileSync(new URL('lua.generated.ts', luaRoot), luaModule)

// Turns src/http/assets/*, and what the submitter's page shares with others, into one typed module, so that no file is
// read at run time.
const assetsRoot = new URL('../src/http/assets/', import.meta.url)
const assets = [
  '// Generated from assets/ by scripts/generate.js. Do not edit.',
  'export const assets: Record<string, string> = {',
]
const SHARED = '../../../dashboard/src/styles/shared.css'
const sources = new Map(readdirSync(assetsRoot).map((file) => [file, [file]]))
sources.set('submitter.css', [SHARED, 'submitter.css'])
for (const name of ['phrase.js', 'file-problems.js']) sources.set(name, [`../../i18n/${name}`])
for (const [name, parts] of [...sources].sort()) {
  const text = parts.map((part) => readFileSync(new URL(part, assetsRoot), 'utf8')).join('\n')
  assets.push(`  '${name}': ${JSON.stringify(text)},`)
}
assets.push('}', '')
writeFileSync(new URL('../assets.generated.ts', assetsRoot), assets.join('\n'))

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
writeFileSync(
  new URL('../src/version.generated.ts', import.meta.url),
  `/** The version of this package. */\nexport const VERSION = '${version}'\n`,
)

// The reference of errors, from the table of codes.
const errors = readFileSync(new URL('../src/job/error-codes.ts', import.meta.url), 'utf8')
const table = /const STATUS = \{\n(.*?)\n\} as const/s.exec(errors)?.[1] ?? ''
const rows = [...table.matchAll(/\* (.*)\n +\* What to do: (.*)\n +\*\/\n +(\w+): (\d+),/g)].map(
  ([, meaning, advice, code, status]) => `| \`${code}\` | ${meaning} | ${advice} | ${status} |`,
)
if (rows.length !== table.split('\n').length / 5) {
  throw new Error('error-codes.ts: each code needs a comment of two lines, the second with what to do')
}
const intro = `# Errors

Highkiq throws \`HighkiqError\`s. A push that the store did not confirm throws a \`PushError\`: the job may be stored, see \`maybePushed\`. It also has \`jids\`, \`notPushed\` and \`pushed\`. When a push fails, a \`STORE_…\` code is that of its \`cause\`.

| member | meaning |
|---|---|
| \`code\` | the stable code below; check this, not the message or the class |
| \`message\` | what happened, and what to do |
| \`details\` | further data of some errors; \`details.problem\` tells the causes of one code apart, for example \`quote-open\` of \`INVALID_FILE\` |
| \`status\` | the HTTP status that fits |

The codes of rows that failed are in [rows.md](rows.md#why-a-row-is-error).

This page is generated from \`src/job/error-codes.ts\`.

| code | meaning | what to do | status |
|---|---|---|---|
`
writeFileSync(new URL('../docs/errors.md', import.meta.url), `${intro}${rows.join('\n')}\n`)
