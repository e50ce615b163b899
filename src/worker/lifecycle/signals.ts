/** A worker as the one purpose of its process: the signals that it obeys, and what ends it. */

/** What the process can be told; the process signal is SIG and the name. */
export type Order = 'TERM' | 'INT' | 'TSTP' | 'TTIN' | 'USR2'

const ORDERS: readonly Order[] = ['TERM', 'INT', 'TSTP', 'TTIN', 'USR2']

/** Hears signals, and errors that nobody caught, until what it answers is called. */
export function hearProcess(obey: (order: Order) => void, fatal: (error: unknown) => void): () => void {
  const handlers = ORDERS.map((order) => [`SIG${order}`, () => obey(order)] as const)
  for (const [signal, handler] of handlers) process.on(signal, handler)
  // Also rejections that nobody handled come this way.
  process.on('uncaughtException', fatal)
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler)
    process.off('uncaughtException', fatal)
  }
}
