/** The texts of the submitter’s page, the login page and the error pages. Each language has a file. */

import { formatPhrase, type Language } from '../../../words/phrase.js'
import { en, type Word, type Words } from './en.ts'
import { ru } from './ru.ts'
import { zh } from './zh.ts'

export type { Word, Words }

export const WORDS: Record<Language, Words> = { en, zh, ru }

export type Say = (word: Word, values?: Record<string, string | number>) => string

/** @param locale the reader's own variety of the language: `en-GB` */
export function sayIn(language: Language, locale: string): Say {
  return (word, values = {}) => formatPhrase(WORDS[language][word], values, locale)
}

/** What the page says by itself, when it does something. */
const OWN = /^(live|sent\.now|left\.gone|send|sending|again|wrong)\b/

export function scriptPhrases(language: Language): Partial<Words> {
  return Object.fromEntries(Object.entries(WORDS[language]).filter(([word]) => OWN.test(word)))
}
