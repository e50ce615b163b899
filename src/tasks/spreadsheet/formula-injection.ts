/** Texts that a spreadsheet would run. */

const FORMULA = /^'*[=+\-@\t\r]/
const NUMBER = /^[+-](\d+([.,]\d+)?|[.,]\d+)(e[+-]?\d+)?$/i

/**
 * A text that a spreadsheet would run as a formula gets an apostrophe in front; plain numbers stay. One that has such
 * an apostrophe already gets another, so that `armed` takes back exactly what was put there.
 */
export function escapeFormula(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
}

/** The text that `defused` was given. */
export function unescapeFormula(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text
}
