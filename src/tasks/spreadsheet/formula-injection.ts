/** Escapes texts that a spreadsheet would run as formulas. */

const FORMULA = /^'*[=+\-@\t\r]/
const NUMBER = /^[+-](\d+([.,]\d+)?|[.,]\d+)(e[+-]?\d+)?$/i

/**
 * A place inside a text where a spreadsheet may begin another cell, followed by a formula. With a decimal comma, a
 * spreadsheet splits lines at `;` or tabs. It then reads a quote inside a cell as text, so a line break ends the row.
 */
const INNER = /([;\t\r\n])(?=['"]*[=+\-@])/g
/** Most texts: they need no apostrophe, and this one look at them is several times as fast as a replacement. */
const PLAIN = /^[^'=+\-@;\t\r\n][^;\t\r\n]*$/
const ESCAPED_INNER = /([;\t\r\n])'(?=['"]*[=+\-@])/g

/**
 * Puts an apostrophe before a text that a spreadsheet would run as a formula, also inside the text where a spreadsheet
 * may split it; plain numbers stay. A text that already has such an apostrophe gets another one, so that
 * `unescapeFormula` restores it exactly.
 */
export function escapeFormula(text: string): string {
  if (PLAIN.test(text)) return text
  const inner = text.replace(INNER, "$1'")
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${inner}` : inner
}

/** Returns the text that `escapeFormula` got. */
export function unescapeFormula(text: string): string {
  const whole = text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text
  return whole.replace(ESCAPED_INNER, '$1')
}
