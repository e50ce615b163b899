/**
 * Threads that can be ended at any moment. libsql aborts the whole process when its thread ends inside one of its
 * calls, so a thread is ended, also by the end of the process, only between two such calls.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { Worker, type WorkerOptions, workerData } from 'node:worker_threads'
import { packageFile } from './load/package.ts'

/** The cells of the memory that a thread shares with its parent. */
const CALLS = 0
const ENDING = 1
/** Milliseconds for which the process waits at its end for the calls of its threads. */
const EXIT_MS = 2000

/** The memory of this thread; undefined in the main thread and in threads of the app. */
const own = (workerData as { nativeCalls?: Int32Array } | null)?.nativeCalls

/** The memory of each living thread. */
const living = new Set<Int32Array>()

/**
 * A thread that runs a file of `dist`. Its `terminate` waits for the native call that runs in it. `options.workerData` must
 * be an object.
 */
export class Thread extends Worker {
  readonly #nativeCalls: Int32Array

  constructor(file: string, options: WorkerOptions) {
    const nativeCalls = new Int32Array(new SharedArrayBuffer(8))
    super(packageFile(file), { ...options, workerData: { ...options.workerData, nativeCalls } })
    this.#nativeCalls = nativeCalls
    if (living.size === 0) process.on('exit', endThreads)
    living.add(nativeCalls)
    this.once('exit', () => {
      living.delete(nativeCalls)
      if (living.size === 0) process.off('exit', endThreads)
    })
  }

  override async terminate(): Promise<number> {
    Atomics.store(this.#nativeCalls, ENDING, 1)
    while (Atomics.load(this.#nativeCalls, CALLS) > 0 && living.has(this.#nativeCalls)) await sleep(1)
    return super.terminate()
  }
}

/** Runs one call of libsql. In a thread that is being ended it does not return. */
export function nativeCall<T>(call: () => T): T {
  if (!own) return call()
  enterNativeCall()
  try {
    return call()
  } finally {
    leaveNativeCall()
  }
}

/** The first half of `nativeCall`, for a call that needs more than one turn of the event loop. */
export function enterNativeCall(): void {
  if (!own) return
  Atomics.add(own, CALLS, 1)
  if (Atomics.load(own, ENDING) === 0) return
  leaveNativeCall()
  Atomics.wait(own, ENDING, 1)
}

/** The second half of `nativeCall`. */
export function leaveNativeCall(): void {
  if (!own) return
  Atomics.sub(own, CALLS, 1)
  Atomics.notify(own, CALLS)
}

/** Waits for the native calls of all threads, and lets them begin no more. */
function endThreads(): void {
  const deadline = performance.now() + EXIT_MS
  for (const cells of living) Atomics.store(cells, ENDING, 1)
  for (const cells of living) {
    for (let calls = 1; calls > 0 && performance.now() < deadline; ) {
      calls = Atomics.load(cells, CALLS)
      if (calls > 0) Atomics.wait(cells, CALLS, calls, deadline - performance.now())
    }
  }
}
