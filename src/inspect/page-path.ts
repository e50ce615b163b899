/** Encodes names and texts for the addresses of the dashboard's pages. */

/**
 * Encodes a name as a part of a path. Browsers resolve `.` and `..`, encoded or not. So a name of one or two dots, with
 * any number of `~` before them, gets one more `~`, as the API expects. Half of a surrogate pair, which no address can hold,
 * becomes U+FFFD.
 */
export function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(/^(?=~*\.\.?$)/, '~')
}

/** Encodes a text as a value in the query of an address. */
export function queryValue(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
