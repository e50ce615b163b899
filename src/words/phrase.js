// How a phrase becomes a text. JavaScript as it stands, for the submitter's page loads this very file.

/**
 * A text, or its forms by number (`n`), as `Intl.PluralRules` names them.
 * @typedef {string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>)} Phrase
 */

/**
 * `{name}` in a phrase is replaced; numbers are written as the locale does, and `n` chooses the form.
 * @param {Phrase} phrase
 * @param {Record<string, string | number>} values
 * @param {string} locale of the language that the phrase is in: `ru`, `en-GB`
 * @returns {string}
 */
export function said(phrase, values, locale) {
  const text = typeof phrase === 'string' ? phrase : formOf(phrase, Number(values.n ?? 0), locale)
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    return value === undefined ? whole : typeof value === 'number' ? value.toLocaleString(locale) : value
  })
}

/**
 * @param {Exclude<Phrase, string>} phrase
 * @param {number} n
 * @param {string} locale
 */
function formOf(phrase, n, locale) {
  return phrase[new Intl.PluralRules(locale).select(n)] ?? phrase.other
}

/** Each in its own name. */
export const LANGUAGES = /** @type {const} */ ({ en: 'English', zh: '中文', ru: 'Русский' })

/** @typedef {keyof typeof LANGUAGES} Language */

/**
 * The first language of these that is spoken here.
 * @param {readonly (string | null | undefined)[]} tags
 * @returns {Language | undefined}
 */
export function spokenOf(tags) {
  const languages = tags.map((tag) => tag?.split('-')[0]?.toLowerCase())
  return /** @type {Language | undefined} */ (
    languages.find((one) => one !== undefined && Object.hasOwn(LANGUAGES, one))
  )
}
