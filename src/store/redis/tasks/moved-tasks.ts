/** Tasks that go to another store, as Redis has them: their headers, records and backlog entries. See ledger.lua. */

import {
  EVENT_STATUSES,
  type EventStatus,
  type Message,
  type MovedBacklogRow,
  type MovedRow,
  type TaskProgress,
  type TaskSpec,
} from '../../contract.ts'
import { STATUS_NUMBER } from '../server/call.ts'
import { headerOf, LOST_AFTER_MS, readMaxFailures } from './record.ts'

export const RECORD_BYTES = 20
/** As in closing.lua. */
const KEEP_MS = 2_592_000_000
const BACKLOG = 0
const ELSEWHERE = 2
/** The row was never queued. */
const UNTOUCHED = 3
const LOCATION = { new: UNTOUCHED, backlog: BACKLOG, elsewhere: ELSEWHERE } as const
const DEFERRAL = { r: 'begun', p: 'parked', e: 'ended' } as const
const LETTER = { begun: 'r', parked: 'p', ended: 'e' } as const
/** A hash with a long value is stored as a hash table; see task-add-rows.lua. */
const MANY_ROWS = 50
const LONG = '-'.repeat(65)

/** The numbers of a row that its record has. */
export interface RowRecord {
  status: EventStatus
  location: MovedRow['location']
  run: number
  step: number
  startedAt: number | null
  finishedAt: number | null
  number: number | null
}

type Header = Record<string, string>

export function readHead(header: Header): { spec: TaskSpec; progress: TaskProgress } {
  const { id = '', name = '', job = '', queue = '', template = '', meta = '', producer = '' } = header
  const number = (field: string) => Number(header[field] ?? 0)
  const time = (field: string) => (header[field] ? Number(header[field]) : null)
  const callback = (which: string) => {
    const text = header[`${which}Template`]
    return text === undefined ? null : { queue: header[`${which}Queue`] ?? '', template: text }
  }
  const state = header.state === 'done' || header.state === 'cancelled' ? header.state : 'open'
  const isUntouched = header.single !== undefined && !header.progressAt
  const broken = new Set((header.broken ?? '').split('\n').filter(Boolean))
  const spec: TaskSpec = {
    id,
    name,
    job,
    queue,
    template,
    window: number('window'),
    ...(header.rowsPerJob ? { rowsPerJob: number('rowsPerJob') } : {}),
    keepArgs: (header.keepArgs ?? 'rejected') as TaskSpec['keepArgs'],
    meta,
    ...(header.labels ? { labels: JSON.parse(header.labels) as Record<string, string> } : {}),
    createdAt: number('createdAt'),
    producer,
    maxFailures: readMaxFailures(header.maxFailures ?? ''),
    onMaxFailures: header.onMaxFailures === 'cancel' ? 'cancel' : 'pause',
    onDone: callback('done'),
    onFailure: callback('failure'),
    keep: Number(header.keep ?? KEEP_MS),
    lostAfter: Number(header.lostAfter ?? LOST_AFTER_MS),
    single: Boolean(header.single),
  }
  const progress: TaskProgress = {
    state,
    paused: Boolean(header.paused),
    reason: header.reason ? (JSON.parse(header.reason) as Message) : null,
    run: number('run'),
    runAt: time('runAt'),
    endedBefore: number('endedBefore'),
    doneRun: number('doneRun'),
    failedRun: number('failureRun'),
    mixed: Boolean(header.mixed),
    total: number('total'),
    next: number('next'),
    backlog: number('backlog'),
    deferred: number('deferred'),
    counts: Object.fromEntries(EVENT_STATUSES.map((status) => [status, number(status)])) as Record<EventStatus, number>,
    lastRow: header.lastRow || null,
    linkVersion: number('linkVersion'),
    progressAt: time('progressAt'),
    finishedAt: time('finishedAt'),
    dueAt: isUntouched && state === 'open' && number('score') > number('createdAt') ? number('score') : null,
    producers: Object.entries(header).flatMap(([field, value]) => {
      const [, name] = /^cursor:(.*)$/s.exec(field) ?? []
      if (name === undefined) return []
      const replaced = value.startsWith('x')
      const ended = broken.has(name) ? ('broken' as const) : ('ended' as const)
      return [
        { name, cursor: Number(replaced ? value.slice(1) : value), state: replaced ? ('replaced' as const) : ended },
      ]
    }),
  }
  return { spec, progress }
}

/** Returns fields and values by turns, and with them the fields of the rows that belong to every large task. */
export function writeHead(spec: TaskSpec, progress: TaskProgress): { header: (string | number)[]; rows: string[] } {
  const { id, createdAt, producer, keep = KEEP_MS } = spec
  const { state, paused, reason, runAt, lastRow, progressAt, finishedAt, dueAt, counts, mixed, producers } = progress
  const { run, endedBefore, doneRun, failedRun, total, next, backlog, deferred, linkVersion } = progress
  const score = state === 'open' ? (progressAt ?? dueAt ?? createdAt) : -((finishedAt ?? createdAt) + keep)
  const optional = { reason: reason && JSON.stringify(reason), runAt, lastRow, progressAt, finishedAt }
  const fields = {
    ...{ id, state, producer, createdAt, score, run, endedBefore, doneRun, total, next, backlog, deferred },
    ...{ failureRun: failedRun, inWindow: 0, producers: '' },
    ...counts,
    ...(paused ? { paused: 1 } : {}),
    ...(mixed ? { mixed: 1 } : {}),
    ...(linkVersion > 0 ? { linkVersion } : {}),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
    broken: producers.flatMap(({ name, state }) => (state === 'broken' ? [name] : [])).join('\n'),
    ...Object.fromEntries(
      producers.map(({ name, cursor, state }) => [`cursor:${name}`, state === 'replaced' ? `x${cursor}` : cursor]),
    ),
  }
  const header = [...headerOf(spec), ...Object.entries(fields).flat()] as (string | number)[]
  return { header, rows: total >= MANY_ROWS ? ['-', LONG] : [] }
}

