/** Shows a task while it runs: a live bar on a terminal, else one line a second. */

import { styleText } from 'node:util'
import type { SingleBar } from 'cli-progress'
import type { Task, TaskStatus } from '../index.ts'
import { endedOf } from '../tasks/task.ts'
import { io } from './io.ts'
import { count, duration, plain, plural, rate } from './output.ts'

const STALL_SECONDS = 10
const WIDEST_BAR = 40
const NARROWEST_BAR = 8

export interface WatchOptions {
  /** Stream to write to. Default: standard error, because standard output is for results. */
  out?: NodeJS.WriteStream
  /** Text before the bar, and before each line. */
  title?: string
  /** Stops watching; the task continues. */
  signal?: AbortSignal
}

/**
 * Shows a task until it has ended, or until it has paused itself and none of its rows runs. Returns its status.
 * @throws UNKNOWN_TASK; the reason of `signal` when it aborts
 */
export async function watchTask(task: Task, options: WatchOptions = {}): Promise<TaskStatus> {
  const { out = io().stderr, title, signal } = options
  const live = out.isTTY && io().env.TERM !== 'dumb'
  // Most commands draw no bar, so its library is loaded here.
  const view = live ? barView(out, title, (await import('cli-progress')).SingleBar) : lineView(out, title)
  const pace = new Pace()
  const still = new AbortController()
  let last: TaskStatus | undefined
  try {
    const ended = await task
      .wait({
        signal: AbortSignal.any([still.signal, ...(signal ? [signal] : [])]),
        every: live ? 100 : 200,
        onProgress: (status) => {
          const now = Date.now()
          pace.addSample(endedOf(status.counts), now)
          if (isSelfPaused(status)) {
            last = status
            still.abort()
          } else {
            view.show(status, pace, now)
          }
        },
      })
      .catch((thrown) => {
        if (!last || signal?.aborted) throw thrown
        return last
      })
    view.end(ended)
    return ended
  } finally {
    view.close()
  }
}

/** Whether the task has paused itself and none of its rows is queued or running. */
export function isSelfPaused({ state, reason, counts, backlog, retrying }: TaskStatus): boolean {
  return state === 'paused' && reason !== undefined && counts.working === 0 && counts.enqueued === backlog + retrying
}

interface View {
  show(status: TaskStatus, pace: Pace, now: number): void
  /** Shows how the task ended. */
  end(status: TaskStatus): void
  close(): void
}

/** Writes `3,400 of 10,000 (34%) · 1,200/s · 5 s left · 71 rejected` once a second, every 10 s while no row ends. */
function lineView(out: NodeJS.WriteStream, title: string | undefined): View {
  let next: number | undefined
  const write = (status: TaskStatus, texts: string[]) =>
    out.write(`${title ? `${title}: ` : ''}${[amount(status), ...texts].join(' · ')}\n`)
  return {
    show(status, pace, now) {
      next ??= now + 1000
      if (now < next) return
      next = now + (pace.idleSeconds(now) >= STALL_SECONDS ? 10_000 : 1000)
      write(status, figures(status, pace, now))
    },
    end: (status) => void write(status, lastFigures(status)),
    close() {},
  }
}

/** Data of one drawing of the bar. */
interface Drawn {
  status: TaskStatus
  figures: string[]
}

function barView(out: NodeJS.WriteStream, title: string | undefined, Bar: typeof SingleBar): View {
  const head = title ? `${title} ` : ''
  const bar = new Bar({
    stream: withoutCursorMemory(out),
    fps: 10,
    format: (_options, { progress }, drawn: Partial<Drawn>) => barText(out, head, progress, drawn),
  })
  const restore = () => bar.stop()
  let isStarted = false
  const draw = (drawn: Drawn) => {
    // An empty task is a full bar.
    const total = Math.max(drawn.status.total, 1)
    const ended = drawn.status.total === 0 ? 1 : endedOf(drawn.status.counts)
    bar.setTotal(total)
    if (isStarted) {
      bar.update(ended, drawn)
      return
    }
    isStarted = true
    // The bar turns line wrapping off; an exiting process must turn it on again.
    process.once('exit', restore)
    bar.start(total, ended, drawn)
  }
  return {
    show: (status, pace, now) => draw({ status, figures: figures(status, pace, now) }),
    end: (status) => draw({ status, figures: lastFigures(status) }),
    close() {
      process.off('exit', restore)
      bar.stop()
    },
  }
}

