/** The option `alerts`: to whom alerts are sent, from which figures on, and when not. */

import { createHash } from 'node:crypto'
import { LANGUAGES, type Language } from '../i18n/phrase.js'
import { type Duration, seconds } from '../job/duration.ts'
import { invalidOption } from '../job/errors.ts'
import { isObject } from '../job/json.ts'
import { checkOptions, type OptionRule, shown } from '../job/options.ts'
import { ALERT_KINDS, type AlertKind, FIGURES, type Thresholds } from './alert.ts'
import { checkQuietHours, checkTimeZone, type QuietHours } from './quiet-hours.ts'

interface TargetOptions {
  /** The name in logs and in `highkiq alerts test`; default the kind and the host. */
  name?: string
  /** The kinds of alerts that this target gets; default all. */
  kinds?: readonly AlertKind[]
  /** Replaces the quiet hours of all targets for this one; `false`: it has none. */
  quietHours?: QuietHours | readonly QuietHours[] | false
}

/** Gets a JSON object by POST. */
export interface WebhookTarget extends TargetOptions {
  webhook: string
  /** Sent with each request, for instance `{ authorization: 'Bearer …' }`. */
  headers?: Readonly<Record<string, string>>
}

/** An incoming webhook of Slack, or one that reads the same: of Mattermost, of Discord with `/slack` at its end. */
export interface SlackTarget extends TargetOptions {
  slack: string
}

export interface EmailTarget extends TargetOptions {
  /** One address, or several. */
  email: string | readonly string[]
  from: string
  /** The server: `smtps://user:password@mail.example:465`, or `smtp://` with STARTTLS where the server has it. */
  smtp: string
}

export type AlertTarget = WebhookTarget | SlackTarget | EmailTarget

export interface AlertOptions {
  to: readonly AlertTarget[]
  /** The name of the app in messages; default `highkiq`. */
  app?: string
  thresholds?: Thresholds
  /** For how long a problem must last before it is sent, and be gone before it is over; default `'1m'`. */
  after?: number | Duration
  /** How often the store is examined; default every 10 seconds. */
  every?: number | Duration
  quietHours?: QuietHours | readonly QuietHours[]
  /** The time zone of the quiet hours and of the times in messages; default UTC. */
  timeZone?: string
  /** The language of messages; default `en`. */
  language?: Language
}

interface PlannedTarget {
  /** What tells it apart in the store. It has no secret. */
  id: string
  /** What logs and answers show. It has no secret. */
  name: string
  wants(kind: AlertKind): boolean
  quietHours: readonly QuietHours[]
}

export type Target = PlannedTarget &
  (
    | { kind: 'webhook' | 'slack'; address: string; headers: Readonly<Record<string, string>> }
    | { kind: 'email'; address: string; recipients: readonly string[]; from: string }
  )

/** The option with its defaults. */
export interface AlertPlan {
  targets: readonly Target[]
  app: string
  thresholds: Thresholds
  afterMs: number
  everyMs: number
  timeZone: string
  language: Language
}

const MOST_TARGETS = 20
const DEFAULTS = { after: '1m', every: '10s' }

const TARGET = "{ webhook: 'https://…' }, { slack: 'https://…' } or { email, from, smtp: 'smtps://…' }"
const KINDS: OptionRule = [
  (value) => Array.isArray(value) && value.length > 0 && value.every((kind) => ALERT_KINDS.includes(kind)),
  `a list of ${ALERT_KINDS.map((kind) => `'${kind}'`).join(', ')}`,
]
const OF_ALL = { name: 'text', kinds: KINDS, quietHours: null } as const
const OF_KIND = {
  webhook: { webhook: null, headers: null, ...OF_ALL },
  slack: { slack: null, ...OF_ALL },
  email: { email: null, from: null, smtp: null, ...OF_ALL },
} as const

/** Returns the option with its defaults. @throws INVALID_OPTION; no message repeats an address, because it may be a secret */
export function alertPlan(options: AlertOptions, where = 'new Highkiq: alerts'): AlertPlan {
  checkOptions(where, options, {
    to: [Array.isArray, `a list of ${TARGET}`],
    app: 'text',
    thresholds: [isObject, '{ kind: { figure: number } }'],
    after: null,
    every: null,
    quietHours: null,
    timeZone: 'text',
    language: Object.keys(LANGUAGES),
  })
  const { to, app = 'highkiq', thresholds = {}, timeZone = 'UTC', language = 'en' } = options
  if (to === undefined) throw invalidOption(`${where} needs to, a list of ${TARGET}`)
  if (to.length === 0 || to.length > MOST_TARGETS) {
    throw invalidOption(`${where}: to must name 1 to ${MOST_TARGETS} targets (got ${to.length})`)
  }
  checkTimeZone(where, timeZone)
  checkThresholds(where, thresholds)
  const quietHours = checkQuietHours(where, options.quietHours)
  const targets = to.map((target, i) => targetOf(`${where}: to[${i}]`, target, quietHours))
  const names = targets.map(({ name }) => name)
  const twice = targets.findIndex(({ id }, i) => targets.findIndex((other) => other.id === id) < i)
  if (twice >= 0) throw invalidOption(`${where}: to[${twice}] is the same target as one before it: ${names[twice]}`)
  return {
    targets,
    ...{ app, thresholds, timeZone, language },
    afterMs: millisecondsOf(where, 'after', options.after ?? DEFAULTS.after, 0),
    everyMs: millisecondsOf(where, 'every', options.every ?? DEFAULTS.every, 1),
  }
}

