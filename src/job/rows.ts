/** Jobs with several rows of a task: their text, and the part of each row in it. */

import { editMembers, elementTexts, memberText } from './json.ts'
import { completeRow, editPayload, type Payload, splitTaskJid, taskJid } from './payload.ts'

/** Returns the jids of the rows of a job; its own jid for a job without rows. */
export function jidsOf({ jid, hk_rows }: Payload): string[] {
  return hk_rows ? hk_rows.map((index) => taskJid(splitTaskJid(jid).id, index)) : [jid]
}

/** Returns the effects that remove the cancellations of these jobs. A job of another program may have no jid, and then has none. */
export function clearCancellations(jids: readonly string[], at: number) {
  const named = jids.filter((jid) => typeof jid === 'string')
  return named.map((jid) => ({ kind: 'clear-cancellation', jid, at, dropped: false }) as const)
}

/** Returns whether all rows of a job are in a set. */
export function allAmong(payload: Payload, jids: ReadonlySet<string>): boolean {
  return jidsOf(payload).every((jid) => jids.has(jid))
}

/** Returns the part of a result that belongs to one row: a handler of several rows returns a list with a value for each. */
export function resultOfRow({ hk_list, hk_rows }: Payload, result: unknown, row: number): unknown {
  if (!hk_list) return result
  return Array.isArray(result) && result.length === (hk_rows?.length ?? 1) ? result[row] : undefined
}

/**
 * The arguments of the rows of one job have at most this many bytes (UTF-8); a longer row is a job alone. MOST_GROUPED of
 * backlog.lua is the same number.
 */
export const MOST_ROWS_BYTES = 1_000_000

/** Returns the arguments of a job that gets its rows as one list: each row has one argument. */
function argsOfRows(rows: readonly string[]): string {
  return `[[${rows.map((args) => args.slice(1, -1)).join(',')}]]`
}

/** Returns the text of one job for several rows of the same run, with bare arguments. See `completeRow`. */
export function completeRows(group: {
  template: string
  rows: readonly { index: number; args: string }[]
  task: string
  run: number
  now: number
}): string {
  const { rows, template, task, run, now } = group
  const [{ index } = { index: 0 }] = rows
  const args = argsOfRows(rows.map((row) => row.args))
  const indexes = rows.length > 1 ? `,"hk_rows":[${rows.map((row) => row.index)}]` : ''
  return completeRow({ template, args: args + indexes, task, index, run, now })
}

/** Returns each row of a job as a job of its own; undefined for a job with one row, or with arguments of another form. */
export function splitRows(text: string, payload: Payload): { text: string; payload: Payload }[] | undefined {
  const list = listOf(text, payload)
  if (!list) return undefined
  const { hk_rows: _, ...rest } = payload
  // The long text is parsed once.
  const bare = editPayload(text, { args: [], hk_rows: undefined })
  return jidsOf(payload).map((jid, i) => {
    const own = editMembers(bare, { jid: JSON.stringify(jid), args: argsText([list.texts[i] as string], list.rest) })
    return { text: own, payload: { ...rest, jid, args: [[list.values[i]], ...payload.args.slice(1)] } }
  })
}

/** Returns the text of one job with some of the rows, by their positions in the job. */
export function someRows(text: string, payload: Payload, places: readonly number[]): string {
  const list = listOf(text, payload)
  const { hk_rows = [] } = payload
  if (!list) return text
  const indexes = places.map((place) => hk_rows[place] as number)
  const jid = taskJid(splitTaskJid(payload.jid).id, indexes[0] as number)
  const texts = places.map((place) => list.texts[place] as string)
  return editMembers(text, {
    jid: JSON.stringify(jid),
    args: argsText(texts, list.rest),
    hk_rows: indexes.length > 1 ? `[${indexes}]` : undefined,
  })
}

/** The values of the rows, parsed and as text, and the text after their list. */
function listOf(text: string, { args, hk_rows }: Payload) {
  const values = args[0]
  if (!hk_rows || !Array.isArray(values) || values.length !== hk_rows.length) return undefined
  const [first = '[]', ...rest] = elementTexts(memberText(text, 'args') ?? '[]')
  const texts = elementTexts(first)
  return texts.length === values.length ? { values: values as unknown[], texts, rest } : undefined
}

function argsText(rows: readonly string[], rest: readonly string[]): string {
  return `[${[`[${rows.join(',')}]`, ...rest].join(',')}]`
}
