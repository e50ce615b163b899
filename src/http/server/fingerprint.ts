/** Fingerprints of files, which detect another file under the same Idempotency-Key. */

import { createHash, type Hash } from 'node:crypto'
import { Transform, type TransformCallback } from 'node:stream'
import { HighkiqError } from '../../job/errors.ts'

/** The digest of the first `bytes` of a file, or of the whole file. */
export interface Fingerprint {
  bytes: number
  digest: string
  whole: boolean
}

export function formatFingerprint({ bytes, digest, whole }: Fingerprint): string {
  return `${bytes}:${digest}:${whole ? 'whole' : 'begun'}`
}

export function parseFingerprint(text: string | undefined): Fingerprint | undefined {
  const [, bytes, digest, how] = /^(\d+):([0-9a-f]+):(whole|begun)$/.exec(text ?? '') ?? []
  return digest === undefined ? undefined : { bytes: Number(bytes), digest, whole: how === 'whole' }
}

/** The most bytes that are buffered before they are checked. The fingerprint of first rows covers a few MB. */
const MOST_HELD_BYTES = 16_000_000

/** Passes a file through. Fails with IDEMPOTENCY_KEY_REUSED before any byte of a file that differs from `expected`. */
export class FingerprintStream extends Transform {
  /** Resolves when the file is known to begin as it should, rejects when it does not. */
  readonly checked: Promise<void>
  isChecked = false
  readonly #hash: Hash = createHash('sha256')
  readonly #expected: Fingerprint | undefined
  #bytes = 0
  #whole = false
  /** Chunks that are not checked yet. */
  #held: Buffer[] = []
  #heldBytes = 0
  #isRight!: () => void

  constructor(expected: Fingerprint | undefined) {
    super({ highWaterMark: 256 * 1024 })
    this.#expected = expected
    this.checked = new Promise((resolve, reject) => {
      this.#isRight = () => {
        this.isChecked = true
        resolve()
      }
      this.once('error', reject)
    })
    this.checked.catch(() => {})
    if (!expected) this.#isRight()
  }

  get fingerprint(): Fingerprint {
    return { bytes: this.#bytes, digest: digestOf(this.#hash), whole: this.#whole }
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (!this.#matches(chunk)) {
      done(anotherFile())
      return
    }
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.isChecked || this.#heldBytes > MOST_HELD_BYTES) for (const one of this.#held.splice(0)) this.push(one)
    done()
  }

  override _flush(done: TransformCallback): void {
    this.#whole = true
    if (this.#expected && this.#bytes < this.#expected.bytes) done(anotherFile())
    else done()
  }

  /** Returns false when the file differs from the expected one. */
  #matches(chunk: Buffer): boolean {
    const left = this.#expected ? this.#expected.bytes - this.#bytes : -1
    this.#bytes += chunk.length
    if (left < 0 || left > chunk.length) {
      this.#hash.update(chunk)
      return !(this.#expected?.whole && left <= 0 && chunk.length > 0)
    }
    this.#hash.update(chunk.subarray(0, left))
    if (digestOf(this.#hash) !== this.#expected?.digest) return false
    if (this.#expected.whole && chunk.length > left) return false
    this.#hash.update(chunk.subarray(left))
    this.#isRight()
    return true
  }
}

function digestOf(hash: Hash): string {
  return hash.copy().digest('hex').slice(0, 32)
}

function anotherFile(): HighkiqError {
  return new HighkiqError('IDEMPOTENCY_KEY_REUSED', 'this Idempotency-Key was used for another file: use a new key')
}
