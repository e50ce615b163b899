/** The columns that a report adds: their names in each language, and how they are found in a corrected report. */

import { LANGUAGE_CODES, type Language, TASK_TEXTS } from './languages/index.ts'

/** The columns after the row's own columns. */
export const REASONS = ['row', 'row key', 'status', 'code', 'messages', 'attempts'] as const
/** Further columns, if some rows are not of the file, or of another job than the task's. */
export const OTHERS = ['job', 'arguments'] as const
export type Reason = (typeof REASONS)[number] | (typeof OTHERS)[number]

const NAMES = LANGUAGE_CODES.map((language) => {
  const { prefix, columns } = TASK_TEXTS[language]
  return {
    language,
    prefix,
    reasons: new Map(Object.entries(columns).map(([reason, name]) => [name, reason as Reason])),
  }
})

/** Returns the added column with this name, its language, and the number of prefixes. */
function knownAs(name: string): { reason: Reason; language: Language; prefixes: number } | undefined {
  for (const { language, prefix, reasons } of NAMES) {
    let bare = name
    while (bare.startsWith(prefix)) bare = bare.slice(prefix.length)
    const reason = reasons.get(bare)
    if (reason) return { reason, language, prefixes: (name.length - bare.length) / prefix.length }
  }
  return undefined
}

/** Returns whether one of these names is an added column in any language. */
export function hasReason(names: Iterable<string>, reasons: readonly Reason[]): boolean {
  for (const name of names) {
    const known = knownAs(name)
    if (known && reasons.includes(known.reason)) return true
  }
  return false
}

/** Returns names for the added columns. A name that the file uses gets one more prefix. */
export function reasonNames(own: readonly string[], language: Language): Record<Reason, string> {
  const { prefix, columns } = TASK_TEXTS[language]
  const prefixes = new Map<Reason, number>()
  for (const known of own.map(knownAs)) {
    if (known) prefixes.set(known.reason, Math.max(prefixes.get(known.reason) ?? 0, known.prefixes + 1))
  }
  const names = [...REASONS, ...OTHERS].map((reason) => [
    reason,
    prefix.repeat(prefixes.get(reason) ?? 0) + columns[reason],
  ])
  return Object.fromEntries(names) as Record<Reason, string>
}

/** Finds the added columns of a report in any language: those with the most prefixes that are not the file's. */
export function reasonsIn(header: readonly string[], own: readonly string[] = []): Partial<Record<Reason, string>> {
  const found: Partial<Record<Reason, string>> = {}
  const most = new Map<Reason, number>()
  for (const name of header) {
    const known = knownAs(name)
    if (!known || own.includes(name) || known.prefixes <= (most.get(known.reason) ?? -1)) continue
    most.set(known.reason, known.prefixes)
    found[known.reason] = name
  }
  return found
}

/** Returns the language of a report; `en` if it has none of the added columns. */
export function languageOf(header: readonly string[]): Language {
  return header.map(knownAs).findLast((known) => known !== undefined)?.language ?? 'en'
}
