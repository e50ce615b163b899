/** Reads what Ruby's `Marshal.dump` writes (format 4.8), as far as JSON can have it. */

import { HighkiqError } from '../../../job/errors.ts'

const VERSION = [4, 8]
/** The kinds of values that begin with the name of their class. */
const NAMED: Record<string, string> = {
  o: 'a Ruby object of the class',
  S: 'a Ruby Struct of the class',
  u: 'a Ruby object of the class',
  U: 'a Ruby object of the class',
  e: 'a Ruby object with the module',
}

export function isMarshal(bytes: Uint8Array): boolean {
  return bytes[0] === VERSION[0] && bytes[1] === VERSION[1]
}

/**
 * Returns the value. Symbols become strings, and so do the keys of hashes; a large integer becomes a BigInt.
 * @throws INVALID_ARGS for an object, a Time, a Rational, and everything else that JSON does not have
 */
export function loadMarshal(bytes: Buffer): unknown {
  return new MarshalReader(bytes).read()
}

class MarshalReader {
  readonly #bytes: Buffer
  #at = VERSION.length
  readonly #symbols: string[] = []
  /** The values to which later ones may refer. */
  readonly #values: unknown[] = []

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  read(): unknown {
    const kind = String.fromCharCode(this.#byte())
    if (kind === '0') return null
    if (kind === 'T') return true
    if (kind === 'F') return false
    if (kind === 'i') return this.#integer()
    if (kind === ':' || kind === ';') return this.#symbol(kind)
    if (kind === '@') return this.#values[this.#integer()]
    if (kind === 'I') return this.#withVariables()
    if (kind === '"') return this.#keep(textOf(this.#chunk()))
    if (kind === 'f') return this.#keep(floatOf(this.#chunk().toString()))
    if (kind === 'l') return this.#keep(this.#bigInteger())
    if (kind === '[') return this.#list()
    if (kind === '{' || kind === '}') return this.#hash(kind)
    if (kind === 'C') {
      // A subclass of String, Array or Hash.
      this.read()
      return this.read()
    }
    throw refused(NAMED[kind] ? `${NAMED[kind]} ${this.read()}` : `a Ruby value of the kind ${JSON.stringify(kind)}`)
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw refused('a Ruby value that is cut off')
    return byte
  }

  /** 0, a small number in one byte, or the number of bytes that follow, negative for a negative number. */
  #integer(): number {
    const first = (this.#byte() << 24) >> 24
    if (first === 0) return 0
    if (Math.abs(first) > 4) return first > 0 ? first - 5 : first + 5
    let value = first > 0 ? 0 : -1 * 256 ** -first
    for (let i = 0; i < Math.abs(first); i++) value += this.#byte() * 256 ** i
    return value
  }

  #chunk(): Buffer {
    const length = this.#integer()
    const chunk = this.#bytes.subarray(this.#at, this.#at + length)
    if (chunk.length < length) throw refused('a Ruby value that is cut off')
    this.#at += length
    return chunk
  }

  #keep<T>(value: T): T {
    this.#values.push(value)
    return value
  }

  #symbol(kind: ':' | ';'): string {
    if (kind === ';') return this.#symbols[this.#integer()] as string
    const name = textOf(this.#chunk())
    this.#symbols.push(name)
    return name
  }

  /** A value with instance variables: those of a string name its encoding. */
  #withVariables(): unknown {
    const kind = this.#bytes[this.#at]
    const index = this.#values.length
    const isString = kind === 0x22
    let value: unknown
    if (isString) {
      this.#at++
      value = this.#chunk()
      this.#values.push(value)
    } else value = this.read()
    let encoding: unknown
    for (let left = this.#integer(); left > 0; left--) {
      const name = this.read()
      const variable = this.read()
      if (name === 'encoding') encoding = variable
    }
    if (!isString) return value
    const text = textOf(value as Buffer, encoding)
    this.#values[index] = text
    return text
  }

  #bigInteger(): bigint | number {
    const isNegative = this.#byte() === 0x2d
    let value = 0n
    const bytes = this.#integer() * 2
    for (let i = 0; i < bytes; i++) value += BigInt(this.#byte()) << BigInt(8 * i)
    if (isNegative) value = -value
    return Number.isSafeInteger(Number(value)) ? Number(value) : value
  }

  #list(): unknown[] {
    const list: unknown[] = this.#keep([])
    for (let left = this.#integer(); left > 0; left--) list.push(this.read())
    return list
  }

  #hash(kind: '{' | '}'): Record<string, unknown> {
    // Without a prototype, so that a member may have any name.
    const hash: Record<string, unknown> = this.#keep(Object.create(null))
    for (let left = this.#integer(); left > 0; left--) {
      const key = this.read()
      if (!['string', 'number', 'bigint'].includes(typeof key))
        throw refused('a Ruby Hash with a key that is not a string')
      const name = String(key)
      if (name in hash) throw refused(`a Ruby Hash with two members ${JSON.stringify(name)}`)
      hash[name] = this.read()
    }
    // The default value of the hash.
    if (kind === '}') this.read()
    return hash
  }
}

/** @throws INVALID_ARGS if the bytes are no text in this encoding */
function textOf(bytes: Buffer, encoding: unknown = 'utf-8'): string {
  try {
    return new TextDecoder(String(encoding), { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw refused(`a Ruby String of bytes that are no text in ${encoding}`)
  }
}

function floatOf(text: string): number {
  const value = Number(text)
  // inf, -inf and nan.
  if (!Number.isFinite(value)) throw refused(`the Ruby Float ${text}`)
  return value
}

function refused(what: string): HighkiqError {
  return new HighkiqError('INVALID_ARGS', `a payload has ${what}, which JSON can't represent`)
}
