import { expect, test } from 'vitest'
import { en } from './en.ts'
import { LANGUAGES, type Phrase } from './index.ts'
import { ru } from './ru.ts'
import { zh } from './zh.ts'

const ALL: Record<string, Record<string, Phrase>> = { en, zh, ru }
const NUMBERS = Array.from({ length: 200 }, (_, n) => n)

const formsOf = (phrase: Phrase) => (typeof phrase === 'string' ? [phrase] : Object.values(phrase))
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort()

test('each language that can be chosen has a file', () => {
  expect(Object.keys(ALL).sort()).toEqual(Object.keys(LANGUAGES).sort())
})

test.each(Object.keys(ALL))('%s says all that English says, and nothing else', (language) => {
  expect(Object.keys(ALL[language] ?? {}).sort()).toEqual(Object.keys(en).sort())
  for (const [word, phrase] of Object.entries(ALL[language] ?? {})) {
    for (const text of formsOf(phrase)) expect(text.trim(), word).not.toBe('')
  }
})

test.each(Object.keys(ALL))('%s has every form of its plurals', (language) => {
  const rules = new Intl.PluralRules(language)
  const needed = new Set(NUMBERS.map((n) => rules.select(n)))
  for (const [word, phrase] of Object.entries(ALL[language] ?? {})) {
    if (typeof phrase !== 'string') expect(Object.keys(phrase), word).toEqual(expect.arrayContaining([...needed]))
  }
})

test.each(['zh', 'ru'])('%s puts the same values into its phrases', (language) => {
  for (const [word, phrase] of Object.entries(en as Record<string, Phrase>)) {
    const wanted = new Set(formsOf(phrase).flatMap(placeholders))
    for (const text of formsOf(ALL[language]?.[word] ?? '')) {
      for (const name of placeholders(text)) expect(wanted, `${word}: {${name}}`).toContain(name)
    }
    const given = new Set(formsOf(ALL[language]?.[word] ?? '').flatMap(placeholders))
    for (const name of wanted) expect(given, word).toContain(name)
  }
})

test('Chinese has one word for jobs and another one for tasks', () => {
  for (const [word, phrase] of Object.entries(en as Record<string, Phrase>)) {
    const english = formsOf(phrase).join()
    const chinese = formsOf(zh[word as keyof typeof en]).join()
    if (/\bjobs?\b/i.test(english) && !/\btasks?\b/i.test(english)) expect(chinese, word).not.toContain('任务')
    if (/\btasks?\b/i.test(english) && !/\bjobs?\b/i.test(english)) expect(chinese, word).not.toContain('作业')
  }
})
