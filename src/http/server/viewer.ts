/** The viewer of a page that the server writes: language, texts, number formats, and theme. */

import { parseAccept } from 'hono/utils/accept'
import { parse } from 'hono/utils/cookie'
import { formatPhrase, type Language, preferredLanguage } from '../../i18n/phrase.js'
import { en, type Texts, type Word } from './i18n/en.ts'
import { ru } from './i18n/ru.ts'
import { zh } from './i18n/zh.ts'

export type { Word }

/** The texts of the submitter’s page, the login page and the error pages. */
export const TEXTS: Record<Language, Texts> = { en, zh, ru }

export interface Viewer {
  language: Language
  /** The regional variety of the language: `en-GB`. */
  locale: string
  /** Undefined to follow the system. */
  theme: 'light' | 'dark' | undefined
  /** Returns a text in the language of the viewer. */
  say(word: Word, values?: Record<string, string | number>): string
  /** The cookie for a language that this request chose. */
  cookie: string | undefined
}

const LANGUAGE = 'highkiq_language'
const THEME = 'highkiq_theme'
const YEAR_SECONDS = 365 * 86_400
/** The most language tags that are read. */
const MOST_TAGS = 20

/** Uses the language of `?lang=`, then of the cookie, then the first one of the browser that is available. */
export function viewerOf({ request, url, base }: { request: Request; url: URL; base: string }): Viewer {
  const tags = tagsOf(request.headers.get('accept-language') ?? '')
  const cookies = parse(request.headers.get('cookie') ?? '')
  const chosen = preferredLanguage([url.searchParams.get('lang')])
  const language = chosen ?? preferredLanguage([cookies[LANGUAGE], ...tags]) ?? 'en'
  const locale = tags.find((tag) => preferredLanguage([tag]) === language) ?? language
  const theme = cookies[THEME]
  return {
    language,
    locale,
    theme: theme === 'light' || theme === 'dark' ? theme : undefined,
    say: (word, values = {}) => formatPhrase(TEXTS[language][word], values, locale),
    cookie: chosen && `${LANGUAGE}=${chosen}; Path=${base || '/'}; Max-Age=${YEAR_SECONDS}; SameSite=Lax`,
  }
}

/** Returns the valid language tags of Accept-Language, the preferred first. */
function tagsOf(accepted: string): string[] {
  const tags = parseAccept(accepted).filter(({ q }) => q > 0)
  return tags.slice(0, MOST_TAGS).flatMap(({ type }) => canonical(type) ?? [])
}

function canonical(tag: string): string | undefined {
  if (!/^[a-z]{2,3}(-[a-z\d]{2,8}){0,3}$/i.test(tag)) return undefined
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}

/** The texts that the script of the submitter’s page shows. */
const OF_SCRIPT = /^(live|sent\.now|left\.gone|send|sending|again|wrong)\b/

export function scriptPhrases(language: Language): Partial<Texts> {
  return Object.fromEntries(Object.entries(TEXTS[language]).filter(([word]) => OF_SCRIPT.test(word)))
}
