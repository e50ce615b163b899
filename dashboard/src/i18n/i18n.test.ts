import { describe, expect, test } from 'vitest'
import { TEXTS } from '../../../src/http/server/viewer.ts'
import { STATUS } from '../../../src/job/error-codes.ts'
import { FINDING_TEXTS } from '../../../src/store/contract/finding-texts.ts'
import { en } from './en.ts'
import { LANGUAGES, type Phrase } from './index.ts'
import { REFUSALS } from './refusals.ts'
import { findings as ruFindings } from './ru/findings.ts'
import { ru } from './ru.ts'
import { findings as zhFindings } from './zh/findings.ts'
import { zh } from './zh.ts'

type Table = Record<string, Phrase>
/** The files of English: each exports the texts of a page. */
const pages = import.meta.glob<Record<string, Table>>(['./en/*.ts', '!./en/refusals.ts'], { eager: true })
/** The code that throws the errors. */
const sources = import.meta.glob<string>(
  ['../../../src/{app,batches,client,cron,http,inspect,job,ordered,tasks,unique}/**/*.ts', '!**/*.test.ts'],
  { eager: true, query: '?raw', import: 'default' },
)
const NUMBERS = Array.from({ length: 200 }, (_, n) => n)
const FINDINGS: Record<string, Table> = { en: FINDING_TEXTS, zh: zhFindings, ru: ruFindings }
const TABLES: Record<string, Record<string, Table>> = {
  'the dashboard': { en, zh, ru },
  'the refusals of the dashboard': REFUSALS,
  'the findings of the doctor': FINDINGS,
  "the submitter's page": TEXTS,
}

const formsOf = (phrase: Phrase) => (typeof phrase === 'string' ? [phrase] : Object.values(phrase))
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort()

describe.each(Object.keys(TABLES))('%s', (name) => {
  const all = TABLES[name] as Record<string, Table>
  const english = all.en as Table

  test('each language that can be chosen has a file', () => {
    expect(Object.keys(all).sort()).toEqual(Object.keys(LANGUAGES).sort())
  })

  test.each(Object.keys(all))('%s has the same texts as English', (language) => {
    expect(Object.keys(all[language] ?? {}).sort()).toEqual(Object.keys(english).sort())
    for (const [word, phrase] of Object.entries(all[language] ?? {})) {
      for (const text of formsOf(phrase)) expect(text.trim(), word).not.toBe('')
    }
  })

  test.each(Object.keys(all))('%s has every form of its plurals', (language) => {
    const rules = new Intl.PluralRules(language)
    const needed = new Set(NUMBERS.map((n) => rules.select(n)))
    for (const [word, phrase] of Object.entries(all[language] ?? {})) {
      if (typeof phrase !== 'string') expect(Object.keys(phrase), word).toEqual(expect.arrayContaining([...needed]))
    }
  })

  test('an English text with a number before a noun has a form for one', () => {
    const counted = /\{\w+\} (?:(?!whose\b)\w+ )?(?:jobs|rows|ids|shards|retries|tasks|queues|processes)\b/
    const single = Object.entries(english).flatMap(([word, phrase]) =>
      typeof phrase === 'string' ? [[word, phrase]] : [],
    )
    const wrong = single.filter(([, text = '']) => counted.test(text))
    expect(wrong).toEqual([])
  })

  test.each(['zh', 'ru'])('%s puts the same values into its phrases', (language) => {
    for (const [word, phrase] of Object.entries(english)) {
      const wanted = new Set(formsOf(phrase).flatMap(placeholders))
      for (const text of formsOf(all[language]?.[word] ?? '')) {
        for (const name of placeholders(text)) expect(wanted, `${word}: {${name}}`).toContain(name)
      }
      const given = new Set(formsOf(all[language]?.[word] ?? '').flatMap(placeholders))
      for (const name of wanted) expect(given, word).toContain(name)
    }
  })
})

const WORDS = {
  zh: { job: '作业', task: '任务' },
  ru: { job: 'задани', task: 'задач' },
} as const

describe.each(['the dashboard', 'the refusals of the dashboard', 'the findings of the doctor'])('%s', (name) => {
  test.each(['zh', 'ru'] as const)('%s has one word for jobs and another one for tasks', (language) => {
    const { [language]: translated, en: english } = TABLES[name] as Record<string, Table>
    const { job, task } = WORDS[language]
    for (const [word, phrase] of Object.entries(english as Table)) {
      const text = formsOf(phrase).join()
      const theirs = formsOf(translated?.[word] ?? '')
        .join()
        .toLowerCase()
      if (/\bjobs?\b/i.test(text) && !/\btasks?\b/i.test(text)) expect(theirs, word).not.toContain(task)
      if (/\btasks?\b/i.test(text) && !/\bjobs?\b/i.test(text)) expect(theirs, word).not.toContain(job)
    }
  })
})

test('each text of a refusal belongs to a code that exists, and each problem of an error has a text', () => {
  const names = Object.keys(REFUSALS.en).map((name) => name.split('.') as [code: string, problem?: string])
  for (const [code] of names) expect(STATUS).toHaveProperty(code)
  const problems = new Set(names.flatMap(([, problem = 'what']) => (problem === 'what' ? [] : problem)))
  const code = Object.values(sources).join()
  // A problem that a template makes is its first part there.
  const inCode = (problem: string) => code.includes(`'${problem}'`) || code.includes(`\`${problem.split('-')[0]}-\${`)
  expect([...problems].filter((problem) => !inCode(problem))).toEqual([])
  const thrown = [...code.matchAll(/\bproblem: '([\w-]+)'/g)].map(([, problem]) => problem)
  expect(thrown.length).toBeGreaterThan(30)
  // The problems of single jobs in the answer of an action on several.
  for (const name of Object.keys(en)) if (name.startsWith('sets.why.')) problems.add(name.slice('sets.why.'.length))
  expect(thrown.filter((problem) => !problems.has(problem as string))).toEqual([])
})

test('no two pages have a text of the same name', () => {
  const names = Object.values(pages).flatMap((page) => Object.values(page).flatMap((texts) => Object.keys(texts)))
  expect(names.filter((name, i) => names.indexOf(name) < i)).toEqual([])
  expect(names.sort()).toEqual(Object.keys(en).sort())
})
