/** Turns payloads into the texts that stores keep: checked, encrypted, and not too large. */

import { checkArgs, checkReadable } from '../job/args.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { stringifyJson } from '../job/json.ts'
import { widestLimit } from '../job/limit.ts'
import type { Logger } from '../job/logger.ts'
import { editPayload, floatsOf, newJid, type Payload, timeOf, writePayload } from '../job/payload.ts'
import { baseQueue } from '../job/priority.ts'
import { mayKeepResult } from '../job/result.ts'
import { type JobLock, jidLock, readUnique } from '../job/unique.ts'
import type { Effect, PushItem, UniqueClaim } from '../store/contract.ts'
import type { PreparedPush } from './push-target.ts'
import type { RequestContext } from './request.ts'
import type { Template } from './template.ts'
import { trackOf } from './track.ts'

export interface JobWriterOptions extends Pick<RequestContext, 'definition' | 'encryption' | 'now' | 'wire'> {
  log: Logger
  strictArgs: 'raise' | 'warn' | false
  maxArgsBytes: { warn: number; refuse: number }
  /** The most jobs of queues, by name. */
  maxLengths: ReadonlyMap<string, number>
  /** Whether the store is sharded: then each job is stored on the shard of its limit. */
  isSharded: () => boolean
}

export class JobWriter {
  readonly #options: JobWriterOptions

  constructor(options: JobWriterOptions) {
    this.#options = options
  }

  /** The most jobs of each queue that has such a limit. */
  get maxLengths(): ReadonlyMap<string, number> {
    return this.#options.maxLengths
  }

