/** Formats the class and the arguments of a job as Sidekiq Web shows them. */

import { HIDDEN } from '../job/encryption.ts'

const WRAPPERS = new Set(['Sidekiq::ActiveJob::Wrapper', 'ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper'])
/** The first arguments of a mail: the mailer, its method, and how it is delivered. */
const MAIL_ARGUMENTS = 3

interface Display {
  class: string
  args: unknown[]
}

export function displayOf(payload: Record<string, unknown>, name: string, args: unknown[]): Display {
  const shown = WRAPPERS.has(name) ? unwrapped(payload, name, args) : { class: name, args }
  const { display_class, encrypt } = payload
  return {
    class: typeof display_class === 'string' ? display_class : shown.class,
    args: encrypt && shown.args.length > 0 ? [...shown.args.slice(0, -1), HIDDEN] : shown.args,
  }
}

/** Returns the class and the arguments of an Active Job, which Rails wraps in a Sidekiq job. */
function unwrapped(payload: Record<string, unknown>, wrapper: string, args: unknown[]): Display {
  const [job] = args
  const { job_class, arguments: own } = (typeof job === 'object' && job !== null ? job : {}) as Record<string, unknown>
  const name = [payload.wrapped, job, job_class].find((one) => typeof one === 'string') as string | undefined
  if (!Array.isArray(own)) return { class: name ?? wrapper, args }
  const plain = own.map((one) => deserialised(one))
  if (name === 'ActionMailer::DeliveryJob') return { class: mailOf(plain), args: plain.slice(MAIL_ARGUMENTS) }
  if (name === 'ActionMailer::MailDeliveryJob') {
    const [more] = plain.slice(MAIL_ARGUMENTS)
    const { params = null, args: rest = null } = (typeof more === 'object' && more !== null ? more : {}) as Display & {
      params?: unknown
    }
    return { class: mailOf(plain), args: [params, rest] }
  }
  return { class: name ?? wrapper, args: plain }
}

function mailOf(args: unknown[]): string {
  const [mailer = '', method = ''] = args.map((one) => (typeof one === 'string' ? one : ''))
  return `${mailer}#${method}`
}

/** Deeper nesting is not converted. */
const DEEPEST = 200

/** Returns an argument without what Active Job adds. A record is replaced by its global id. */
function deserialised(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth === DEEPEST) return value
  const inner = (one: unknown) => deserialised(one, depth + 1)
  if (Array.isArray(value)) return value.map(inner)
  const members = Object.entries(value)
  const [first] = members
  if (first && members.length === 1 && first[0] === '_aj_globalid') return first[1]
  return Object.fromEntries(
    members.filter(([key]) => !key.startsWith('_aj_')).map(([key, member]) => [key, inner(member)]),
  )
}
