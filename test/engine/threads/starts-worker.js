import { Highkiq } from 'highkiq'

/** What nobody should do: the file that defines a thread's job begins to work when it is loaded. */
export const hq = new Highkiq({ url: 'sqlite::memory:', files: [import.meta.url] })
export const J = hq.job('J', { thread: true, keepResult: 60, retry: 0 }, () => 1)
export const worker = hq.worker({ timeout: 0.01 })
