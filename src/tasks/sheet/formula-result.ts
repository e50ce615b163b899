/** The value of a cell with a formula whose result is not in the file. */
export const NO_RESULT = '#NO RESULT!'

/** The errors that Excel shows in a cell with a formula, and `NO_RESULT`. */
const ERROR = /^#(?:N\/A|REF!|DIV\/0!|VALUE!|NAME\?|NULL!|NUM!|SPILL!|CALC!|FIELD!|BLOCKED!|GETTING_DATA|NO RESULT!)$/

/** Returns whether a cell of a workbook holds the error of a formula. */
export function isFormulaError(value: unknown): value is string {
  return typeof value === 'string' && value[0] === '#' && ERROR.test(value)
}
