/** What the page says, in the reader's language. A language is one file. */

import { signal } from '@preact/signals'
import { en } from './en.ts'

/** A text, or its forms by number (`n`), as `Intl.PluralRules` names them. */
export type Phrase = string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>)
export type Word = keyof typeof en
export type Words = Record<Word, Phrase>

export const LANGUAGES = { en: 'English', zh: '中文', ru: 'Русский' } as const
export type Language = keyof typeof LANGUAGES

const OTHERS: Record<Exclude<Language, 'en'>, () => Promise<Words>> = {
  zh: async () => (await import('./zh.ts')).zh,
  ru: async () => (await import('./ru.ts')).ru,
}

const KEPT = 'highkiq-language'

export const language = signal<Language>('en')
const words = signal<Words>(en)

/** The one that was chosen here, else the first of the browser's that we speak. */
export async function startWords(): Promise<void> {
  const wanted = [localStorage.getItem(KEPT), ...navigator.languages].map((tag) => tag?.slice(0, 2).toLowerCase())
  await speak((wanted.find((tag) => tag !== undefined && tag in LANGUAGES) as Language | undefined) ?? 'en')
}

export async function choose(to: Language): Promise<void> {
  localStorage.setItem(KEPT, to)
  await speak(to)
}

async function speak(to: Language): Promise<void> {
  words.value = to === 'en' ? en : await OTHERS[to]()
  language.value = to
  document.documentElement.lang = to
}

/** `{name}` in a phrase is replaced; numbers are written as the reader's locale does, and `n` chooses the form. */
export function t(word: Word, values: Record<string, string | number> = {}): string {
  const phrase = words.value[word]
  const text = typeof phrase === 'string' ? phrase : formOf(phrase, Number(values.n ?? 0))
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name]
    return value === undefined ? whole : typeof value === 'number' ? value.toLocaleString(locale()) : value
  })
}

function formOf(phrase: Exclude<Phrase, string>, n: number): string {
  return phrase[new Intl.PluralRules(language.value).select(n)] ?? phrase.other
}

/** For numbers and times: the reader's own variety of the language that is spoken. */
export function locale(): string {
  return navigator.languages.find((tag) => tag.toLowerCase().startsWith(language.value)) ?? language.value
}
