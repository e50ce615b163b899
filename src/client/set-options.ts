/** The options of `set`: the options of a push, Sidekiq's members, and your own members under `extra`. */

import { refuseNotPushed } from '../job/definition.ts'
import { invalidOption } from '../job/errors.ts'
import { meantBy } from '../job/options.ts'
import { OTHER_NAMES } from '../job/other-names.ts'
import type { NamedPushOptions, PushOptions } from './request.ts'

export interface SetOptions extends NamedPushOptions, SidekiqMembers {
  /**
   * When the job is due: a Date, or seconds since the epoch. A past time means now. Overrides `wait` and `waitUntil`.
   */
  at?: number
  /** Your own members, copied into the payload unchanged. */
  extra?: Readonly<Record<string, unknown>>
}

/** The options of `set` for a job that Rails runs. `priority` goes to Rails, and is any number. */
export type ActiveJobSetOptions = SetOptions

/** Members that Sidekiq, Sidekiq Pro or Sidekiq Enterprise read; they keep their names. */
interface SidekiqMembers {
  retry_for?: number
  retry_queue?: string
  log_level?: string
  display_class?: string
  created_at?: number
  locale?: string | null
  cattr?: unknown
  [attributes: `cattr_${number}`]: unknown
  profile?: string
  profiler_options?: object
  pool?: unknown
  client_class?: unknown
  sync?: boolean
  bid?: string
  expires_in?: number
  unique_for?: number | boolean
  unique_until?: string
  overrated?: number
}

/** The compiler checks that this list names every member of the type. */
const NAMED = Object.keys({
  queue: 1,
  priority: 1,
  wait: 1,
  waitUntil: 1,
  at: 1,
  jid: 1,
  retry: 1,
  retryFor: 1,
  expiresIn: 1,
  retryQueue: 1,
  logLevel: 1,
  tags: 1,
  backtrace: 1,
  dead: 1,
  idempotent: 1,
  track: 1,
  unique: 1,
  encrypt: 1,
  wrapped: 1,
} satisfies Record<Exclude<keyof SetOptions, keyof SidekiqMembers | 'extra'>, 1>)

const SIDEKIQ = new Set<string>(
  Object.keys({
    retry_for: 1,
    retry_queue: 1,
    log_level: 1,
    display_class: 1,
    created_at: 1,
    locale: 1,
    cattr: 1,
    profile: 1,
    profiler_options: 1,
    pool: 1,
    client_class: 1,
    sync: 1,
    bid: 1,
    expires_in: 1,
    unique_for: 1,
    unique_until: 1,
    overrated: 1,
  } satisfies Record<Exclude<keyof SidekiqMembers, `cattr_${number}`>, 1>),
)

/**
 * Returns the options of a push that `set` was given, with your own members beside the others.
 * @throws INVALID_OPTION for an unknown member, with the name that was probably meant
 */
export function pushOptionsOf(job: string, options: SetOptions, more: readonly string[]): PushOptions {
  if (typeof options !== 'object' || options === null) {
    throw invalidOption(`${job}: set() takes an object, for instance set({ queue: 'critical' })`)
  }
  refuseNotPushed(job, options)
  const known = [...NAMED, ...more]
  for (const name of Object.keys(options)) {
    if (name === 'extra' || known.includes(name) || SIDEKIQ.has(name) || /^cattr_\d+$/.test(name)) continue
    const meant = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : meantBy(name, [...known, 'extra'])
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
    throw invalidOption(
      `${job}: set() knows no member ${name}.${hint} A member of your own goes under extra: set({ extra: { ${name}: … } })`,
    )
  }
  const { extra = {}, ...rest } = options
  if (typeof extra !== 'object' || extra === null || Array.isArray(extra)) {
    throw invalidOption(`${job}: extra must be an object of members for the payload, for instance { tenant: 'acme' }`)
  }
  const clash = Object.keys(extra).find((name) => known.includes(name) || name === 'class' || name === 'args')
  if (clash !== undefined) throw invalidOption(`${job}: ${clash} is not a member of your own: set it outside extra`)
  const ours = Object.keys(extra).find((name) => name.startsWith('hk_'))
  if (ours !== undefined)
    throw invalidOption(`${job}: ${ours} begins with hk_, as only members of Highkiq's own do: rename it`)
  return { ...rest, ...extra }
}
