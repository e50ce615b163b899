/** Sends messages to webhooks, chats and mail servers. No error and no log line has an address or a password. */

import type { Language } from '../i18n/phrase.js'
import { HighkiqError } from '../job/errors.ts'
import { stringifyJson } from '../job/json.ts'
import { importOptional } from '../load/package.ts'
import { VERSION } from '../version.generated.ts'
import { type Message, mailOf, slackBody, webhookBody } from './message.ts'
import type { Target } from './options.ts'

/** The longest time of a try. */
const SENDING_MS = 10_000

/** The part of nodemailer that is used. */
interface Mailer {
  createTransport(options: object): { sendMail(mail: object): Promise<unknown>; close(): void }
}

/** Resolves when the target has accepted the message. @throws ALERT_NOT_SENT */
export async function deliver(
  target: Target,
  message: Message,
  language: Language,
  signal: AbortSignal,
): Promise<void> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(SENDING_MS)])
  try {
    if (target.kind === 'email') await mail(target, message, language, ended)
    else await post(target, target.kind === 'slack' ? slackBody(message, language) : webhookBody(message), ended)
  } catch (thrown) {
    const why =
      thrown instanceof HighkiqError ? thrown.message : signal.aborted ? 'the process stops' : reasonOf(thrown)
    throw new HighkiqError('ALERT_NOT_SENT', `alerts: ${target.name}: ${why}`, { target: target.name, why })
  }
}

async function post(
  { address, headers }: Extract<Target, { kind: 'webhook' | 'slack' }>,
  body: object,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': `highkiq/${VERSION}`, ...headers },
    body: stringifyJson(body),
    // A redirect could lead to another host, which must not get the headers.
    redirect: 'manual',
    signal,
  })
  await response.body?.cancel()
  if (response.ok) return
  const hint = response.status >= 300 && response.status < 400 ? ', and redirects are not followed' : ''
  throw new HighkiqError('ALERT_NOT_SENT', `it answered ${response.status}${hint}`)
}

async function mail(
  { address, from, recipients }: Extract<Target, { kind: 'email' }>,
  message: Message,
  language: Language,
  signal: AbortSignal,
): Promise<void> {
  const mailer = await loadMailer()
  const times = { connectionTimeout: SENDING_MS, greetingTimeout: SENDING_MS, socketTimeout: SENDING_MS }
  const transport = mailer.createTransport({ url: address, ...times })
  const domain = /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  const sending = transport.sendMail({
    ...{ from, to: recipients, ...mailOf(message, language) },
    messageId: `<${message.id}.highkiq@${domain}>`,
    headers: { 'auto-submitted': 'auto-generated' },
    // Names and errors come from strangers: nothing in a mail may name a file or an address to read.
    ...{ disableFileAccess: true, disableUrlAccess: true },
  })
  try {
    await Promise.race([sending, abortOf(signal)])
  } finally {
    sending.catch(() => {})
    transport.close()
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

/** @throws ALERT_NOT_SENT */
async function loadMailer(): Promise<Mailer> {
  const mailer = await importOptional('nodemailer')
  if (!mailer) throw new HighkiqError('ALERT_NOT_SENT', 'e-mails need the package nodemailer: npm i nodemailer')
  return mailer as Mailer
}

const REASONS: Record<string, string> = {
  EAUTH: 'the server refused the user or the password',
  EENVELOPE: 'the server refused an address',
  EMESSAGE: 'the server refused the message',
}
/** nodemailer has one code for all that a socket can do, so the kind of failure is read from the message. */
const FAILURES: readonly (readonly [RegExp, string])[] = [
  [/certificate/i, 'its certificate is not accepted'],
  [/SSL routines/, 'it does not begin with TLS: use smtp:// in place of smtps://'],
]
const SYSTEM_CODE = /\bE(?:CONN|HOST|NET|TIMEDOUT|PIPE)[A-Z]*\b/

/** Words an error, and never shows its message: that may repeat an address, or what a server said. */
function reasonOf(thrown: unknown): string {
  const { name, message, code, cause, responseCode } = (thrown ?? {}) as Error & Record<string, unknown>
  if (name === 'TimeoutError') return `no answer within ${SENDING_MS / 1000} seconds`
  const answer = typeof responseCode === 'number' ? ` (${responseCode})` : ''
  if (typeof code === 'string' && REASONS[code]) return `${REASONS[code]}${answer}`
  const inside = (cause ?? {}) as { message?: string; code?: unknown }
  const text = `${message} ${inside.message}`
  const failure = FAILURES.find(([pattern]) => pattern.test(text))?.[1]
  const codes = [SYSTEM_CODE.exec(text)?.[0], code, inside.code]
  const known = codes.find((one) => typeof one === 'string' && /^[A-Z_0-9]+$/.test(one))
  return failure ?? `it can't be reached${known ? ` (${known})` : ''}${answer}`
}
