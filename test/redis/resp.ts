/** One request or reply of the Redis protocol, version 2 or 3. */
export interface Message {
  /** Its first byte: `*` an array (every request is one), `+`, `-`, `:`, `$`, `>` a push, … */
  type: string
  /** The strings and simple values in it, in order, however deep. */
  words: Buffer[]
  /** All of it, as it came. */
  bytes: Buffer
}

export function encode(...words: (string | Buffer)[]): Buffer {
  const parts = words.map((word) => {
    const bytes = Buffer.from(word as string)
    return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')])
  })
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts])
}

/** Finds the messages in a stream, in whatever pieces it comes. */
export class Reader {
  #buffer: Buffer = Buffer.alloc(0)
  #at = 0
  #words: Buffer[] = []
  /** Elements still to come of what is open, innermost last. The first is the message itself. */
  #open: { left: number; attribute?: boolean }[] = [{ left: 1 }]

  /** Those that are complete with this piece. */
  read(chunk: Buffer): Message[] {
    const messages: Message[] = []
    this.#buffer = this.#buffer.length > 0 ? Buffer.concat([this.#buffer, chunk]) : chunk
    while (this.#pass()) {
      if (this.#open.length > 0) continue
      const bytes = this.#buffer.subarray(0, this.#at)
      const words = this.#words
      this.#buffer = this.#buffer.subarray(this.#at)
      this.#at = 0
      this.#words = []
      this.#open = [{ left: 1 }]
      messages.push({ type: String.fromCharCode(bytes[0] ?? 0), words, bytes })
    }
    return messages
  }

  /** Passes one line, with the string that belongs to it; false: it is not all here. */
  #pass(): boolean {
    const end = this.#buffer.indexOf('\r\n', this.#at)
    if (end < 0) return false
    const type = String.fromCharCode(this.#buffer[this.#at] ?? 0)
    const rest = this.#buffer.subarray(this.#at + 1, end)
    const size = Number(rest.toString('latin1'))
    const next = end + 2

    if ('$=!'.includes(type) && size >= 0) {
      if (this.#buffer.length < next + size + 2) return false
      this.#words.push(this.#buffer.subarray(next, next + size))
      this.#at = next + size + 2
      this.#ended()
      return true
    }
    this.#at = next
    if ('*~>%|'.includes(type)) {
      const left = '%|'.includes(type) ? 2 * size : size
      if (left > 0) this.#open.push({ left, attribute: type === '|' })
      else if (type !== '|') this.#ended()
    } else {
      if (type !== '$' && type !== '_') this.#words.push(rest)
      this.#ended()
    }
    return true
  }

  /** A value is complete; so may be those that it is the last one of. */
  #ended(): void {
    for (let inner = this.#open.at(-1); inner; inner = this.#open.at(-1)) {
      inner.left--
      if (inner.left > 0) return
      this.#open.pop()
      // What an attribute is about still follows.
      if (inner.attribute) return
    }
  }
}