export function readRecord(bytes: Buffer, at: number, createdAt: number): RowRecord {
  const flags = bytes.readUInt8(at)
  const time = (from: number) => {
    const since = bytes.readUIntLE(at + from, 5)
    return since === 0 ? null : createdAt + since - 1
  }
  const location = (flags >> 3) % 4
  const number = bytes.readUInt32LE(at + 16)
  return {
    status: EVENT_STATUSES[flags % 8] as EventStatus,
    location: location === UNTOUCHED ? 'new' : location === BACKLOG ? 'backlog' : 'elsewhere',
    run: bytes.readUIntLE(at + 1, 2),
    step: bytes.readUIntLE(at + 3, 3),
    startedAt: time(6),
    finishedAt: time(11),
    number: number === 0 ? null : number - 1,
  }
}

export function writeRecord(row: MovedRow, createdAt: number): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES)
  const has = (value: string | null, bit: number) => (value === null ? 0 : bit)
  const flags = STATUS_NUMBER[row.status] + 8 * LOCATION[row.location]
  const since = (at: number | null) => (at === null ? 0 : Math.max(at - createdAt, 0) + 1)
  bytes.writeUInt8(flags + has(row.code, 32) + has(row.result, 64) + has(row.source, 128), 0)
  bytes.writeUIntLE(row.run, 1, 2)
  bytes.writeUIntLE(row.step, 3, 3)
  bytes.writeUIntLE(since(row.startedAt), 6, 5)
  bytes.writeUIntLE(since(row.finishedAt), 11, 5)
  bytes.writeUInt32LE(row.number === null ? 0 : row.number + 1, 16)
  return bytes
}

/** The letters of all texts of a row; see ledger.lua. */
export const ROW_TEXTS = 'ascrmjdk'

/** Makes a row of its record and its texts, in the order of `ROW_TEXTS`. */
export function readRow(index: number, record: RowRecord, texts: readonly (string | null)[]): MovedRow {
  const [args = null, source = null, code = null, result = null, messages = null, job = null, deferral = null] = texts
  const added = texts[7] ?? null
  return {
    ...record,
    ...{ index, args, source, code, result, job },
    messages: (messages ?? '').split('\n').flatMap((line) => {
      if (line === '') return []
      const space = line.indexOf(' ')
      return [{ n: Number(line.slice(0, space)), message: JSON.parse(line.slice(space + 1)) as Message }]
    }),
    deferral: readDeferral(deferral),
    added: added === null ? null : Number(added),
  }
}

function readDeferral(text: string | null): MovedRow['deferral'] {
  const [run, attempt, ends, letter] = text?.split(' ') ?? []
  if (letter === undefined) return null
  const state = DEFERRAL[letter as keyof typeof DEFERRAL]
  return { run: Number(run), attempt: Number(attempt), state, ends: state === 'ended' ? null : Number(ends) || null }
}

/** Returns the fields of a row with their values by turns. The texts of a new row are in its backlog entry. */
export function writeFields(row: MovedRow): (string | number)[] {
  const { index, deferral, messages } = row
  const isNew = row.location === 'new'
  const fields = {
    a: isNew ? null : row.args,
    s: isNew ? null : row.source,
    c: row.code,
    r: row.result,
    m: messages.map(({ n, message }) => `${n} ${JSON.stringify(message)}`).join('\n') || null,
    j: row.job,
    d: deferral && [deferral.run, deferral.attempt, deferral.ends ?? 0, LETTER[deferral.state]].join(' '),
    k: row.added,
  }
  return Object.entries(fields).flatMap(([letter, value]) => (value === null ? [] : [letter + index, value]))
}

/** Returns the backlog entry of a row that was never queued. */
export function newEntry({ index, run, args, source }: MovedRow): string {
  const [text, beside] = [args ?? '[]', source ?? '']
  const length = beside === '' ? '' : ` ${Buffer.byteLength(text)}`
  return `${entryHead(index, run)}${length}\n${text}${beside}`
}

/** Returns the entry of a row that came back, or of one that was put back for another run. */
export function ownEntry({ index, run, text }: MovedBacklogRow, total: number): string {
  return text === null ? `${entryHead(index, run)}@${total}\n` : `${entryHead(index, run)}!\n${text}`
}

function entryHead(index: number, run: number): string {
  return run > 1 ? `${index}:${run}` : `${index}`
}

/** Reads an entry; undefined for a row that was never queued. */
export function readOwnEntry(entry: string): MovedBacklogRow | undefined {
  const [, index, run, kind] = /^(\d+):?(\d*)([!@])\d*\n/.exec(entry) ?? []
  if (kind === undefined) return undefined
  const text = kind === '!' ? entry.slice(entry.indexOf('\n') + 1) : null
  return { index: Number(index), run: Number(run) || 1, text }
}