function barText(
  out: NodeJS.WriteStream,
  head: string,
  progress: number,
  { status, figures = [] }: Partial<Drawn>,
): string {
  if (!status) return ''
  const paint = (colour: 'red' | 'yellow' | 'green' | 'dim', text: string) => styleText(colour, text, { stream: out })
  const coloured = (part: string) => {
    if (part.endsWith(' rejected')) return paint('red', part)
    return part.startsWith('no row for') || part.startsWith('paused') ? paint('yellow', part) : part
  }
  const reading = status.state === 'adding'
  const percent = reading ? '' : `${Math.floor(status.percent)}%`.padStart(4)
  const rest = [reading ? amount(status) : done(status), ...figures]
  const free = (out.columns || 80) - `${head}${percent}  ${rest.join(' · ')}`.length - 1
  const size = Math.min(free, WIDEST_BAR)
  const text = rest.map(coloured).join(' · ')
  if (size < NARROWEST_BAR) return `${head}${percent} ${text}`.trim()
  // While rows are added, the share would move back and forth.
  const full = reading ? 0 : Math.min(Math.floor(progress * size), size)
  const colour = status.counts.failed + status.counts.error > 0 ? 'yellow' : 'green'
  return `${head}${paint(colour, '█'.repeat(full))}${paint('dim', '░'.repeat(size - full))}${percent}  ${text}`
}

/**
 * The bar's library saves the cursor at its start and restores it at its end. That would write into log lines that came
 * in between, so those two escape codes are dropped.
 */
function withoutCursorMemory(out: NodeJS.WriteStream): NodeJS.WritableStream {
  return Object.create(out, {
    write: { value: (text: string) => text === '\x1B7' || text === '\x1B8' || out.write(text) },
  }) as NodeJS.WritableStream
}

function done(status: TaskStatus): string {
  return `${count(endedOf(status.counts))} of ${count(status.total)}`
}

/** Shows no percentage while rows are added, because it would mislead. */
function amount(status: TaskStatus): string {
  return `${done(status)} (${status.state === 'adding' ? 'still reading' : `${Math.floor(status.percent)}%`})`
}

function figures(status: TaskStatus, pace: Pace, now: number): string[] {
  const texts: string[] = []
  const idle = pace.idleSeconds(now)
  const { perSecond } = pace
  // The rate says nothing about rows that wait for a retry.
  const left = status.total - endedOf(status.counts) - status.retrying
  if (status.state === 'paused' || status.state === 'cancelling') texts.push(stopped(status))
  if (status.state === 'interrupted') texts.push('reading was interrupted')
  if (left > 0 && idle >= STALL_SECONDS) texts.push(`no row for ${duration(Math.floor(idle))}`)
  else if (perSecond !== undefined) {
    texts.push(rate(perSecond))
    if (perSecond > 0 && left > 0 && status.state === 'running') {
      texts.push(`${duration(Math.ceil(left / perSecond))} left`)
    }
  }
  if (status.retrying > 0) texts.push(`${plural(status.retrying, 'row waits', 'rows wait')} for a retry`)
  return [...texts, ...rejected(status)]
}

/** Adds the reason if there is one, such as too many rejected rows. */
function stopped({ state, reason }: TaskStatus): string {
  return reason === undefined ? state : `${state}: ${plain(reason)}`
}

function lastFigures(status: TaskStatus): string[] {
  const seconds = ((status.finishedAt ?? new Date()).getTime() - status.runAt.getTime()) / 1000
  const texts = [`in ${duration(seconds)}`, rate(status.ratePerSecond)]
  if (status.state === 'interrupted') texts.unshift('reading was interrupted')
  if (status.state === 'paused') texts.unshift(stopped(status))
  return [...texts, ...rejected(status)]
}

function rejected({ counts: { failed, error, cancelled } }: TaskStatus): string[] {
  const texts: string[] = []
  if (failed + error > 0) texts.push(`${count(failed + error)} rejected`)
  if (cancelled > 0) texts.push(`${count(cancelled)} cancelled`)
  return texts
}

// ------------------------------------------------------------------------------------------------------------ rate

const WINDOW_MS = 5000
const ENOUGH_ROWS = 5
const OLDEST_MS = 60_000

interface Sample {
  at: number
  ended: number
}

/**
 * Ended rows per second over the last 5 s. While fewer than 5 rows ended in them, it looks further back, up to a minute,
 * so that a slow task has a rate too.
 */
export class Pace {
  readonly #samples: Sample[] = []
  #lastEnd: number | undefined

  addSample(ended: number, at: number): void {
    const last = this.#samples.at(-1)
    if (!last || ended > last.ended) this.#lastEnd = at
    // Rows were retried, so earlier samples do not compare.
    if (last && ended < last.ended) this.#samples.length = 0
    if (last?.at === at) this.#samples.pop()
    this.#samples.push({ at, ended })
    for (;;) {
      const [oldest, second] = this.#samples
      if (!oldest || !second) return
      const enough = at - second.at >= WINDOW_MS && ended - second.ended >= ENOUGH_ROWS
      if (!enough && at - oldest.at <= OLDEST_MS) return
      this.#samples.shift()
    }
  }

  /** Undefined until two samples are 150 ms apart. */
  get perSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.at - first.at < 150) return undefined
    return ((last.ended - first.ended) / (last.at - first.at)) * 1000
  }

  /** Seconds since a row ended, or since the first sample. */
  idleSeconds(now: number): number {
    return this.#lastEnd === undefined ? 0 : (now - this.#lastEnd) / 1000
  }
}
