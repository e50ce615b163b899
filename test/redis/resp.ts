/** One request or reply of the Redis protocol, version 2 or 3. */
export interface Message {
  /** The first byte: `*` an array (every request is one), `+`, `-`, `:`, `$`, `>` a push, … */
  type: string
  /** The strings and simple values in it, in order, at any depth. */
  parts: Buffer[]
  /** The raw bytes. */
  bytes: Buffer
}

export function encode(...values: (string | Buffer)[]): Buffer {
  const parts = values.map((value) => {
    const bytes = Buffer.from(value as string)
    return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')])
  })
  return Buffer.concat([Buffer.from(`*${values.length}\r\n`), ...parts])
}

/** Finds the messages in a stream that arrives in any pieces. */
export class Reader {
  #buffer: Buffer = Buffer.alloc(0)
  #at = 0
  #parts: Buffer[] = []
  /** The number of missing elements of each open array, innermost last. The first one is the message itself. */
  #open: { left: number; attribute?: boolean }[] = [{ left: 1 }]

  /** Returns the messages that this piece completes. */
  read(chunk: Buffer): Message[] {
    const messages: Message[] = []
    this.#buffer = this.#buffer.length > 0 ? Buffer.concat([this.#buffer, chunk]) : chunk
    while (this.#pass()) {
      if (this.#open.length > 0) continue
      const bytes = this.#buffer.subarray(0, this.#at)
      const parts = this.#parts
      this.#buffer = this.#buffer.subarray(this.#at)
      this.#at = 0
      this.#parts = []
      this.#open = [{ left: 1 }]
      messages.push({ type: String.fromCharCode(bytes[0] ?? 0), parts, bytes })
    }
    return messages
  }

  /** Reads one line, with the string that belongs to it. Returns false when a part is missing. */
  #pass(): boolean {
    const end = this.#buffer.indexOf('\r\n', this.#at)
    if (end < 0) return false
    const type = String.fromCharCode(this.#buffer[this.#at] ?? 0)
    const rest = this.#buffer.subarray(this.#at + 1, end)
    const size = Number(rest.toString('latin1'))
    const next = end + 2

    if ('$=!'.includes(type) && size >= 0) {
      if (this.#buffer.length < next + size + 2) return false
      this.#parts.push(this.#buffer.subarray(next, next + size))
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
      if (type !== '$' && type !== '_') this.#parts.push(rest)
      this.#ended()
    }
    return true
  }

  /** Ends a value, and each array whose last element it is. */
  #ended(): void {
    for (let inner = this.#open.at(-1); inner; inner = this.#open.at(-1)) {
      inner.left--
      if (inner.left > 0) return
      this.#open.pop()
      // The value that an attribute describes still follows.
      if (inner.attribute) return
    }
  }
}
