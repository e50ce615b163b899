/**
 * Remembers the bytes of texts that are not valid UTF-8, which another program may have written. Only these exact
 * bytes can remove such a text, or put it somewhere else unchanged.
 */

const REPLACEMENT = '\ufffd'
const REMEMBERED = 1000

export class Texts {
  readonly #bytes = new Map<string, Buffer>()

  read(bytes: Buffer): string {
    const text = bytes.toString()
    if (!text.includes(REPLACEMENT)) return text
    // The bytes that were read last count: the same characters may also be stored as valid UTF-8.
    this.#bytes.delete(text)
    if (Buffer.from(text).equals(bytes)) return text
    const oldest = this.#bytes.keys().next()
    if (this.#bytes.size >= REMEMBERED && !oldest.done) this.#bytes.delete(oldest.value)
    // `bytes` may be a part of a large answer.
    this.#bytes.set(text, Buffer.from(bytes))
    return text
  }

  write(text: string): string | Buffer {
    return this.#bytes.size === 0 ? text : (this.#bytes.get(text) ?? text)
  }
}
