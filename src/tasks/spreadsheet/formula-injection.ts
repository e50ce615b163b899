/** Escapes texts that a spreadsheet would run as formulas. */

const FORMULA = /^'*[=+\-@\t\r]/
const NUMBER = /^[+-](\d+([.,]\d+)?|[.,]\d+)(e[+-]?\d+)?$/i

/**
 * Puts an apostrophe before a text that a spreadsheet would run as a formula; plain numbers stay. A text that already
 * has such an apostrophe gets another one, so that `unescapeFormula` restores it exactly.
 */
export function escapeFormula(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
}

/** Returns the text that `escapeFormula` got. */
export function unescapeFormula(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text
}
