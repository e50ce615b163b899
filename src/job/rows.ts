/** Rows of a task that are one job: what its text looks like, and what is one row's of it. */

import { editMembers, elementTexts, memberText } from './json.ts'
import { completeRow, editPayload, type Payload, splitTaskJid, taskJid } from './payload.ts'

/** The jids of the task's rows that a job is; of any other job its own. */
export function jidsOf({ jid, hk_rows }: Payload): string[] {
  return hk_rows ? hk_rows.map((index) => taskJid(splitTaskJid(jid).id, index)) : [jid]
}

/** Whether all rows that a job is are among some. */
export function allAmong(payload: Payload, jids: ReadonlySet<string>): boolean {
  return jidsOf(payload).every((jid) => jids.has(jid))
}

/** What a handler returned, as far as it is one row's: of a list of rows it is a list, with a value for each. */
export function resultOfRow({ hk_list, hk_rows }: Payload, result: unknown, row: number): unknown {
  if (!hk_list) return result
  return Array.isArray(result) && result.length === (hk_rows?.length ?? 1) ? result[row] : undefined
}

/** The most bytes (UTF-8) of the arguments of rows that are one job; a longer one is a job alone. In lua/waiting.lua, too. */
export const MOST_ROWS_BYTES = 1_000_000

/** The bare arguments of a job that gets its rows as one list: of each row its bare arguments, one value. */
function argsOfRows(rows: readonly string[]): string {
  return `[[${rows.map((args) => args.slice(1, -1)).join(',')}]]`
}

/** What is one job for several rows of a task, of the same run, and with bare arguments. See `completeRow`. */
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

/** The rows that a job is, each as a job of its own; undefined when it is one, or its arguments are not what we write. */
export function splitRows(text: string, payload: Payload): { text: string; payload: Payload }[] | undefined {
  const list = listOf(text, payload)
  if (!list) return undefined
  const { hk_rows: _, ...rest } = payload
  // The long text is gone through once.
  const bare = editPayload(text, { args: [], hk_rows: undefined })
  return jidsOf(payload).map((jid, i) => {
    const own = editMembers(bare, { jid: JSON.stringify(jid), args: argsText([list.texts[i] as string], list.rest) })
    return { text: own, payload: { ...rest, jid, args: [[list.values[i]], ...payload.args.slice(1)] } }
  })
}

/** Some of the rows that a job is, by their places, as one job. */
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

/** The values of the rows, also as they were written, and what stands behind their list. */
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
