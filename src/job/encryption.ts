/**
 * Encrypts the last argument of jobs with `encrypt`, so that the store, dashboards and logs never have it in plain text.
 *
 * The encrypted argument is a string of three parts: `hk1`, the version of its key, and in base64url the nonce (12 bytes),
 * the ciphertext and the tag (16 bytes) of AES-256-GCM. The plain text is the argument as JSON. The authenticated data are
 * the first two parts, the class of the job and its jid – for a row the id of its task –, each on a line: so an encrypted
 * argument can't be moved to another job.
 */

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { JobContext } from './context.ts'
import { HighkiqError, invalidOption, messageOf } from './errors.ts'
import { type Floats, isObject, parseJson, stringifyJson } from './json.ts'
import { checkOptions, shown } from './options.ts'
import type { Payload } from './payload.ts'

/** 32 bytes, or a string of 64 hexadecimal digits or of base64. */
export type EncryptionKey = Uint8Array | string

export interface EncryptionOptions {
  /** The keys by version, or a function that returns the key of a version (undefined: there is none). */
  keys: Readonly<Record<number, EncryptionKey>> | ((version: number) => EncryptionKey | undefined)
  /** The version of the key that encrypts; the others only decrypt. */
  active: number
}

const FORMAT = 'hk1'
const SEALED = /^hk1\.(\d{1,15})\.([\w-]{38,})$/
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Whether a value of a payload is an encrypted argument. */
export function isSealed(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(`${FORMAT}.`) && SEALED.test(value)
}

/** The text that dashboards, logs and exports show instead of an encrypted argument. */
export const HIDDEN = '[encrypted]'

/** Returns arguments to show: instead of an encrypted one they have a text that says so. */
export function hideSealed(args: unknown[]): unknown[] {
  return isSealed(args.at(-1)) ? [...args.slice(0, -1), HIDDEN] : args
}

type Sealable = Pick<Payload, 'class' | 'args' | 'jid' | 'hk_task'>

export class Encryption {
  readonly #keyOf: (version: number) => EncryptionKey | undefined
  readonly #active: number
  readonly #keys = new Map<number, Uint8Array>()
  /** The version of the key of digests: it must not change with `active`, or the digests would. */
  readonly #digestVersion: number

