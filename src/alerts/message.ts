/** Messages about problems: what they say, and how webhooks, chats and mails write it. */

import { createHash } from 'node:crypto'
import { durationIn } from '../i18n/duration.ts'
import { formatPhrase, type Language, type Phrase } from '../i18n/phrase.js'
import type { Alert } from './alert.ts'
import { MESSAGE_TEXTS, type MessageWord } from './message-texts.ts'
import type { AlertPlan } from './options.ts'
import type { AlertState, Changes, Problem } from './state.ts'
import { en } from './texts/en.ts'
import { ru } from './texts/ru.ts'
import { zh } from './texts/zh.ts'
import { textsOf, type Wording } from './texts.ts'

const ALERT_TEXTS: Record<Language, Record<keyof typeof en, Phrase>> = { en, ru, zh }

/** One problem in a message. */
export interface Report {
  title: string
  text: string
  /** When it began and, if it is over, ended, in words. */
  when: string
  /** Its page in the dashboard; null without `publicUrl`. */
  url: string | null
  since: Date
  until: Date | null
  alert: Alert<Date | string>
}

export interface Message {
  /** Identifies the changes: each attempt to send them has the same id, so that a receiver can drop a second copy. */
  id: string
  app: string
  at: Date
  title: string
  begun: Report[]
  over: Report[]
  /** What a test message says; else undefined. */
  test?: string
}

/** The most problems that a chat or a mail lists. */
const MOST_LISTED = 15
/** Discord refuses longer texts. */
const LONGEST_TEXT = 1900

export type MessagePlan = Pick<AlertPlan, 'app' | 'language' | 'timeZone'> & { publicUrl: string | undefined }

/** `found` has the newest figures of the problems. */
export function messageOf(
  plan: MessagePlan,
  {
    problems,
    changes,
    found,
    now,
  }: { problems: AlertState['problems']; changes: Changes; found: ReadonlyMap<string, Alert>; now: number },
): Message {
  const { app, language } = plan
  const newest = (key: string) => {
    const problem = problems[key] as Problem
    return reportOf(plan, { ...problem, alert: found.get(key) ?? problem.alert })
  }
  const begun = changes.begun.map(newest)
  const over = changes.over.map(newest)
  const counts = (['begun', 'over'] as const).flatMap((name) =>
    changes[name].length > 0 ? [word(language, name, { n: changes[name].length })] : [],
  )
  const single = begun.length + over.length === 1 ? `: ${(begun[0] ?? over[0])?.title}` : ''
  const keys = { begun: stamped(changes.begun, problems), over: stamped(changes.over, problems) }
  const id = createHash('sha256')
    .update(JSON.stringify([app, keys]))
    .digest('hex')
    .slice(0, 32)
  return { id, app, at: new Date(now), title: `[${app}] ${counts.join(', ')}${single}`, begun, over }
}

export function reportOf(plan: MessagePlan, { alert, since, over }: Problem): Report {
  const { language, publicUrl } = plan
  const wording = wordingOf(plan)
  const { title, what, path } = textsOf(alert, wording)
  const when =
    over === null
      ? word(language, 'since', { at: wording.clock(new Date(since)) })
      : word(language, 'lasted', { at: wording.clock(new Date(over)), time: wording.duration((over - since) / 1000) })
  const url = publicUrl === undefined ? null : `${publicUrl.replace(/\/+$/, '')}${path}`
  return { title, text: what, when, url, since: new Date(since), until: over === null ? null : new Date(over), alert }
}

/** Returns a message that only shows that messages arrive. */
export function testMessage({ app, language }: MessagePlan, now: number): Message {
  const id = createHash('sha256').update(`test ${app} ${now}`).digest('hex').slice(0, 32)
  const [title, test] = [word(language, 'test'), word(language, 'testWhat', { app })]
  return { id, app, at: new Date(now), title: `[${app}] ${title}`, begun: [], over: [], test }
}

/** Each key with the time of what is reported of it, in an order that does not depend on the store. */
function stamped(keys: readonly string[], problems: AlertState['problems']): string[] {
  return keys.map((key) => `${key}@${problems[key]?.since}`).sort()
}

function wordingOf({ language, timeZone }: Pick<MessagePlan, 'language' | 'timeZone'>): Wording {
  const locale = language === 'en' ? 'en-GB' : language
  const format = new Intl.DateTimeFormat(locale, {
    ...{ timeZone, day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
    timeZoneName: 'short',
  })
  const clock = (at: Date | string) => format.format(new Date(at))
  return {
    t: (name, values = {}) => formatPhrase(ALERT_TEXTS[language][name], values, locale),
    clock,
    // A message is read later than it is written.
    relative: clock,
    now: Date.now,
    duration: (seconds) => durationIn(language, seconds),
  }
}

function word(language: Language, name: MessageWord, values: Record<string, string | number> = {}): string {
  return formatPhrase(MESSAGE_TEXTS[language][name], values, language)
}

/** The body of a plain webhook. */
export function webhookBody({ begun, over, test, ...about }: Message): Record<string, unknown> {
  const shown = ({ alert, when: _, ...report }: Report) => ({ ...report, ...detailsOf(alert) })
  const changes = { begun: begun.map(shown), over: over.map(shown) }
  return { ...about, ...changes, test: test !== undefined }
}

function detailsOf({ kind, level, ...details }: Alert<Date | string>): Record<string, unknown> {
  return { kind, level, details }
}

/** The body of an incoming webhook of Slack. Others read its `text` alone, so that has everything, too. */
export function slackBody(message: Message, language: Language): Record<string, unknown> {
  const parts = partsOf(message, language).map(({ sign, report, text }) => {
    if (!report) return escaped(text)
    const link = report.url === null ? '' : `\n${report.url.replace(/[<>|]/g, encodeURIComponent)}`
    return `${sign} *${escaped(report.title)}*\n${escaped(`${text}${text && '\n'}${report.when}`)}${link}`
  })
  const title = escaped(message.title)
  const text = [`*${title}*`, ...parts].join('\n\n').slice(0, LONGEST_TEXT).toWellFormed()
  const section = (part: string) => ({
    type: 'section',
    text: { type: 'mrkdwn', text: part.slice(0, 2900).toWellFormed() },
  })
  return { text, blocks: [`*${title}*`, ...parts].map(section) }
}

export function mailOf(message: Message, language: Language): { subject: string; text: string } {
  const parts = partsOf(message, language).map(({ sign, report, text }) =>
    report ? [`${sign} ${report.title}`, text, report.when, report.url].filter(Boolean).join('\n') : text,
  )
  const subject = message.title
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, 200)
    .toWellFormed()
  return { subject, text: `${parts.join('\n\n')}\n` }
}

function partsOf(
  { begun, over, test }: Message,
  language: Language,
): { sign?: string; report?: Report; text: string }[] {
  if (test !== undefined) return [{ text: test }]
  const all = [
    ...begun.map((report) => ({ sign: '●', report, text: report.text })),
    ...over.map((report) => ({ sign: '✓', report, text: '' })),
  ]
  const left = all.length - MOST_LISTED
  if (left <= 0) return all
  return [...all.slice(0, MOST_LISTED), { text: word(language, 'more', { n: left }) }]
}

/** Escapes what Slack reads as links and mentions, and breaks the mentions of the others. Names come from strangers. */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/@(?=\w)/g, '@\u200b')
}
