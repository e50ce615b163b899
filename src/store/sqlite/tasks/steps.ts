/**
 * Rows on the plain way, from enqueued over working to finished: many of them take their step in one statement, and none
 * of them is read. Whatever is not as it is expected is left to the ledger, which looks at each.
 */

import { splitTaskJid } from '../../../job/payload.ts'
import type { Effect, EventEffect } from '../../contract.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'
import type { Book } from './book.ts'
import { isDropped, isStopped } from './row.ts'

/** Rows that are further apart are changed by statements of their own. */
const FAR = 64

interface Step {
  index: number
  effect: EventEffect
}

interface Way {
  book: Book
  steps: Step[]
}

/** Answers the changes that are made by now, of those of one operation; the others are to be applied after them. */
export function takeSteps(
  db: Database,
  bookOf: (id: string) => Book | undefined,
  effects: readonly Effect[],
  now: number,
): ReadonlySet<Effect> {
  const taken = new Set<Effect>()
  for (const { book, steps } of waysOf(effects, bookOf)) {
    for (const near of neighbours(steps)) {
      if (!change(db, book, near, now)) continue
      for (const { effect } of near) taken.add(effect)
    }
  }
  return taken
}

/** Steps of the same kind, of rows of the same task that nothing else is said of. */
function waysOf(effects: readonly Effect[], bookOf: (id: string) => Book | undefined): Iterable<Way> {
  const told = new Set<string>()
  const twice = new Set<string>()
  for (const effect of effects) {
    if (effect.kind !== 'event') continue
    if (told.has(effect.jid)) twice.add(effect.jid)
    told.add(effect.jid)
  }
  const ways = new Map<string, Way>()
  for (const effect of effects) {
    if (!isPlain(effect) || twice.has(effect.jid)) continue
    const { id, index } = splitTaskJid(effect.jid)
    const book = bookOf(id)
    // What is read already may have changed, and is not written yet.
    if (!book || book.events.has(index) || (effect.status === 'working' && isStopped(book.task))) continue
    const kind = `${effect.status} ${id} ${effect.run} ${effect.attempt}`
    const way = ways.get(kind)
    if (way) way.steps.push({ index, effect })
    else ways.set(kind, { book, steps: [{ index, effect }] })
  }
  return ways.values()
}

function isPlain(effect: Effect): effect is EventEffect {
  if (effect.kind !== 'event' || effect.messages?.length || effect.code !== undefined) return false
  return effect.status === 'working'
    ? effect.window === 'keep'
    : effect.status === 'finished' && effect.window === 'leave'
}

function* neighbours(steps: Step[]): Generator<Step[]> {
  steps.sort((a, b) => a.index - b.index)
  let from = 0
  for (let i = 1; i <= steps.length; i++) {
    const next = steps[i]
    if (next && next.index - (steps[i - 1] as Step).index <= FAR) continue
    yield steps.slice(from, i)
    from = i
  }
}

/** False: one of the rows is not where this step begins, and nothing was changed. */
function change(db: Database, { task }: Book, steps: readonly Step[], now: number): boolean {
  const [{ index: first, effect }] = steps as [Step]
  const last = (steps.at(-1) as Step).index
  const { run, attempt, status } = effect
  const of = (value: (effect: EventEffect) => unknown) => {
    const list: unknown[] = Array(last - first + 1).fill(null)
    for (const step of steps) list[step.index - first] = value(step.effect)
    return JSON.stringify(list)
  }
  const at = of((one) => one.at)
  const step = attempt * 2
  const found = db.first<{ n: number; working: number; placed: number }>(
    ...([sql.event.plain, task.key, first, last, run, step - 1, step, task.next, at] as const),
  )
  if (found?.n !== steps.length) return false
  const { n, working, placed } = found
  if (status === 'working') {
    if (working > 0) return false
    db.run(sql.event.begin, task.key, first, last, step, at)
    task.working += n
  } else {
    const startedAt = of((one) => one.startedAt)
    const results = steps.some((one) => one.effect.result !== undefined) ? of((one) => one.result) : '[]'
    const drop = isDropped(task, 'finished') ? 1 : 0
    db.run(sql.event.finish, task.key, first, last, step + 1, at, startedAt, results, drop)
    task.finished += n
    task.working -= working
    task.placed -= placed
  }
  task.enqueued -= n - working
  task.progress_at = now
  return true
}
