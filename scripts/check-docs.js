// Keeps the docs readable: no cell of a table has more than 25 words, no line of prose more than 400 characters, and the
// pages for contributors name only files that exist.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const MOST_WORDS = 25
const MOST_CHARACTERS = 400
/** Pages that name files of the source. NAME, CODE and AREA stand for any. */
const MAPS = ['docs/architecture.md', 'CONTRIBUTING.md']
const SOURCE_FILE = /`([\w/.-]+\.(?:tsx?|lua|sql|js))`/g

const pages = ['README.md', 'CONTRIBUTING.md', ...pagesIn('docs')]
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' }).split('\n')
const problems = [...pages.flatMap(problemsOf), ...MAPS.flatMap(missingFilesOf)]
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`${pages.length} pages of docs have short lines and cells`)

function pagesIn(folder) {
  return readdirSync(folder).flatMap((name) => (name.endsWith('.md') ? [`${folder}/${name}`] : []))
}

function problemsOf(page) {
  const found = []
  let inCode = false
  for (const [i, line] of readFileSync(page, 'utf8').split('\n').entries()) {
    if (/^\s*```/.test(line)) inCode = !inCode
    else if (inCode) continue
    else if (line.startsWith('|')) {
      for (const cell of line.split(/(?<!\\)\|/)) {
        const words = wordsOf(cell)
        if (words > MOST_WORDS) found.push(`${page}:${i + 1}: a cell of ${words} words; at most ${MOST_WORDS}`)
      }
    } else if (line.length > MOST_CHARACTERS) {
      found.push(`${page}:${i + 1}: a line of ${line.length} characters; at most ${MOST_CHARACTERS}`)
    }
  }
  return found
}

function missingFilesOf(page) {
  return Array.from(readFileSync(page, 'utf8').matchAll(SOURCE_FILE), ([, name]) => name)
    .filter((name) => !/NAME|CODE|AREA/.test(name) && !files.some((file) => `/${file}`.endsWith(`/${name}`)))
    .map((name) => `${page}: there is no file ${name}`)
}

/** The words of a cell; a link counts by its text. */
function wordsOf(cell) {
  return cell
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}
