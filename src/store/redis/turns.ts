/** Take and settle by ticket: one script for a whole turn, over one connection, in order. */

import { splitTaskJid } from '../../job/payload.ts'
import type {
  EventEffect,
  FetchedJob,
  SettleAndFetch,
  SettleAndFetchAnswer,
  SettleAnswer,
  Settlement,
  StartAnswer,
} from '../contract.ts'
import { tasksOf } from './call.ts'
import type { Connection, Reply } from './connection.ts'
import { lua } from './lua.generated.ts'
import { drawTickets, type Held, type Owner } from './owner.ts'
import type { Pauses } from './pauses.ts'
import { pieces } from './queues.ts'
import type { Server } from './server.ts'

/** One script does no more. */
const MOST_ITEMS = 200
const MOST_BYTES = 1_000_000
const MOST_QUEUES = 50

/** A part of a turn that goes out in one call. */
interface Part {
  queues: readonly string[]
  started: number[]
  /** Places in the turn's settlements. */
  settlements: number[]
  n: number
  /** There is more, which was too large for one answer. */
  more?: boolean
  /** How many of the queues, from the first, are taken from. */
  asked: number
}

/** An end of which an answer is awaited. */
interface End {
  at: number
  held: Held
  settlement: Settlement
  index: number
}

export class Turns {
  readonly #server: Server
  readonly #connection: () => Connection
  readonly #pauses: Pauses

  constructor(server: Server, connection: () => Connection, pauses: Pauses) {
    this.#server = server
    this.#connection = connection
    this.#pauses = pauses
  }

  /** `owner` is entered in all queues of the turn. */
  async run(owner: Owner, turn: SettleAndFetch): Promise<SettleAndFetchAnswer> {
    const { fetch: take, settlements, started } = turn
    const connection = this.#connection()
    if (!connection.isReady) await connection.ready()
    const branches = settlements.flatMap(({ also }) => also ?? [])
    const effects = [...started, ...settlements, ...branches].flatMap((one) => one.effects ?? [])
    if (effects.length > 0) await this.#server.learn(tasksOf(effects))
    const answer: SettleAndFetchAnswer = {
      fenced: false,
      started: started.map(() => 'ok'),
      settled: settlements.map(() => 'fenced'),
      fetched: owner.handOver(take.queues, take.n),
      cancellations: 0,
    }
    try {
      for (const part of this.#parts(owner, turn, take.n - answer.fetched.length)) {
        if (await this.#call(connection, owner, turn, part, answer)) continue
        owner.forget()
        return {
          fenced: true,
          started: started.map((): StartAnswer => 'superseded'),
          settled: settlements.map((): SettleAnswer => 'fenced'),
          fetched: [],
          cancellations: 0,
        }
      }
    } catch (thrown) {
      this.#untold(owner, turn, answer)
      throw thrown
    }
    owner.version = answer.cancellations
    const unsafe = answer.fetched.filter(({ text }) => this.#server.texts.mayDiffer(text))
    if (unsafe.length > 0) await this.#readBytes(connection, owner, unsafe)
    return answer
  }

  /**
   * Reads the exact bytes of fetched jobs that may not be valid UTF-8, so that they can be put back: the answer itself
   * is text.
   */
  async #readBytes(connection: Connection, owner: Owner, taken: readonly FetchedJob[]): Promise<void> {
    const { keys, texts } = this.#server
    for (const { queue, ticket } of taken) {
      if (owner.held.get(ticket)?.arrival !== undefined) continue
      try {
        const bytes = await connection.call((client) => client.hgetBuffer(keys.working(queue, owner.name), ticket))
        if (bytes) texts.read(bytes)
      } catch {
        // The jobs are fetched already, so they must reach their worker even without these bytes.
        return
      }
    }
  }

  /** A later part failed: nobody hears what the earlier ones answered, and all of it will be asked again. */
  #untold(owner: Owner, { settlements }: SettleAndFetch, { settled, fetched: taken }: SettleAndFetchAnswer): void {
    owner.found.unshift(...taken)
    for (const [at, { queue, ticket }] of settlements.entries()) {
      if (settled[at] === 'ok') owner.held.set(ticket, { queue, unsure: true })
    }
  }

