// Keeps the docs readable: no cell of a table has more than 25 words, no line of prose more than 400 characters.
import { readdirSync, readFileSync } from 'node:fs'

const MOST_WORDS = 25
const MOST_CHARACTERS = 400

const pages = ['README.md', 'CONTRIBUTING.md', ...pagesIn('docs')]
const problems = pages.flatMap(problemsOf)
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

/** The words of a cell; a link counts by its text. */
function wordsOf(cell) {
  return cell
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}
