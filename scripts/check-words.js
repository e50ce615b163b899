// Refuses words that Highkiq no longer uses; docs/glossary.md has those that it does. The words of the first list may
// stand nowhere in code, comments, tests and docs; those of the second are no names of classes, functions, members and
// files.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { parseAst } from 'rolldown/parseAst'

const NOWHERE = [
  ...['heed', 'doubt', 'doubted', 'bury', 'letGo', 'giveBack', 'giveUp', 'fallApart', 'outlet', 'telling', 'aspect'],
  ...['adder', 'vitals', 'watchman', 'teller', 'deed', 'wayIn', 'stranded', 'lanes', 'bell', 'toleratedFailures'],
  ...['keepParams', 'unknownAfter', 'maxStalls'],
]
/** CSS's and SVG's use; the name of a control character. */
const OTHER_SENSES = { aspect: /aspect-ratio|preserveAspectRatio/, bell: /bell\\u0007/ }

/** One spelling, except in messages of other programs. */
const CANNOT = /\bcan ?not\b/i
const CANNOT_OF_OTHERS = /Cannot read properties|in JSON Schema|cannot be used with option/

/** The second list. A name is split into its words, so `takeJobs` and `in_place` are found, too. */
const NO_NAMES = new Set([
  ...['take', 'turn', 'place', 'line', 'mark', 'look', 'book', 'sheet', 'frame', 'words', 'deed', 'deeds', 'duty'],
  ...['keeper', 'news', 'topic', 'board'],
])

/** Names with a word of the second list in its ordinary sense. */
const ORDINARY = new Set([
  // A line of text, of a file or of output.
  ...[
    'line',
    'lines',
    '#line',
    'lineOf',
    '#lineOf',
    'LineOptions',
    'lineOptions',
    'jsonLine',
    'sidekiqLine',
    'plainLine',
  ],
  ...['LogLine', 'LineJobLog', 'stderr-line', 'lineView', 'sentLine', 'Lines', 'pushLines', 'readLines', 'wantsLines'],
  ...['linesFromHeader', 'bareLines', 'linesIn', 'newLine', 'parseLine'],
  // The sheets of a workbook.
  ...['sheet', 'sheets', 'sheetPath', 'sheetRows', 'emptySheet', 'SheetRow', 'sheetXml', 'Sheet', 'SheetFormat'],
  ...['SheetContent'],
  // A frame of a stack trace or of SQLite's log; a mark of a deploy, as Sidekiq has it; a lease that is taken over.
  ...['frames', 'Frames', 'frameText', 'largeFrames', 'markDeploy', 'DeployMark', 'takeOver', 'lookUp', '#lookUp'],
])

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'src', 'dashboard', 'test', 'docs'], {
  encoding: 'utf8',
  maxBuffer: 1e8,
})
  .split('\n')
  .filter((file) => /\.(ts|tsx|js|lua|sql|css|html|md|json)$/.test(file) && existsSync(file))
  .filter((file) => !/generated|\/fixtures\/|\/migrations\//.test(file))

/** `giveBack`, `GiveBack`, `give_back` and `give back`; `heed`, but not `heedless`. */
function patternOf(word) {
  const parts = word
    .split(/(?=[A-Z])/)
    .map((part) => `[${part[0].toUpperCase()}${part[0].toLowerCase()}]${part.slice(1).toLowerCase()}`)
  return new RegExp(
    `(?<![A-Za-z])${parts.join('[_ -]?')}(?![a-z])|(?<=[a-z])${parts.map((part) => part.replace(/^\[(.).\]/, '$1')).join('')}(?![a-z])`,
  )
}

const nowhere = NOWHERE.map((word) => [word, patternOf(word)])
const problems = []
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  for (const [i, line] of text.split('\n').entries()) {
    if (CANNOT.test(line) && !CANNOT_OF_OTHERS.test(line)) problems.push(`${file}:${i + 1}: write “can't”`)
    for (const [word, pattern] of nowhere) {
      if (!pattern.test(line) || OTHER_SENSES[word]?.test(line)) continue
      problems.push(`${file}:${i + 1}: “${word}” is not used any more`)
    }
  }
}
const wordsOf = (name) =>
  name
    .replace(/^#/, '')
    .split(/(?=[A-Z])|[_.-]/)
    .map((word) => word.toLowerCase())
const isRetired = (name) =>
  !ORDINARY.has(name) && wordsOf(name).some((word) => NO_NAMES.has(word) || NO_NAMES.has(word.replace(/s$/, '')))

/** Yields the names that a syntax tree declares: types, functions, classes and members, with their offsets. */
function* namesIn(node) {
  if (Array.isArray(node)) for (const one of node) yield* namesIn(one)
  if (node === null || typeof node !== 'object' || typeof node.type !== 'string') return
  const name = DECLARED_BY[node.type]?.(node)
  if (name?.name !== undefined) yield name.type === 'PrivateIdentifier' ? { ...name, name: `#${name.name}` } : name
  for (const child of Object.values(node)) if (typeof child === 'object') yield* namesIn(child)
}

const keyOf = ({ key, computed }) => (computed ? undefined : key)
const DECLARED_BY = {
  ClassDeclaration: ({ id }) => id,
  FunctionDeclaration: ({ id }) => id,
  TSInterfaceDeclaration: ({ id }) => id,
  TSTypeAliasDeclaration: ({ id }) => id,
  VariableDeclarator: ({ id, init }) => (/Function/.test(init?.type) ? id : undefined),
  MethodDefinition: keyOf,
  PropertyDefinition: keyOf,
  TSAbstractMethodDefinition: keyOf,
  TSAbstractPropertyDefinition: keyOf,
  AccessorProperty: keyOf,
  TSEnumDeclaration: ({ id }) => id,
  TSEnumMember: ({ id }) => id,
  ExportSpecifier: ({ exported }) => exported,
  TSPropertySignature: keyOf,
  TSMethodSignature: keyOf,
}

const ours = files.filter((file) => /^(src|dashboard\/src|test)\//.test(file))
for (const file of ours) {
  const name = file.split('/').find((part) => isRetired(part.replace(/(\.test)?\.\w+$/, '')))
  if (name) problems.push(`${file}: “${name}” is not a name of files and folders any more`)
}
for (const file of ours.filter((file) => /\.(tsx?|js)$/.test(file))) {
  const text = readFileSync(file, 'utf8')
  for (const { name, start } of namesIn(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }).body)) {
    const at = text.slice(0, start).split('\n').length
    if (isRetired(name)) problems.push(`${file}:${at}: “${name}” has a word that is not used in names any more`)
  }
}
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`${files.length} files speak the words of docs/glossary.md`)
