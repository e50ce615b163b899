/**
 * Returns the URL of a store without its password, for display. Everything between the first colon after the scheme and the
 * last @ counts as the password, also in a malformed URL; without that colon everything before the @. The path of a SQLite file
 * has no password.
 */
export function withoutPassword(url: string): string {
  if (/^sqlite:/i.test(url) && !/\s[a-z+]+:/i.test(url)) return url
  const at = url.lastIndexOf('@')
  if (!url.slice(0, at).includes(':')) return at === -1 ? url : `***${url.slice(at)}`
  return url.replace(/(:\/*)(?:([^:@/]*):)?.*@/s, (_, begin: string, user?: string) => {
    return `${begin}${user === undefined ? '' : `${user}:`}***@`
  })
}