function millisecondsOf(where: string, name: string, value: number | Duration, least: number): number {
  const length = seconds(value)
  if (length >= least && length <= 86_400) return length * 1000
  throw invalidOption(`${where}: ${name} must be ${least} seconds to 1 day (got ${length} seconds)`)
}

function targetOf(where: string, target: AlertTarget, usual: readonly QuietHours[]): Target {
  const kinds = isObject(target) ? Object.keys(OF_KIND).filter((kind) => Object.hasOwn(target, kind)) : []
  const [kind] = kinds as (keyof typeof OF_KIND)[]
  if (kinds.length !== 1 || kind === undefined) {
    const found = isObject(target)
      ? `the options ${Object.keys(target).join(', ') || 'of nothing'}`
      : typeof target === 'string'
        ? 'a string'
        : shown(target)
    throw invalidOption(`${where} must be one of ${TARGET} (got ${found})`)
  }
  checkOptions(where, target, OF_KIND[kind])
  const { quietHours, kinds: wanted } = target
  const shared = {
    wants: (one: AlertKind) => wanted?.includes(one) ?? true,
    quietHours: quietHours === false ? [] : quietHours === undefined ? usual : checkQuietHours(where, quietHours),
  }
  if ('email' in target) {
    const recipients = typeof target.email === 'string' ? [target.email] : target.email
    checkAddresses(where, 'email', recipients, 'an address, or a list of 1 to 20 addresses')
    checkAddresses(where, 'from', [target.from], "an address, such as 'jobs@shop.example'")
    const host = hostOf(where, 'smtp', target.smtp, /^smtps?:$/)
    const name = target.name ?? `email ${recipients.join(', ')}`
    const id = idOf('email', [...recipients, host].join(' '))
    return { kind: 'email', address: target.smtp, recipients, from: target.from, id, name, ...shared }
  }
  const [webhook, option] = 'slack' in target ? [target.slack, 'slack'] : [target.webhook, 'webhook']
  const host = hostOf(where, option, webhook, /^https?:$/)
  const headers = ('headers' in target && target.headers) || {}
  checkHeaders(where, headers)
  const about = { id: idOf(option, webhook), name: target.name ?? `${option} ${host}`, headers, ...shared }
  return { kind: kind as 'webhook' | 'slack', address: webhook, ...about }
}

/** A hash: the address of a webhook is a secret. */
function idOf(kind: string, address: string): string {
  return `${kind}-${createHash('sha256').update(address).digest('hex').slice(0, 16)}`
}

function hostOf(where: string, option: string, address: unknown, protocols: RegExp): string {
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined
  if (url && protocols.test(url.protocol) && url.hostname !== '') {
    const hasUser = url.username !== '' || url.password !== ''
    if (!hasUser || option === 'smtp') return url.host
    throw invalidOption(`${where}: ${option} must have no user and password: put them into headers, as authorization`)
  }
  const right =
    option === 'smtp' ? "'smtps://user:password@host:465' or 'smtp://host'" : 'an address with https:// or http://'
  throw invalidOption(`${where}: ${option} must be ${right}; its value is not shown, because it may be a secret`)
}

function checkAddresses(where: string, option: string, value: unknown, right: string): void {
  const isAddress = (one: unknown) => typeof one === 'string' && /^[^\r\n@]+@[^\r\n@]+$/.test(one)
  if (Array.isArray(value) && value.length > 0 && value.length <= 20 && value.every(isAddress)) return
  throw invalidOption(`${where}: ${option} must be ${right} (got ${shown(Array.isArray(value) ? value[0] : value)})`)
}

function checkHeaders(where: string, headers: unknown): void {
  const right = `${where}: headers must be { name: 'value' }`
  if (!isObject(headers)) throw invalidOption(`${right} (got ${shown(headers)})`)
  for (const [name, value] of Object.entries(headers)) {
    try {
      if (typeof value === 'string') new Headers({ [name]: value })
      else throw new TypeError()
    } catch {
      throw invalidOption(`${right}: ${shown(name)} is not a header that can be sent; its value is not shown`)
    }
  }
}

function checkThresholds(where: string, thresholds: object): void {
  for (const [kind, figures] of Object.entries(thresholds)) {
    const known = (FIGURES as Record<string, readonly string[]>)[kind]
    if (!known) {
      throw invalidOption(`${where}: thresholds: there is no alert ${kind}; there are ${ALERT_KINDS.join(', ')}`)
    }
    if (figures === false) continue
    const right = known.length > 0 ? `false or { ${known.map((name) => `${name}: number`).join(', ')} }` : 'false'
    if (!isObject(figures) || known.length === 0) {
      throw invalidOption(`${where}: thresholds: ${kind} must be ${right} (got ${shown(figures)})`)
    }
    checkOptions(`${where}: thresholds: ${kind}`, figures, Object.fromEntries(known.map((name) => [name, 'amount'])))
  }
}
