/**
 * Links for submitters. Each opens one task, or the list of the tasks with one `meta`, with its own rights, and needs no
 * login.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'

/** `change` is the submitter's own link; a link with `read` is read-only. */
export const LINK_RIGHTS = ['change', 'read'] as const
export type LinkRights = (typeof LINK_RIGHTS)[number]

/** The first characters of a token, and the text that is signed after its subject. */
const PREFIX: Record<LinkRights, string> = { change: '', read: 'look.' }
const SIGNED: Record<LinkRights, string> = { change: '', read: ' look' }

export type Links = ReturnType<typeof linksOf>

/** Returns the subject of a link that opens one task. */
export function taskSubject(id: string): string {
  return `task ${id}`
}

/** Returns the subject of a link that opens the list of the tasks with these values in their `meta`. */
export function metaSubject(meta: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(meta)
  search.sort()
  return `tasks ${search}`
}

export function linksOf(secret: () => Promise<string>) {
  const sign = async (subject: string, rights: LinkRights) =>
    createHmac('sha256', await secret())
      .update(`highkiq ${subject}${SIGNED[rights]}`)
      .digest()
  const token = async (subject: string, rights: LinkRights) =>
    PREFIX[rights] + (await sign(subject, rights)).toString('base64url')
  return {
    taskToken: (id: string, rights: LinkRights) => token(taskSubject(id), rights),
    metaToken: (meta: Readonly<Record<string, string>>, rights: LinkRights) => token(metaSubject(meta), rights),
    /** Returns the rights that the token gives; undefined when it does not open the subject. */
    async opens(subject: string, token: string): Promise<LinkRights | undefined> {
      const rights = token.startsWith(PREFIX.read) ? 'read' : 'change'
      const given = Buffer.from(token.slice(PREFIX[rights].length), 'base64url')
      const right = await sign(subject, rights)
      return given.length === right.length && timingSafeEqual(given, right) ? rights : undefined
    },
  }
}
