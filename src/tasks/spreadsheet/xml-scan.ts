const LT = 0x3c
const GT = 0x3e
const QUOTE = 0x22
const APOSTROPHE = 0x27
const SLASH = 0x2f
const EQUALS = 0x3d

// A tag, a comment or a text as long as this is not one that a program wrote; without a limit it would go into memory.
const MAX_TOKEN_BYTES = 16 * 1024 ** 2

/**
 * Reads XML, piece by piece, and calls `open`, `text` and `close`. Names come without their prefix.
 *
 * It does not validate: everything between two tags is text, and the subclass checks that tags match. Entities that a
 * document defines are not expanded.
 */
export abstract class XmlScanner {
  #text = ''
  #at = 0
  /** Set by a subclass to make `run` stop after the tag it is at. */
  protected paused = false
  /** Set by a subclass while the text between tags is of interest; otherwise it is not even decoded. */
  protected wantsText = false
  /** The prefix of the tag being opened, with its colon. */
  protected prefix = ''

  /** Adds a piece, all before it being used up. It begins with a tag or begins the document: see `textPieces`. */
  feed(piece: string): void {
    this.#text = this.#at < this.#text.length ? this.#text.slice(this.#at) + piece : piece
    this.#at = 0
  }

  /** Continues reading. @returns false if it has paused and must be called again */
  run(): boolean {
    const text = this.#text
    let at = this.#at
    this.paused = false
    while (at < text.length && !this.paused) {
      let next = this.quick(text, at)
      if (next === -1) next = this.#token(text, at)
      if (next === -1) break
      at = next
    }
    this.#at = at
    if (this.paused) return false
    if (text.length - at > MAX_TOKEN_BYTES) throw tooLong()
    return true
  }

  /** Must be called after the last piece. */
  end(): void {
    if (this.#at < this.#text.length) throw new Error('it ends in the middle of a tag')
  }

  /** A fast path for frequent tags. @returns where it ends; -1 if it does not apply, and then nothing was done */
  protected quick(_text: string, _at: number): number {
    return -1
  }

  /** The attributes are `text` from `from` on, before `to`: see `attribute`. */
  protected abstract open(name: string, text: string, from: number, to: number): void
  protected abstract close(name: string): void
  /** Called once or more for a text. */
  protected abstract text(text: string): void

  /** @returns where the token ends; -1 if it is incomplete */
  #token(text: string, at: number): number {
    if (text.charCodeAt(at) !== LT) {
      const end = text.indexOf('<', at)
      const stop = end === -1 ? text.length : end
      if (this.wantsText) this.text(decodeEntities(text.slice(at, stop)))
      return stop
    }
    const next = text.charAt(at + 1)
    if (next === '/') {
      const end = text.indexOf('>', at)
      if (end !== -1) this.close(localName(text.slice(at + 2, end).trim()))
      return end === -1 ? -1 : end + 1
    }
    if (next === '?') return after(text, '?>', at + 2)
    if (next === '!') return this.#declaration(text, at)
    return this.#opening(text, at)
  }

  #declaration(text: string, at: number): number {
    if (text.startsWith('<!--', at)) return after(text, '-->', at + 4)
    if (text.startsWith('<![CDATA[', at)) {
      const end = text.indexOf(']]>', at + 9)
      if (end !== -1 && this.wantsText) this.text(text.slice(at + 9, end))
      return end === -1 ? -1 : end + 3
    }
    return text.length - at < '<![CDATA['.length ? -1 : after(text, '>', at)
  }

  #opening(text: string, at: number): number {
    const end = tagEnd(text, at)
    if (end === -1) return -1
    const empty = text.charCodeAt(end - 1) === SLASH
    const to = empty ? end - 1 : end
    let from = at + 1
    while (from < to && !isSpace(text.charCodeAt(from))) from++
    const tag = text.slice(at + 1, from)
    const name = localName(tag)
    this.prefix = tag.slice(0, tag.length - name.length)
    this.open(name, text, from, to)
    if (empty) this.close(name)
    return end + 1
  }
}

