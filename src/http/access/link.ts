/** Links for the submitter of a task. Each opens that task alone, with its own rights, and needs no login. */

import { createHmac, timingSafeEqual } from 'node:crypto'

/** `change` is the submitter's own link; a link with `read` is read-only. */
export const LINK_RIGHTS = ['change', 'read'] as const
export type LinkRights = (typeof LINK_RIGHTS)[number]

/** The first characters of a token, and the text that is signed after the id of the task. */
const PREFIX: Record<LinkRights, string> = { change: '', read: 'look.' }
const SIGNED: Record<LinkRights, string> = { change: '', read: ' look' }

export type Links = ReturnType<typeof linksOf>

export function linksOf(secret: () => Promise<string>) {
  const sign = async (task: string, rights: LinkRights) =>
    createHmac('sha256', await secret())
      .update(`highkiq task ${task}${SIGNED[rights]}`)
      .digest()
  return {
    async token(task: string, rights: LinkRights): Promise<string> {
      return PREFIX[rights] + (await sign(task, rights)).toString('base64url')
    },
    /** Returns the rights that the token gives; undefined when it does not open the task. */
    async opens(task: string, token: string): Promise<LinkRights | undefined> {
      const rights = token.startsWith(PREFIX.read) ? 'read' : 'change'
      const given = Buffer.from(token.slice(PREFIX[rights].length), 'base64url')
      const right = await sign(task, rights)
      return given.length === right.length && timingSafeEqual(given, right) ? rights : undefined
    },
  }
}
