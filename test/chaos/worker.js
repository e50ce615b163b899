// One worker process of the chaos tests: worker.js URL FOLDER CONCURRENCY
import { chaosApp, work } from './jobs.js'

const [url, folder, concurrency] = process.argv.slice(2)
await work(chaosApp(url, folder), concurrency)
