import { isMainThread } from 'node:worker_threads'
import { Highkiq } from 'highkiq'

await new Promise((resolve) => setTimeout(resolve, 1500))
if (!isMainThread) {
  new Highkiq({ url: process.env.HIGHKIQ_TEST_THREADS }).job('J', { thread: import.meta.url }, () => 'loaded')
}
