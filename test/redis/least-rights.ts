import { readFileSync } from 'node:fs'

const PAGE = new URL('../../docs/redis.md', import.meta.url)

/** The rights of the user that docs/redis.md creates, for the namespace `app`. */
export const leastRights: readonly string[] = (() => {
  const [, command = ''] = /ACL SETUSER highkiq on '>SECRET' ((?:.*\\\n)*.*)\n/.exec(readFileSync(PAGE, 'utf8')) ?? []
  const rights = command.replaceAll(/[\\']/g, '').split(/\s+/)
  if (rights.length < 10) throw new Error('docs/redis.md does not say which rights a user of Redis needs')
  return rights
})()
