/** The declared contexts of an app: values of an AsyncLocalStorage that go with a job from its push to its handler. */

import { checkReadable, checkValue } from './args.ts'
import { HighkiqError, invalidOption } from './errors.ts'
import { isObject, stringifyJson } from './json.ts'
import { checkOptions, checkText, shown } from './options.ts'
import type { Payload } from './payload.ts'

/** The part of an AsyncLocalStorage that a context needs. */
export interface ContextStorage<Value> {
  getStore(): Value | undefined
  run<Result>(value: Value, work: () => Result): Result
}

export interface ContextOptions<Value, Saved> {
  /** Returns what a push stores of the current value, as JSON data; undefined stores nothing. Default: the value itself. */
  save?: (value: Value) => Saved | undefined
  /** Returns the value for a run from what the push stored. When it throws, the attempt fails. Default: what was stored. */
  load?: (saved: Saved) => Value | Promise<Value>
}

interface Declared {
  storage: ContextStorage<unknown>
  save: (value: unknown) => unknown
  load: (saved: unknown) => unknown
}

/** The most bytes that all contexts of a job take as JSON. */
const MOST_BYTES = 4096
const LONGEST_NAME = 50
/** The levels of a payload around a value of its context. */
const AROUND = 3

const same = (value: unknown) => value

export class PushContexts {
  readonly #declared = new Map<string, Declared>()

  /** @throws INVALID_OPTION */
  declare(name: string, storage: ContextStorage<unknown>, options: ContextOptions<unknown, unknown>): void {
    checkText('hq.context: the name', name)
    const where = `hq.context ${shown(name)}`
    if (name === '' || name.length > LONGEST_NAME) {
      throw invalidOption(`${where}: the name must have from 1 to ${LONGEST_NAME} characters`)
    }
    if (this.#declared.has(name)) throw invalidOption(`${where}: this name is declared already: choose another`)
    if (typeof storage?.getStore !== 'function' || typeof storage.run !== 'function') {
      throw invalidOption(`${where}: the second argument must be an AsyncLocalStorage (got ${shown(storage)})`)
    }
    checkOptions(where, options, { save: 'function', load: 'function' })
    this.#declared.set(name, { storage, save: options.save ?? same, load: options.load ?? same })
  }

  /**
   * Adds the current values to a payload, unless it has values already.
   * @throws INVALID_ARGS, ARGS_TOO_LARGE, and what `save` throws
   */
  readonly carry = (payload: Payload): void => {
    if (payload.hk_context !== undefined) return
    let values: Record<string, unknown> | undefined
    for (const [name, { storage, save }] of this.#declared) {
      const current = storage.getStore()
      const value = current === undefined ? undefined : save(current)
      if (value === undefined) continue
      checkValue(value, `context.${name}`, payload.class, AROUND)
      // Without a prototype, so that a context may have any name.
      values ??= Object.create(null) as Record<string, unknown>
      values[name] = value
    }
    if (!values) return
    const text = stringifyJson(values)
    checkReadable(text, payload.class, { name: 'context', around: AROUND - 1 })
    const bytes = Buffer.byteLength(text)
    if (bytes > MOST_BYTES) {
      throw new HighkiqError(
        'ARGS_TOO_LARGE',
        `${payload.class}: the context has ${bytes.toLocaleString('en')} bytes (at most ${MOST_BYTES.toLocaleString('en')}): carry an id with \`save\`, and look the rest up with \`load\``,
      )
    }
    payload.hk_context = values
  }

  /** Runs `work` with the values that came with a payload. A storage without a value has none inside. */
  readonly within = (payload: Pick<Payload, 'hk_context'>, work: () => unknown): unknown => {
    const values = isObject(payload.hk_context) ? payload.hk_context : {}
    let run = work
    for (const [name, { storage, load }] of this.#declared) {
      const inner = run
      const saved = Object.hasOwn(values, name) ? values[name] : undefined
      run = () => {
        if (saved === undefined) return storage.run(undefined, inner)
        const value = load(saved)
        if (!(value instanceof Promise)) return storage.run(value, inner)
        return value.then((loaded) => storage.run(loaded, inner))
      }
    }
    return run()
  }
}
