/** Links for those who submitted a task: each opens that task alone, with its own rights, and needs no login. */

import { createHmac, timingSafeEqual } from 'node:crypto'

/** `change`: the submitter's own. `look`: it shows the task, and changes nothing. */
export const LINK_RIGHTS = ['change', 'look'] as const
export type LinkRights = (typeof LINK_RIGHTS)[number]

/** What a token begins with, and what is signed behind the id of the task. */
const PREFIX: Record<LinkRights, string> = { change: '', look: 'look.' }
const SIGNED: Record<LinkRights, string> = { change: '', look: ' look' }

export class Links {
  readonly #secret: () => Promise<string>
  #known: Promise<string> | undefined

  /** `secret`: asked for when it is needed first. */
  constructor(secret: () => Promise<string>) {
    this.#secret = secret
  }

  async token(task: string, rights: LinkRights): Promise<string> {
    return PREFIX[rights] + (await this.#sign(task, rights)).toString('base64url')
  }

  /** What the token allows; undefined: it does not open the task. */
  async opens(task: string, token: string): Promise<LinkRights | undefined> {
    const rights = token.startsWith(PREFIX.look) ? 'look' : 'change'
    const given = Buffer.from(token.slice(PREFIX[rights].length), 'base64url')
    const right = await this.#sign(task, rights)
    return given.length === right.length && timingSafeEqual(given, right) ? rights : undefined
  }

  async #sign(task: string, rights: LinkRights): Promise<Buffer> {
    this.#known ??= this.#secret()
    try {
      return createHmac('sha256', await this.#known)
        .update(`highkiq task ${task}${SIGNED[rights]}`)
        .digest()
    } catch (thrown) {
      this.#known = undefined
      throw thrown
    }
  }
}
