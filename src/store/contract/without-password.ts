/**
 * Returns the URL of a store without its password, for display. Everything between the first colon after the scheme and the
 * last @ counts as the password, and without that colon everything before the @, also in a malformed URL. The path of a SQLite
 * file has no password.
 */
export function withoutPassword(url: string): string {
  if (/^sqlite:/i.test(url)) return url
  return url.replace(/(:\/*)(?:([^:@/]*):)?.*@/s, (_, begin: string, user?: string) => {
    return `${begin}${user === undefined ? '' : `${user}:`}***@`
  })
}
