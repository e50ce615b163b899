// Refuses words that Highkiq no longer uses; docs/glossary.md has those that it does. None of them may
// stand in code, comments, tests or docs.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const NOWHERE = [
  ...['heed', 'doubt', 'doubted', 'bury', 'letGo', 'giveBack', 'giveUp', 'fallApart', 'outlet', 'telling', 'aspect'],
  ...['adder', 'vitals', 'watchman', 'teller', 'deed', 'wayIn', 'stranded', 'lanes', 'bell', 'toleratedFailures'],
  ...['keepParams', 'unknownAfter', 'maxStalls'],
]
/** CSS's and SVG's use; the name of a control character. */
const OTHER_SENSES = { aspect: /aspect-ratio|preserveAspectRatio/, bell: /bell\\u0007/ }

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
    for (const [word, pattern] of nowhere) {
      if (!pattern.test(line) || OTHER_SENSES[word]?.test(line)) continue
      problems.push(`${file}:${i + 1}: “${word}” is not used any more`)
    }
  }
}
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`${files.length} files speak the words of docs/glossary.md`)
