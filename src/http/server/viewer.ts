/** The viewer of a page: language, number formats, and theme. */

import { type Language, preferredLanguage } from '../../words/phrase.js'
import { type Say, sayIn } from './i18n/index.ts'

export interface Viewer {
  language: Language
  /** The regional variety of the language: `en-GB`. */
  locale: string
  /** Undefined to follow the system. */
  theme: 'light' | 'dark' | undefined
  say: Say
  /** The cookie for a language that this request chose. */
  cookie: string | undefined
}

const LANGUAGE = 'highkiq_language'
const THEME = 'highkiq_theme'
const YEAR_SECONDS = 365 * 86_400
/** The most language tags that are read. */
const MOST_TAGS = 20

/** Uses the language of `?lang=`, then of the cookie, then the first one of the browser that is available. */
export function viewerOf(request: Request, url: URL, base: string): Viewer {
  const tags = tagsOf(request.headers.get('accept-language') ?? '')
  const chosen = preferredLanguage([url.searchParams.get('lang')])
  const language = chosen ?? preferredLanguage([cookieOf(request, LANGUAGE), ...tags]) ?? 'en'
  const locale = tags.find((tag) => preferredLanguage([tag]) === language) ?? language
  const theme = cookieOf(request, THEME)
  return {
    language,
    locale,
    theme: theme === 'light' || theme === 'dark' ? theme : undefined,
    say: sayIn(language, locale),
    cookie: chosen && `${LANGUAGE}=${chosen}; Path=${base || '/'}; Max-Age=${YEAR_SECONDS}; SameSite=Lax`,
  }
}

/** Returns the valid language tags of Accept-Language, the preferred first. */
function tagsOf(accepted: string): string[] {
  return accepted
    .split(',', MOST_TAGS)
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().split(';')
      const q = parameters.map((one) => /^\s*q=([\d.]+)\s*$/.exec(one)?.[1]).find(Boolean)
      return { tag: canonical(tag.trim()), q: q === undefined ? 1 : Number(q) }
    })
    .filter(({ tag, q }) => tag !== undefined && q > 0)
    .sort((a, b) => b.q - a.q)
    .map(({ tag }) => tag as string)
}

function canonical(tag: string): string | undefined {
  if (!/^[a-z]{2,3}(-[a-z\d]{2,8}){0,3}$/i.test(tag)) return undefined
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}

function cookieOf(request: Request, name: string): string | undefined {
  const all = (request.headers.get('cookie') ?? '').split(';').map((part) => part.trim().split('='))
  return all.find(([one]) => one === name)?.[1]
}
