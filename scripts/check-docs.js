// Keeps the docs readable: no cell of a table has more than 25 words, no line of prose more than 400 characters, no page
// more than 2,500 words; numbers in tables are none. Links lead to files and headings that exist; the pages for
// contributors name only existing files. Translated pages have all that the English ones have.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { slugOf } from './slug.js'
import { pagesOfTranslation, problemsOfTranslations } from './translations.js'

const MOST_WORDS = 25
const MOST_CHARACTERS = 400
const MOST_WORDS_OF_A_PAGE = 2500
const FIGURES = /^[\d.,–() *]*$/
const TRANSLATIONS = ['docs/zh']
/** Where the project is on the web; the README links to it, because npm shows the README, too. */
const ON_THE_WEB = /^https:\/\/github\.com\/highkiq\/highkiq\/(?:blob|tree)\/main\//
/** Pages that name files of the source. NAME, CODE and AREA stand for any. */
const MAPS = ['docs/architecture.md', 'CONTRIBUTING.md']
const SOURCE_FILE = /`([\w/.-]+\.(?:tsx?|lua|sql|js))`/g

const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'create-highkiq/README.md', 'examples/README.md'],
  ...readdirSync('examples').flatMap((name) => (name.endsWith('.md') ? [] : [`examples/${name}/README.md`])),
  ...pagesIn('docs'),
  ...TRANSLATIONS.flatMap(pagesOfTranslation),
]
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' }).split('\n')
const headingsOf = Object.fromEntries(pages.map((page) => [page, anchorsOf(readFileSync(page, 'utf8'))]))
const problems = [
  ...pages.flatMap(problemsOf),
  ...pages.flatMap(deadLinksOf),
  ...MAPS.flatMap(missingFilesOf),
  ...TRANSLATIONS.flatMap(problemsOfTranslations),
]
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`${pages.length} pages of docs have short lines and cells, and links that lead somewhere`)

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
  const words = wordsOf(withoutFigures(readFileSync(page, 'utf8')))
  if (page.startsWith('docs/') && words > MOST_WORDS_OF_A_PAGE) {
    found.push(`${page}: ${words} words; at most ${MOST_WORDS_OF_A_PAGE}`)
  }
  return found
}

/** The anchors of a page's headings. Of equal headings, the later ones get a number. */
function anchorsOf(text) {
  const counts = new Map()
  return Array.from(withoutCode(text).matchAll(/^#+ +(.*)$/gm), ([, heading]) => {
    const slug = slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'))
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}

function deadLinksOf(page) {
  const links = withoutCode(readFileSync(page, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)
  return Array.from(links, ([, link]) => link)
    .filter((link) => {
      const isOurs = ON_THE_WEB.test(link)
      if (/^[a-z]+:/.test(link) && !isOurs) return false
      const [path, anchor] = link.replace(ON_THE_WEB, '').split('#')
      const target = path === '' ? page : isOurs ? path : join(page, '..', path)
      if (!existsSync(target)) return true
      return anchor !== undefined && headingsOf[target] !== undefined && !headingsOf[target].includes(anchor)
    })
    .map((link) => `${page}: the link ${link} leads nowhere`)
}

/** Without blocks of code, and without links in a line's code. */
function withoutCode(text) {
  return text.replaceAll(/^ *```.*?^ *```/gms, '').replaceAll(/`[^`\n]*\]\([^`\n]*`/g, '')
}

function missingFilesOf(page) {
  return Array.from(readFileSync(page, 'utf8').matchAll(SOURCE_FILE), ([, name]) => name)
    .filter((name) => !/NAME|CODE|AREA/.test(name) && !files.some((file) => `/${file}`.endsWith(`/${name}`)))
    .map((name) => `${page}: there is no file ${name}`)
}

/** Without the cells of tables that are numbers: they are looked up, not read. */
function withoutFigures(text) {
  return text.replaceAll(/^\|.*$/gm, (row) =>
    row
      .split(/(?<!\\)\|/)
      .filter((cell) => !FIGURES.test(cell))
      .join('|'),
  )
}

/** The words of a cell; a link counts by its text. */
function wordsOf(cell) {
  return cell
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}