/** Returns the position of the `>` that ends the tag, outside quotes; -1 if it is not read yet. */
export function tagEnd(text: string, at: number): number {
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === GT) return i
    if (code !== QUOTE && code !== APOSTROPHE) continue
    i = text.indexOf(code === QUOTE ? '"' : "'", i + 1)
    if (i === -1) return -1
  }
  return -1
}

/**
 * Returns the decoded value of the attribute with this name. A name that begins with a colon is found with any prefix.
 * @throws Error if a value does not end within the tag
 */
export function attribute(text: string, from: number, to: number, name: string): string | undefined {
  for (let at = from; at < to; ) {
    while (at < to && isSpace(text.charCodeAt(at))) at++
    const start = at
    while (at < to && text.charCodeAt(at) !== EQUALS && !isSpace(text.charCodeAt(at))) at++
    const found = text.startsWith(name, at - name.length) && isWhole(name, at - start)
    while (at < to && isSpace(text.charCodeAt(at))) at++
    if (text.charCodeAt(at) !== EQUALS) continue
    at++
    while (at < to && isSpace(text.charCodeAt(at))) at++
    const quote = text.charCodeAt(at)
    if (quote !== QUOTE && quote !== APOSTROPHE) return undefined
    const end = text.indexOf(quote === QUOTE ? '"' : "'", at + 1)
    if (end === -1 || end >= to) throw new Error('the value of an attribute does not end')
    if (found) return decodeEntities(text.slice(at + 1, end))
    at = end + 1
  }
  return undefined
}

const isWhole = (name: string, length: number) => (name.startsWith(':') ? length > name.length : length === name.length)

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d+)|#x([\da-fA-F]+)|(amp|lt|gt|quot|apos));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] as string
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

/**
 * Yields the text of a part, cut only before a tag, so that no piece ends within a character, an entity, a line break or a
 * text. Line breaks become LF, as XML requires.
 */
export async function* textPieces(part: AsyncIterable<Buffer>): AsyncGenerator<string, void, void> {
  let pending: Uint8Array[] = []
  let length = 0
  for await (const chunk of inUtf8(part)) {
    const cut = chunk.lastIndexOf(LT)
    if (cut === -1) {
      pending.push(chunk)
      length += chunk.length
      if (length > MAX_TOKEN_BYTES) throw tooLong()
      continue
    }
    if (length + cut > 0) yield textOf([...pending, chunk.subarray(0, cut)])
    pending = [chunk.subarray(cut)]
    length = chunk.length - cut
  }
  if (length > 0) yield textOf(pending)
}

function textOf(parts: Uint8Array[]): string {
  const text = Buffer.concat(parts).toString()
  return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
}

/** Returns a part's bytes in UTF-8. It converts only UTF-16, the other encoding that every XML reader knows. */
async function* inUtf8(part: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  let decoder: ReturnType<typeof decoderOf>
  let isFirst = true
  for await (const chunk of part) {
    if (isFirst) decoder = decoderOf(chunk)
    isFirst = false
    yield decoder ? Buffer.from(decoder.decode(chunk, { stream: true })) : chunk
  }
  if (decoder) yield Buffer.from(decoder.decode())
}

/** Recognises UTF-16 by its byte order mark, or by the zero beside its first `<`. */
function decoderOf(head: Buffer) {
  const start = head.toString('hex', 0, 2)
  if (start === 'fffe' || start === '3c00') return new TextDecoder('utf-16le')
  if (start === 'feff' || start === '003c') return new TextDecoder('utf-16be')
  return undefined
}

const tooLong = () => new Error('a tag or a text is longer than 16 MiB')

function after(text: string, what: string, from: number): number {
  const at = text.indexOf(what, from)
  return at === -1 ? -1 : at + what.length
}

const localName = (tag: string) => tag.slice(tag.indexOf(':') + 1)

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
