/**
 * Encrypts cursors and keys of list entries. They contain parts of job payloads, which clients must not see. A keyed
 * digest identifies a payload.
 */

import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'

const VECTOR = 12
const TAG = 16
/** The most characters of a cursor that fit well into a URL. */
const LONGEST = 4000
/** Longer cursors are kept in memory instead, the newest ones. */
const MOST_KEPT = 100

/** The use of a sealed text: the position in a list, or a part of a key. */
export type SealUse =
  | 'all jobs'
  | 'job set'
  | 'queue'
  | 'running'
  | 'limits'
  | 'locks'
  | 'batch members'
  | 'event'
  | 'entry key'
  | 'lock key'

/** Encrypts texts for one use each. A route that opened a text of another use could show it in an error. */
export class Seal {
  readonly #key: Buffer
  readonly #kept = new Map<string, string>()

  constructor(secret: string) {
    this.#key = createHmac('sha256', secret).update('highkiq places').digest()
  }

  /** Returns the same digest for the same text on all servers of a store. */
  digest(text: string): string {
    return this.#hash(text).toString('hex').slice(0, 16)
  }

  /** Returns the sealed text that clients get. */
  close(text: string, use: SealUse): string {
    const hash = this.#hash(`${use} ${text}`)
    if (text.length > LONGEST) return this.#keep(text, use, hash)
    const vector = hash.subarray(0, VECTOR)
    const cipher = createCipheriv('aes-256-gcm', this.#key, vector).setAAD(Buffer.from(use))
    const sealed = Buffer.concat([vector, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return sealed.toString('base64url')
  }

  /** Returns undefined for a forged cursor, for one of another use, and for a long one that is no longer in memory. */
  open(sealed: string, use: SealUse): string | undefined {
    if (sealed.startsWith('.')) return this.#kept.get(`${use} ${sealed}`)
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < VECTOR + TAG) return undefined
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, VECTOR))
      decipher.setAAD(Buffer.from(use)).setAuthTag(bytes.subarray(-TAG))
      return Buffer.concat([decipher.update(bytes.subarray(VECTOR, -TAG)), decipher.final()]).toString()
    } catch {
      return undefined
    }
  }

  #keep(text: string, use: SealUse, hash: Buffer): string {
    const name = `.${createHash('sha256').update(hash).digest('base64url')}`
    const key = `${use} ${name}`
    this.#kept.delete(key)
    this.#kept.set(key, text)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break
      this.#kept.delete(oldest)
    }
    return name
  }

  #hash(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest()
  }
}
