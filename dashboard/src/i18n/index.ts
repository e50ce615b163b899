/** The texts of the dashboard in the language of the viewer. Each language is a folder with a file for each page. */

import { signal } from '@preact/signals'
import {
  fillDetails,
  formatPhrase,
  LANGUAGES,
  type Language,
  type Phrase,
  preferredLanguage,
} from '../../../src/i18n/phrase.js'
import type { FINDING_TEXTS } from '../../../src/store/contract/finding-texts.ts'
import type { en } from './en.ts'
import type { Refusals } from './refusals.ts'

export { formatPhrase, LANGUAGES, type Language, type Phrase }
export type Word = keyof typeof en
export type Texts = Record<Word, Phrase>
/** The texts of a page that has these in English. */
export type TextsOf<English> = Record<keyof English, Phrase>
/** The findings of the doctor and the advice. The page of the doctor loads them. */
export type FindingTexts = TextsOf<typeof FINDING_TEXTS>

/** Only the viewer's language is loaded. */
const LOADERS: Record<Language, () => Promise<Texts>> = {
  en: async () => (await import('./en.ts')).en,
  zh: async () => (await import('./zh.ts')).zh,
  ru: async () => (await import('./ru.ts')).ru,
}

const KEPT = 'highkiq-language'

export const language = signal<Language>('en')
/** Empty until the first language is loaded, before anything is drawn. */
const texts = signal<Partial<Texts>>({})

/** The language that was chosen here, else the first supported language of the browser. */
export async function startI18n(): Promise<void> {
  await speak(preferredLanguage([localStorage.getItem(KEPT), ...navigator.languages]) ?? 'en')
}

export async function choose(to: Language): Promise<void> {
  localStorage.setItem(KEPT, to)
  await speak(to)
}

async function speak(to: Language): Promise<void> {
  texts.value = await LOADERS[to]()
  language.value = to
  document.documentElement.lang = to
}

/** `{name}` in a phrase is replaced; numbers are written as the reader's locale does, and `n` chooses the form. */
export function t(word: Word, values: Record<string, string | number> = {}): string {
  return formatPhrase(texts.value[word] ?? '', values, locale())
}

let refusals: Record<Language, Refusals> | undefined

/** Loads the texts of refusals. Without an answer of the server they stay unknown until the next refusal. */
export async function loadRefusals(): Promise<void> {
  refusals ??= (await import('./refusals.ts').catch(() => undefined))?.REFUSALS
}

/** Returns the text of a refusal with its details; undefined when there is none, or when a detail is missing. */
export function refusalPhrase(name: string, details: Readonly<Record<string, unknown>> = {}): string | undefined {
  const phrase = refusals?.[language.value][name as keyof Refusals]
  return phrase === undefined ? undefined : fillDetails(phrase, details, locale())
}

/** The locale for numbers and times: the viewer's own variety of the language. */
export function locale(): string {
  return navigator.languages.find((tag) => tag.toLowerCase().startsWith(language.value)) ?? language.value
}
