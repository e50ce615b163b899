import type { EventEffect, EventStatus, MaxFailures } from '#dist/store/contract.js'

/** A task's life as the contract has it, small enough to be seen to be right; task-life.ts compares every store with it. */

export interface Row {
  status: EventStatus
  run: number
  step: number
  /** Cancelled with its task: only another run brings it back. */
  closed: boolean
}

export type ProducerState = 'open' | 'ended' | 'broken' | 'replaced'

export interface Producer {
  state: ProducerState
  cursor: number
  /** It puts rows back: its death interrupts nothing. */
  retry: boolean
}

const isFinal = (status: EventStatus) => status !== 'enqueued' && status !== 'working'
const isRejected = (status: EventStatus) => status === 'failed' || status === 'error'

export class TaskLife {
  readonly rows: Row[] = []
  readonly producers = new Map<string, Producer>()
  readonly calls: string[] = []
  /** What a person or the tolerance wants; the rest of the state follows. */
  end: 'cancelling' | 'cancelled' | 'done' | null = null
  paused = false
  run = 1
  /** The latest run with a rejected row. */
  failedRun = 0
  tolerance: MaxFailures | null
  readonly onMaxFailures: 'pause' | 'cancel'

  constructor(tolerance: MaxFailures | null, onMaxFailures: 'pause' | 'cancel') {
    this.tolerance = tolerance
    this.onMaxFailures = onMaxFailures
  }

  get open(): number {
    return this.rows.filter(({ status }) => !isFinal(status)).length
  }

  get isAdding(): boolean {
    return [...this.producers.values()].some(({ state }) => state === 'open')
  }

  get isStopped(): boolean {
    return this.end === 'cancelling' || this.end === 'cancelled'
  }

  get hasEnded(): boolean {
    return this.end === 'done' || this.end === 'cancelled'
  }

  get state(): string {
    if (this.end) return this.end
    if (this.paused && (this.open > 0 || this.isAdding)) return 'paused'
    if (this.isAdding) return 'adding'
    if ([...this.producers.values()].some(({ state }) => state === 'broken')) return 'interrupted'
    return 'running'
  }

  /** After each step: what follows from what is. */
  settle(): void {
    if (this.end === 'cancelling' && this.open === 0) this.finish('cancelled')
    if (this.end === 'done' && (this.open > 0 || this.isAdding)) this.end = null
    if (this.state === 'running' && this.open === 0) this.finish('done')
  }

  add(rejected: boolean): void {
    this.rows.push({ status: rejected ? 'failed' : 'enqueued', run: this.run, step: 1, closed: false })
    if (rejected) this.reject(this.run)
  }

  change(index: number, effect: EventEffect): 'ok' | 'superseded' {
    const row = this.rows[index] as Row
    const step = effect.attempt * 2 + (effect.status === 'working' ? 0 : 1)
    if (effect.run < row.run || (effect.run === row.run && step < row.step)) return 'superseded'
    if (effect.run === row.run && row.closed) return 'superseded'
    const repeated = effect.run === row.run && step === row.step && effect.status === row.status
    const halted = effect.status === 'enqueued' || (effect.status === 'working' && !repeated)
    if (this.isStopped && halted) {
      if (isFinal(row.status)) return 'superseded'
      if (effect.status === 'enqueued') Object.assign(row, { run: effect.run, step })
      this.cancelRow(row)
      return 'superseded'
    }
    Object.assign(row, { status: effect.status, run: effect.run, step, closed: false })
    if (!repeated && isRejected(effect.status)) this.reject(effect.run)
    return 'ok'
  }

  cancelRow(row: Row): void {
    row.status = 'cancelled'
    row.closed = true
  }

  cancel(): void {
    this.end = 'cancelling'
    this.paused = false
    for (const producer of this.producers.values()) {
      if (producer.state === 'open' || producer.state === 'broken') producer.state = 'ended'
    }
  }

  startRun(producer: string): void {
    this.run++
    this.end = null
    this.producers.set(producer, { state: 'open', cursor: 0, retry: true })
  }

  /** True: the row is put back. */
  retry(index: number): boolean {
    const row = this.rows[index]
    if (!row || !isFinal(row.status) || row.status === 'finished' || row.run === this.run) return false
    Object.assign(row, { status: 'enqueued', run: this.run, step: 1, closed: false })
    return true
  }

  endAdding(producer: Producer, interrupted: boolean): void {
    if (producer.state === 'open') producer.state = interrupted && !producer.retry ? 'broken' : 'ended'
  }

  private reject(run: number): void {
    // A run calls no callback when a later run had a rejected row first.
    if (run > this.failedRun) this.call('fe', run)
    this.failedRun = Math.max(this.failedRun, run)
    const bad = this.rows.filter(({ status }) => isRejected(status)).length
    if (!this.tolerance || !('rows' in this.tolerance) || bad <= this.tolerance.rows) return
    if (this.paused || this.end) return
    if (this.onMaxFailures === 'pause') this.paused = true
    else this.cancel()
  }

  private finish(end: 'done' | 'cancelled'): void {
    this.end = end
    this.paused = false
    this.call('ff', this.run)
  }

  /** Each once in a run. */
  private call(kind: 'fe' | 'ff', run: number): void {
    const call = `${kind}${run.toString(16).padStart(6, '0')}`
    if (!this.calls.includes(call)) this.calls.push(call)
  }
}