  /** Checks a payload and turns it into JSON and its destination; it may change the payload. @throws INVALID_ARGS, ARGS_TOO_LARGE */
  prepare(payload: Payload, once = false): PreparedPush {
    this.check(payload)
    const { jid, queue, at } = payload
    const now = this.#options.now()
    if (at !== undefined) delete payload.at
    let destination: PushItem
    if (typeof at === 'number' && at * 1000 > now) {
      delete payload.enqueued_at
      destination = { to: 'schedule', text: this.#textOf(payload), score: at }
    } else {
      payload.enqueued_at = timeOf(now, this.#options.wire)
      destination = { to: 'queue', queue, text: this.#textOf(payload), end: 'back' }
    }
    if (once) destination.once = jid
    const locks = payload.hk_unique === undefined ? [] : readUnique(payload)
    if (locks.length > 0) {
      destination.unique = { jid, claims: locks.map(claimOf) }
      const effects = locks.some(({ key }) => key === jidLock(jid)) ? this.#cleaningEffects(payload) : []
      if (effects.length > 0) destination.effects = effects
    }
    const track = payload.hk_task === undefined ? undefined : trackOf(payload, now)
    const { maxLengths } = this.#options
    // Rows, jobs of batches and runs of cron entries are never refused.
    const isOwn = !track && payload.hk_cron === undefined && payload.bid === undefined
    const most = maxLengths.size > 0 && isOwn && maxLengths.get(baseQueue(queue))
    if (most) destination.maxLength = most
    if (this.#options.isSharded()) Object.assign(destination, this.#limitOf(payload))
    return track ? { jid, destination, payload, track } : { jid, destination, payload }
  }

  /** Returns the effects that delete what an earlier job with this jid may have left: a result, and the cursor of an iteration. */
  #cleaningEffects({ jid, class: name, wrapped = name }: Payload): Effect[] {
    const definition = this.#options.definition(wrapped)
    const effects: Effect[] = []
    if (mayKeepResult(definition)) effects.push({ kind: 'delete-result', jid })
    // A job that this process does not define may be iterable.
    if (!definition || definition.isIterable) effects.push({ kind: 'iteration', jid, state: null })
    return effects
  }

  /**
   * Returns the limit by which a sharded store places the job; none if its key can't be computed, which the worker then
   * reports.
   */
  #limitOf({ class: name, wrapped = name, args }: Payload): Pick<PushItem, 'limit'> {
    const limit = this.#options.definition(wrapped)?.options.limit
    if (!limit) return {}
    try {
      return { limit: widestLimit(wrapped, limit, args) }
    } catch {
      return {}
    }
  }

  /** Fills the template of equal pushes with the arguments of one. @throws INVALID_ARGS, ARGS_TOO_LARGE */
  fill({ payload, queue, head, middle, tail }: Template, args: unknown[]): PreparedPush {
    checkArgs(args, payload.wrapped ?? payload.class)
    const jid = newJid()
    const text = head + this.json(args) + middle + jid + tail
    checkReadable(text, payload.class)
    this.checkSize(payload.class, text)
    return { jid, destination: { to: 'queue', queue, text, end: 'back' }, payload }
  }

  /** Checks that the arguments survive JSON. @throws INVALID_ARGS */
  check(payload: Pick<Payload, 'class' | 'args' | 'jid' | 'wrapped'>): void {
    const { strictArgs, log } = this.#options
    if (!strictArgs) return
    try {
      checkArgs(payload.args, payload.wrapped ?? payload.class)
    } catch (thrown) {
      if (strictArgs === 'raise') throw thrown
      log.warn({ jid: payload.jid }, (thrown as Error).message)
    }
  }

  /** Returns the payload as it is stored: with `encrypt` its last argument is encrypted. @throws INVALID_ARGS, INVALID_OPTION */
  sealed<P extends Payload>(payload: P): P {
    const { encryption, wire } = this.#options
    if (!payload.encrypt) return payload
    if (encryption) return { ...payload, args: encryption.seal(payload, floatsOf(wire)) }
    throw invalidOption(
      `${payload.class}: encrypt needs keys: new Highkiq({ encryption: { keys: { 1: key }, active: 1 } })`,
    )
  }

  /** Returns a stored payload with its arguments in plain text. @throws DECRYPTION_FAILED, INVALID_OPTION */
  opened(payload: Payload): Payload {
    const { encryption } = this.#options
    if (!payload.encrypt) return payload
    if (encryption) return { ...payload, args: encryption.open(payload) }
    throw invalidOption(`${payload.class}: its last argument is encrypted, and this app has no option encryption`)
  }

  /** Warns about a large job. @throws ARGS_TOO_LARGE */
  checkSize(job: string, text: string): void {
    const { maxArgsBytes, log } = this.#options
    if (text.length <= maxArgsBytes.warn) return
    const bytes = Buffer.byteLength(text)
    if (bytes > maxArgsBytes.refuse) {
      throw new HighkiqError(
        'ARGS_TOO_LARGE',
        `${job}: a job of ${bytes.toLocaleString('en')} bytes is too large (at most ${maxArgsBytes.refuse.toLocaleString('en')}): store the data elsewhere and pass its id`,
        { bytes, most: maxArgsBytes.refuse },
      )
    }
    log.warn({ class: job, bytes }, 'large job: store the data elsewhere and pass its id')
  }

  /** Like `checkSize`, for a stored job with new arguments. The messages of its handler do not count. @throws ARGS_TOO_LARGE */
  checkEditedSize(job: string, text: string): void {
    if (text.length <= this.#options.maxArgsBytes.warn) return
    this.checkSize(job, editPayload(text, { hk_messages: undefined }))
  }

  json(args: unknown[]): string {
    return stringifyJson(args, floatsOf(this.#options.wire))
  }

  #textOf(payload: Payload): string {
    const text = writePayload(this.sealed(payload), this.#options.wire)
    checkReadable(text, payload.class)
    this.checkSize(payload.class, text)
    return text
  }
}

function claimOf({ key, until, ends }: JobLock): UniqueClaim {
  return { key, ...(ends === undefined ? {} : { ends }), ...(until === 'time' ? { outlives: true } : {}) }
}
