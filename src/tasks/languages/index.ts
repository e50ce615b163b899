/** What reports and messages of rows say, in each language. A language is one file. */

import { LANGUAGES, type Language } from '../../i18n/phrase.js'
import { en, type TaskTexts } from './en.ts'
import { ru } from './ru.ts'
import { zh } from './zh.ts'

export type { Language, TaskTexts }

export const TASK_TEXTS: Record<Language, TaskTexts> = { en, zh, ru }

export const LANGUAGE_CODES = Object.keys(LANGUAGES) as Language[]
