/**
 * Texts that another program wrote may not be valid UTF-8. To remove such a text its very bytes are needed, and to put it
 * somewhere else unchanged: they are remembered while it is read here.
 */

const REPLACEMENT = '\ufffd'
const REMEMBERED = 1000

export class Texts {
  readonly #bytes = new Map<string, Buffer>()

  read(bytes: Buffer): string {
    const text = bytes.toString()
    if (!text.includes(REPLACEMENT)) return text
    // What was read last counts: the same characters may also stand there as such.
    this.#bytes.delete(text)
    if (Buffer.from(text).equals(bytes)) return text
    const oldest = this.#bytes.keys().next()
    if (this.#bytes.size >= REMEMBERED && !oldest.done) this.#bytes.delete(oldest.value)
    this.#bytes.set(text, bytes)
    return text
  }

  /** Whether a text that was read without its bytes may not be what they say. */
  isDoubtful(text: string): boolean {
    return text.includes(REPLACEMENT)
  }

  write(text: string): string | Buffer {
    return this.#bytes.size === 0 ? text : (this.#bytes.get(text) ?? text)
  }
}