  /** Cuts a turn into calls of bounded work; the last ones take. */
  *#parts(owner: Owner, { started, settlements, fetch: take }: SettleAndFetch, n: number): Generator<Part> {
    const lengthOf = (i: number) => weightOf(settlements[i] as Settlement)
    const ends = [...pieces([...settlements.keys()], lengthOf, MOST_ITEMS)]
    const begun = [...started.keys()].filter((i) => started[i]?.effects.length)
    const beginnings = [...pieces(begun, () => 0, MOST_ITEMS)]
    const next = () => ({ started: beginnings.shift() ?? [], settlements: ends.shift() ?? [] })
    // An owner that asks for nothing still hears whether it may.
    const [any = ''] = owner.queues
    while (Math.max(beginnings.length, ends.length) > 1) yield { queues: [any], ...next(), n: 0, asked: 0 }
    if (n <= 0 || take.queues.length === 0) {
      yield { queues: [any], ...next(), n: 0, asked: 0 }
      return
    }
    const queues = [...new Set(take.queues)]
    let left = n
    for (let from = 0; from < queues.length && left > 0; from += MOST_QUEUES) {
      for (let full = true; full && left > 0; ) {
        const some = queues.slice(from, from + MOST_QUEUES)
        const part: Part = { queues: some, ...next(), n: Math.min(left, MOST_ITEMS), asked: some.length }
        const wanted = part.n
        yield part
        left -= wanted - part.n
        full = part.n === 0 || part.more === true
      }
    }
  }

  /** False: fenced. `part.n` is reduced by what was taken. */
  async #call(
    connection: Connection,
    owner: Owner,
    turn: SettleAndFetch,
    part: Part,
    answer: SettleAndFetchAnswer,
  ): Promise<boolean> {
    const { keys, texts } = this.#server
    const day = new Date(turn.now).toISOString().slice(0, 10)
    const queues = [...part.queues]
    const indexes = new Map(queues.map((queue, i) => [queue, i]))
    const indexOf = (queue: string) => {
      let index = indexes.get(queue)
      if (index === undefined) {
        index = queues.push(queue) - 1
        indexes.set(queue, index)
      }
      return index
    }

    // What the owner never had, or was settled before in this very call, needs no asking.
    const seen = new Set<string>()
    const done = new Map<number, string[]>()
    const doneAt = new Map<number, number[]>()
    const rows = new Map<string, { index: number; ends: End[]; effects: EventEffect[] }>()
    const others: End[] = []
    for (const at of part.settlements) {
      const settlement = turn.settlements[at] as Settlement
      const { ticket } = settlement
      const held = owner.held.get(ticket)
      if (!held || seen.has(ticket)) continue
      seen.add(ticket)
      const index = indexOf(held.queue)
      const isCertain = held.arrival === undefined && !held.unsure
      const row = isCertain ? finishedRow(settlement) : undefined
      if (row && this.#server.placeOf(splitTaskJid(row.jid).id)) {
        const key = `${index} ${splitTaskJid(row.jid).id} ${row.run} ${row.attempt}`
        const group = rows.get(key) ?? { index, ends: [], effects: [] }
        rows.set(key, group)
        group.ends.push({ at, held, settlement, index })
        group.effects.push(row)
      } else if (isCertain && isPlain(settlement)) {
        const tickets = done.get(index)
        if (tickets) {
          tickets.push(ticket)
          doneAt.get(index)?.push(at)
        } else {
          done.set(index, [ticket])
          doneAt.set(index, [at])
        }
      } else {
        others.push({ at, held, settlement, index })
      }
    }

    const first = drawTickets(part.n)
    const range = [first, first + part.n - 1] as const
    const call = this.#server.call()
    // The queues' keys come first, each with its five, at known places.
    call.keys.push(
      keys.processed(queues[0] ?? ''),
      keys.failed(queues[0] ?? ''),
      keys.processed(queues[0] ?? '', day),
      keys.failed(queues[0] ?? '', day),
      keys.queues,
      keys.paused,
      keys.marks(''),
    )
    for (const queue of queues) {
      call.keys.push(
        keys.queue(queue),
        keys.working(queue, owner.name),
        keys.arriving(queue, owner.name),
        keys.leases,
        keys.settled(queue, owner.name),
      )
    }
    call.add(turn.now, owner.name, keys.wake, first, part.n, MOST_BYTES, queues.length, part.asked)
    const asked = part.queues.slice(0, part.asked)
    call.add(...asked)
    const marks = queues.map((queue) => owner.takeMarks(queue, MOST_ITEMS))
    for (const i of queues.keys()) {
      const tickets = done.get(i) ?? []
      call.add(tickets.length, ...tickets, marks[i]?.length ?? 0, ...(marks[i] ?? []))
    }
    call.add(part.started.length)
    for (const at of part.started) call.effects(turn.started[at]?.effects ?? [])
    const groups = [...rows.values()]
    call.add(groups.length)
    for (const { index, ends, effects } of groups) {
      call.add(index + 1, ends.length, ...ends.map(({ settlement }) => settlement.ticket))
      call.done(effects)
    }
    call.add(others.length)
    for (const { held, settlement, index } of others) {
      const source = held.arrival === undefined ? 'ticket' : 'arrival'
      call.add(index + 1, source, settlement.ticket, texts.write(held.arrival ?? ''))
      call.add(settlement.processed, settlement.failed)
      call.item(settlement.move, held.queue, settlement.effects)
      call.branches(settlement.also, held.queue)
    }

    owner.underWay.add(range)
    const told = [...groups.flatMap(({ ends }) => ends), ...others]
    const wasUnsure = told.map(({ held }) => held.unsure)
    for (const ticket of seen) (owner.held.get(ticket) as Held).unsure = true
    let reply: Reply
    try {
      reply = await connection.run(lua.turn, call.keys, call.args)
    } catch (thrown) {
      for (const [i, queue] of queues.entries()) owner.mark(queue, ...(marks[i] ?? []))
      throw thrown
    } finally {
      // From here to the end nothing is awaited: what was under way is known before anybody looks.
      owner.underWay.delete(range)
    }
    if (reply === 'fenced') return false

    const [began, ended, missing, counts, wrongs, more, version, paused, ...taken] = reply as string[]
    answer.cancellations = Number(version) || 0
    if (part.n > 0) for (const [i, queue] of asked.entries()) this.#pauses.tell(queue, paused?.[i] === '1')
    for (const [i, at] of part.started.entries()) if (began?.[i] === 's') answer.started[at] = 'superseded'
    for (const [index, places] of doneAt) {
      for (const at of places) answer.settled[at] = 'ok'
      for (const ticket of done.get(index) ?? []) owner.held.delete(ticket)
    }
    for (const [i, { at, held, settlement }] of told.entries()) {
      const { ticket } = settlement
      const letter = ended?.[i]
      if (letter === 'e') {
        held.unsure = wasUnsure[i] ?? false
        answer.settled[at] = 'error'
        continue
      }
      owner.held.delete(ticket)
      // Told before, not answered, and gone: it was applied then.
      answer.settled[at] = letter === 'o' || wasUnsure[i] ? 'ok' : 'fenced'
      // Asked once and answered: nobody asks again. Of one that was asked before, a request may still be on its way.
      if (letter === 'o' && held.arrival !== undefined && !wasUnsure[i]) owner.mark(held.queue, ticket)
    }
    let next = first
    let place = 0
    for (const [i, count] of (counts ?? '').split(',').entries()) {
      for (let k = 0; k < Number(count); k++) {
        const ticket = String(next++)
        const queue = queues[i] as string
        owner.held.set(ticket, { queue, unsure: false })
        answer.fetched.push({ queue, ticket, text: taken[place++] as string })
      }
    }
    part.n -= taken.length
    part.more = more === 'more'
    const lost = (missing ?? '').split(',').reduce((sum, n) => sum + Number(n), 0)
    const problems = [
      ...(wrongs ? [wrongs] : []),
      ...(lost > 0 ? [`${lost} jobs that ended were not there any more: has the server lost data?`] : []),
    ]
    if (problems.length > 0) answer.problem = problems.join('\n')
    return true
  }
}

/** Nothing but done. */
function isPlain(settlement: Settlement): boolean {
  return isDone(settlement) && !settlement.effects?.length
}

/** What becomes of a row that is done, if nothing else happens and nothing is said. */
function finishedRow(settlement: Settlement): EventEffect | undefined {
  if (!isDone(settlement) || settlement.effects?.length !== 1) return undefined
  const [effect] = settlement.effects
  if (effect?.kind !== 'event' || effect.status !== 'finished' || effect.window !== 'leave') return undefined
  return effect.code || effect.result || effect.messages?.length ? undefined : effect
}

function isDone({ move, also, processed, failed }: Settlement): boolean {
  return move === null && !also?.length && processed === 1 && failed === 0
}

/** One that concerns many rows counts as many. */
const CHARACTERS_OF_AN_EFFECT = MOST_BYTES / MOST_ITEMS

function weightOf({ move, effects = [], also = [] }: Settlement): number {
  const texts = also.reduce((sum, { to }) => sum + to.text.length, move?.text.length ?? 0)
  return texts + Math.max(effects.length + also.length - 1, 0) * CHARACTERS_OF_AN_EFFECT
}
