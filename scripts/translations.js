// Compares translated pages with the English ones, so that a translation can't fall behind unseen: both have the same
// headings, paragraphs, lists and rows in the same order, the same code, and links to the same pages.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

const KINDS = [
  [/^(#+) /, ([, marks]) => `a heading ${marks}`],
  [/^\|/, ({ input }) => `a row of ${input.split(/(?<!\\)\|/).length - 2} cells`],
  [/^ *- /, () => 'an item of a list'],
  [/^ *\d+\. /, () => 'a step'],
]

const CODE = 'the code'

/** @returns what is wrong with the pages of this folder, which lies in the folder of the English pages */
export function problemsOfTranslations(folder) {
  return pagesOfTranslation(folder).flatMap((page) => {
    const english = posix.join(folder, '..', posix.basename(page))
    if (!existsSync(english)) return [`${page}: there is no page ${english} that it could translate`]
    return [...differenceOf(page, english), ...linksThatDiffer(page, english)]
  })
}

export const pagesOfTranslation = (folder) =>
  readdirSync(folder).flatMap((name) => (name.endsWith('.md') ? [`${folder}/${name}`] : []))

/** The first difference; those after it follow from it. */
function differenceOf(page, english) {
  const [own, theirs] = [page, english].map((path) => partsOf(readFileSync(path, 'utf8')))
  const at = theirs.findIndex(({ kind }, i) => own[i]?.kind !== kind)
  if (at < 0 && own.length <= theirs.length) return []
  const [here, there] = [own[at < 0 ? theirs.length : at], theirs[at]]
  if (here?.kind.startsWith(CODE) && there?.kind.startsWith(CODE)) {
    return [`${page}:${here.line}: this is not the code of ${english}:${there.line}: copy it`]
  }
  const shown = (part, path) => (part ? `${path}:${part.line} has ${part.kind.split('\n', 1)[0]}` : `${path} ends`)
  return [`${shown(here, page)}, but ${shown(there, english)}: translate the change`]
}

function partsOf(text) {
  const parts = []
  let code
  for (const [i, line] of text.split('\n').entries()) {
    if (/^\s*```/.test(line)) {
      code = code ? undefined : { line: i + 1, kind: `${CODE} ${line.trim()}` }
      if (code) parts.push(code)
    } else if (code) code.kind += `\n${line}`
    else if (line.trim() !== '') parts.push({ line: i + 1, kind: kindOf(line) })
  }
  return parts
}

function kindOf(line) {
  for (const [pattern, name] of KINDS) {
    const match = pattern.exec(line)
    if (match) return name(match)
  }
  return 'a paragraph'
}

/** The order within a page may differ with the grammar. A link to a translated page leads to its translation. */
function linksThatDiffer(page, english) {
  const [own, theirs] = [page, english].map((path) => targetsOf(path).toSorted())
  const folder = posix.dirname(page)
  const expected = theirs
    .map((target) => {
      const [path, anchor] = target.split('#')
      const translated = posix.join(folder, posix.basename(path))
      // The anchor of a translated heading is another one.
      if (posix.dirname(path) === posix.dirname(english) && existsSync(translated)) return translated
      return anchor === undefined ? path : target
    })
    .toSorted()
  const found = own.map((target) => (target.startsWith(`${folder}/`) ? target.replace(/#.*/, '') : target)).toSorted()
  const missing = expected.filter((target, i) => expected.indexOf(target) === i && !found.includes(target))
  return missing.map((target) => `${page}: a link to ${target} is missing, which ${english} has`)
}

function targetsOf(page) {
  const text = readFileSync(page, 'utf8').replaceAll(/^ *```.*?^ *```/gms, '')
  return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, link]) => {
    if (/^[a-z]+:/.test(link)) return link
    const [path, anchor] = link.split('#')
    const target = path === '' ? page : posix.join(posix.dirname(page), path)
    return anchor === undefined ? target : `${target}#${anchor}`
  })
}