  /** @throws INVALID_OPTION also when the active key, or any of a list, is missing or has a wrong size */
  constructor({ keys, active }: EncryptionOptions) {
    const known = (version: number) =>
      Object.hasOwn(keys, version) ? (keys as Record<number, string>)[version] : undefined
    this.#keyOf = typeof keys === 'function' ? keys : known
    this.#active = active
    this.#digestVersion = typeof keys === 'function' ? active : Math.min(...Object.keys(keys).map(Number))
    for (const version of typeof keys === 'function' ? [active] : [active, ...Object.keys(keys).map(Number)]) {
      if (!isVersion(version)) throw invalidOption(`${WHERE}: the versions of keys must be whole numbers above 0`)
      if (!this.#key(version)) throw invalidOption(`${WHERE}: active is ${active}, and there is no key of that version`)
    }
  }

  /** The key for digests of arguments. */
  get digestKey(): Uint8Array {
    return createHmac('sha256', this.#key(this.#digestVersion) as Uint8Array)
      .update('highkiq unique')
      .digest()
  }

  /** Returns the arguments with the last one encrypted. @throws INVALID_ARGS */
  seal(payload: Sealable, floats: Floats): unknown[] {
    const { args, class: name } = payload
    if (args.length < 2) {
      throw new HighkiqError(
        'INVALID_ARGS',
        `${name}: encrypt encrypts the last argument, and needs at least two (got ${args.length}): pass what may be shown, for instance an id, before it`,
        { path: 'args', job: name },
      )
    }
    const version = this.#active
    const head = `${FORMAT}.${version}`
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key(version) as Uint8Array, nonce)
    cipher.setAAD(Buffer.from(boundTo(head, payload)))
    const parts = [
      nonce,
      cipher.update(stringifyJson(args.at(-1), floats), 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]
    return [...args.slice(0, -1), `${head}.${Buffer.concat(parts).toString('base64url')}`]
  }

  /** Returns the arguments with the last one decrypted. @throws DECRYPTION_FAILED */
  open(payload: Sealable): unknown[] {
    const { args, class: name } = payload
    const [, digits = '', data = ''] = SEALED.exec(String(args.at(-1))) ?? []
    if (digits === '') throw failed(name, 'is not encrypted by Highkiq: push the job again')
    const version = Number(digits)
    let key: Uint8Array | undefined
    try {
      key = this.#key(version)
    } catch (thrown) {
      throw failed(name, `needs key ${version}, which can't be read: ${messageOf(thrown)}`, thrown)
    }
    if (!key)
      throw failed(name, `needs key ${version}, which this app does not have: add it to the option encryption.keys`)
    const bytes = Buffer.from(data, 'base64url')
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
      decipher.setAAD(Buffer.from(boundTo(`${FORMAT}.${digits}`, payload)))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      return [...args.slice(0, -1), parseJson(text)]
    } catch {
      // The error of the cipher says nothing more.
      throw failed(
        name,
        `does not match key ${version}: the key is another one, or the argument was changed or moved here from another job`,
      )
    }
  }

  /** Gives the handler its last argument in plain text. @throws DECRYPTION_FAILED */
  readonly decrypt = (ctx: JobContext): void => {
    const { payload } = ctx
    // A job that runs without a store was never encrypted.
    if (payload.encrypt && !(ctx.isInline && !isSealed(payload.args.at(-1)))) ctx.args = this.open(payload)
  }

  /** Undefined when there is no such key. @throws INVALID_OPTION for a wrong one */
  #key(version: number): Uint8Array | undefined {
    let bytes = this.#keys.get(version)
    if (bytes) return bytes
    const key = this.#keyOf(version)
    if (key === undefined || key === null) return undefined
    bytes = bytesOf(key)
    if (bytes?.length !== KEY_BYTES) {
      throw invalidOption(
        `${WHERE}: key ${version} must be ${KEY_BYTES} bytes, or a string of them in base64 or of ${2 * KEY_BYTES} hexadecimal digits (got ${bytes ? `${bytes.length} bytes` : shownType(key)}). Make one with: openssl rand -base64 ${KEY_BYTES}`,
      )
    }
    this.#keys.set(version, bytes)
    return bytes
  }
}

const WHERE = 'new Highkiq: encryption'

/** @throws INVALID_OPTION */
export function checkEncryption(options: unknown): void {
  checkOptions(WHERE, options, {
    keys: [
      (keys) => typeof keys === 'function' || isObject(keys),
      'an object of keys by version, or a function of a version',
    ],
    active: [isVersion, 'the version of a key, a whole number above 0'],
  })
  const { keys, active } = options as Partial<EncryptionOptions>
  if (keys === undefined || active === undefined) {
    throw invalidOption(`${WHERE}: keys and active must be given, for instance { keys: { 1: key }, active: 1 }`)
  }
}

function isVersion(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 1e15
}

/** Never shows a key. */
function shownType(key: unknown): string {
  return typeof key === 'string' ? 'another string' : shown(typeof key)
}

function bytesOf(key: unknown): Uint8Array | undefined {
  if (key instanceof Uint8Array) return key
  if (typeof key !== 'string') return undefined
  if (/^[0-9a-f]{64}$/i.test(key)) return Buffer.from(key, 'hex')
  return /^[\w+/-]+={0,2}$/.test(key) ? Buffer.from(key, 'base64') : undefined
}

function boundTo(head: string, { class: name, jid, hk_task: task }: Sealable): string {
  return [head, name, task ?? jid].join('\n')
}

function failed(job: string, what: string, cause?: unknown): HighkiqError {
  return new HighkiqError(
    'DECRYPTION_FAILED',
    `${job}: the last argument ${what}`,
    { job },
    cause === undefined ? {} : { cause },
  )
}
