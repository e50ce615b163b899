// Turns phrases into texts. It is plain JavaScript because the submitter's page loads this very file.

/**
 * A text, or its plural forms as `Intl.PluralRules` names them.
 * @typedef {string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>)} Phrase
 */

/**
 * Replaces each `{name}` of a phrase by its value. Numbers are formatted for the locale, and `n` selects the plural form.
 * @param {Phrase} phrase
 * @param {Record<string, string | number>} values
 * @param {string} locale such as `ru` or `en-GB`
 * @returns {string}
 */
export function formatPhrase(phrase, values, locale) {
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

/**
 * Replaces each `{name}` of a text by a detail of an error: a text, a number, or a list, whose elements get quotes.
 * @param {string} text
 * @param {Readonly<Record<string, unknown>>} details
 * @param {string} locale
 * @returns {string | undefined} undefined when a detail is missing
 */
export function fillDetails(text, details, locale) {
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name))
  if (names.some((name) => !Object.hasOwn(details, name))) return undefined
  const shown = (/** @type {unknown} */ value) =>
    Array.isArray(value) ? value.map((one) => `“${one}”`).join(', ') : typeof value === 'number' ? value : String(value)
  return formatPhrase(text, Object.fromEntries(names.map((name) => [name, shown(details[name])])), locale)
}

/** The languages, each under its own name. */
export const LANGUAGES = /** @type {const} */ ({ en: 'English', zh: '中文', ru: 'Русский' })

/** @typedef {keyof typeof LANGUAGES} Language */

/**
 * Returns the first of these language tags that Highkiq supports.
 * @param {readonly (string | null | undefined)[]} tags
 * @returns {Language | undefined}
 */
export function preferredLanguage(tags) {
  const languages = tags.map((tag) => tag?.split('-')[0]?.toLowerCase())
  return /** @type {Language | undefined} */ (
    languages.find((one) => one !== undefined && Object.hasOwn(LANGUAGES, one))
  )
}
