/** A worker as its process and others control it: signals, orders that come through the store, and uncaught errors. */

import { checkOptions } from '../../job/options.ts'
import { plural } from '../../job/plural.ts'
import { signalCopies } from '../../job/signal-copies.ts'
import type { SlotOptions } from '../../job/slots.ts'
import { within } from '../../job/wait.ts'
import { readConcurrency, type Signal } from '../../store/contract.ts'
import type { Engine, WorkerAbout } from '../engine.ts'
import { handleSignals, type Order } from './signals.ts'

const FATAL_HANDLERS_MS = 5000

export interface RunOptions {
  /** Called when the worker starts to fetch jobs. */
  onStart?: () => void
  /** Called when the worker starts to stop. */
  onStop?: () => void
  /** Called at a second SIGTERM or SIGINT. Without it the process ends at once. */
  onSecondSignal?: () => void
}

export abstract class WorkerProcess {
  /** The process has no other purpose than this worker. */
  protected ownsProcess = false
  /** The time of the first uncaught error, on the monotonic clock. */
  protected fatalAt: number | undefined
  /** Never resolves: the process ends first. */
  #exiting: Promise<never> | undefined
  #callbacks: RunOptions = {}
  readonly #isCopy = signalCopies()

  protected abstract readonly engine: Engine
  protected abstract readonly about: WorkerAbout
  protected abstract readonly isFetching: boolean
  /** Whether a stop has begun. */
  protected abstract readonly isStopping: boolean

  abstract start(): Promise<void>
  abstract set(options: SlotOptions): Promise<void>
  abstract quiet(): Promise<void>
  abstract stop(): Promise<void>
  /** Resolves when the worker has stopped. */
  protected abstract ended(): Promise<void>
  /** Logs the running jobs. */
  protected abstract dump(): void

  protected stopBegan(): void {
    this.#callbacks.onStop?.()
  }

  /**
   * Starts the worker and runs until SIGTERM or SIGINT. SIGTSTP makes it quiet, SIGTTIN logs the running jobs, and SIGUSR2
   * makes loggers reopen their files. A second SIGTERM or SIGINT, half a second later or more, ends the process at once: other
   * workers rescue its jobs.
   * An uncaught error stops the worker gracefully: see `Highkiq.onFatal`.
   */
  async run(options: RunOptions = {}): Promise<void> {
    checkOptions('worker.run', options, { onStart: 'function', onStop: 'function', onSecondSignal: 'function' })
    this.#callbacks = options
    this.ownsProcess = true
    const removeHandlers = handleSignals(
      (order) => this.obey(order),
      (error) => this.#fatal(error),
    )
    try {
      await this.start()
      options.onStart?.()
      await this.ended()
      // After an uncaught error the process ends here.
      await this.#exiting
      this.engine.log.info({}, 'stopped')
    } finally {
      removeHandlers()
    }
  }

  /** Obeys an order that came as a signal to the process or through the store. */
  protected obey(order: Order | Signal): void {
    const { emit, log, report } = this.engine
    const slots = readConcurrency(order)
    if (slots) {
      this.set(slots).then(
        () =>
          log.info(slots, `capsule ${slots.capsule}: ${plural(slots.concurrency, 'job')} at the same time from now on`),
        (thrown) => report(thrown, { during: 'changing the concurrency from outside' }),
      )
      return
    }
    if (order === 'TSTP') {
      if (this.isFetching) log.info({}, 'quiet: fetching no more jobs, running jobs continue')
      void this.quiet()
    } else if (order === 'USR2') void emit('reopen')
    else if (order === 'TTIN') this.dump()
    else if (order !== 'TERM' && order !== 'INT') {
      log.warn({ order }, 'ignored an unknown signal: a worker knows TSTP, TERM, TTIN and CONCURRENCY JOBS CAPSULE')
    } else if (this.#isCopy()) {
      return
    } else if (this.ownsProcess && this.isStopping) {
      const { onSecondSignal = () => process.exit(1) } = this.#callbacks
      onSecondSignal()
    } else {
      log.info(
        {},
        this.ownsProcess && !this.#callbacks.onSecondSignal
          ? 'stopping; a second signal ends the process at once'
          : 'stopping',
      )
      void this.stop()
    }
  }

  /** After an uncaught error: running jobs may end, no job starts, and then the process ends. */
  #fatal(error: unknown): void {
    const { report, emitFatal } = this.engine
    this.fatalAt ??= performance.now()
    report(error, { during: 'uncaught error: this worker stops' })
    this.#exiting ??= (async () => {
      await this.stop().catch((thrown) => report(thrown, { during: 'stopping' }))
      await within(FATAL_HANDLERS_MS, emitFatal(error, this.about))
      return process.exit(1)
    })()
  }
}
