/** Links for those who submitted a task: each opens that task alone, and needs no login. */

import { createHmac, timingSafeEqual } from 'node:crypto'

export class Links {
  readonly #secret: () => Promise<string>
  #known: Promise<string> | undefined

  /** `secret`: asked for when it is needed first. */
  constructor(secret: () => Promise<string>) {
    this.#secret = secret
  }

  async token(task: string): Promise<string> {
    return (await this.#sign(task)).toString('base64url')
  }

  async opens(task: string, token: string): Promise<boolean> {
    const given = Buffer.from(token, 'base64url')
    const right = await this.#sign(task)
    return given.length === right.length && timingSafeEqual(given, right)
  }

  async #sign(task: string): Promise<Buffer> {
    this.#known ??= this.#secret()
    try {
      return createHmac('sha256', await this.#known)
        .update(`highkiq task ${task}`)
        .digest()
    } catch (thrown) {
      this.#known = undefined
      throw thrown
    }
  }
}
