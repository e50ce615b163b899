// One worker process of the storm of moves: move-worker.js URL FOLDER CONCURRENCY
import { work } from './jobs.js'
import { moveApp } from './move-jobs.js'

const [url, folder, concurrency] = process.argv.slice(2)
await work(moveApp(url, folder), concurrency)
