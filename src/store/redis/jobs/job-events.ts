/** The record of events of jobs; see record.lua. */

import { setTimeout as sleep } from 'node:timers/promises'
import {
  EVENT_LIFE_MS,
  type EventEntry,
  eventsAfter,
  firstEvent,
  type IsLast,
  type JobEventStore,
  KEPT_EVENTS,
  packEvents,
  RECORDING_SECONDS,
  type RecordEffect,
  type RecordedEvent,
  type Recording,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { BlockingConnections, StopSignal } from '../server/blocking-connections.ts'
import { chunksOf } from '../server/chunks.ts'
import { type Server, StorePart } from '../server/server.ts'

/** The longest wait of one command: one of a server without the stream would not end earlier. */
const MAX_WAIT_MS = 2000
/** A later answer comes over a connection that was cut. */
const LATE_MS = 2500
/** The pause after a wait that failed. */
const ERROR_PAUSE_MS = 200

export class JobEvents extends StorePart implements JobEventStore {
  readonly #connections: BlockingConnections

  constructor(server: Server) {
    super(server)
    this.#connections = new BlockingConnections(server)
  }

  async record(keep: number | null, time: number): Promise<Recording> {
    const now = time - (await this.server.clockAhead())
    const args = [now, keep ?? '', KEPT_EVENTS, RECORDING_SECONDS, EVENT_LIFE_MS, firstEvent()]
    const [newest, confirmed] = (await this.server.run(lua.recordEvents, this.keys.recording, args)) as string[]
    return { newest: Number(newest), isConfirmed: confirmed === '1' }
  }

  async confirm(): Promise<number | null> {
    const newest = await this.server.run(lua.confirmEvents, this.keys.recording, [])
    return newest === null ? null : Number(newest)
  }

  async isRecording(): Promise<boolean> {
    const [key] = this.keys.recording as [string]
    return (await this.server.call((client) => client.exists(key))) === 1
  }

  async append(records: readonly RecordEffect[], now: number): Promise<void> {
    for (const some of chunksOf(records, ({ jid, about }) => jid.length + about.length)) {
      await this.server.run(lua.appendEvents, this.keys.recording, [now, some.length, packEvents(some)])
    }
  }

  async read(
    after: number,
    { limit, ms, signal, isLast }: { limit: number; ms: number; signal: AbortSignal; isLast?: IsLast | undefined },
  ): Promise<RecordedEvent[] | null> {
    const end = performance.now() + ms
    for (;;) {
      const answer = await this.server.run(lua.readEvents, this.keys.recording, [after, limit + 1])
      if (answer === null) return null
      const [newest, entries] = answer as [string, [id: string, fields: string[]][]]
      const read = entries.map(([id, [, json = '[]']]): EventEntry => [Number.parseInt(id, 10), groupsOf(json)])
      const events = eventsAfter(after, read, Number(newest), isLast)
      const left = end - performance.now()
      if (events?.length !== 0 || left <= 0 || signal.aborted || this.server.isClosed) return events
      await this.#wait(after, Math.ceil(Math.min(left, MAX_WAIT_MS)), signal)
    }
  }

  /** Waits until the stream may have an entry after `after`. */
  async #wait(after: number, ms: number, signal: AbortSignal): Promise<void> {
    const [, events] = this.keys.recording as [string, string]
    const stopSignal = new StopSignal()
    const stop = () => stopSignal.stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await this.#connections.run(stopSignal, ms + LATE_MS, (connection) =>
        connection.call((client) => client.xread('COUNT', 1, 'BLOCK', ms, 'STREAMS', events, `${after}-0`)),
      )
    } catch {
      // The next read gets the error, unless the stream was deleted meanwhile.
      await sleep(ERROR_PAUSE_MS, undefined, { signal }).catch(() => {})
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

/** Returns the groups of an entry. One that can't be read has none: its events are missing, as after a trim. */
function groupsOf(json: string): unknown[] {
  try {
    const groups: unknown = JSON.parse(json)
    return Array.isArray(groups) ? groups : []
  } catch {
    return []
  }
}
