import { threadId } from 'node:worker_threads'
import { Highkiq } from 'highkiq'

/** An app of its own, in TypeScript. */
export const hq = new Highkiq({ url: 'sqlite::memory:', files: [import.meta.url] })
type Kind = 'thread'
export const Typed = hq.job('Typed', { thread: true, keepResult: 60 }, async (_ctx, n: number): Promise<unknown> => {
  return ['thread' satisfies Kind, n as number, threadId]
})
