import { afterAll, beforeAll } from 'vitest'
import { type RedisServer, startServer } from './server.ts'
import { forgottenScripts } from './steps/forgotten-scripts.ts'
import { pushes } from './steps/pushes.ts'
import { repeats } from './steps/repeats.ts'
import { resend } from './steps/resend.ts'
import { settleAndFetch } from './steps/settle-and-fetch.ts'
import { splitJobs } from './steps/split-jobs.ts'
import { loadScripts } from './steps/stage.ts'
import { starts } from './steps/starts.ts'
import { longest } from './steps/test-owner.ts'
import { undelivered } from './steps/undelivered.ts'
import { waits } from './steps/waits.ts'
import { worker } from './steps/worker.ts'
import { onRedis } from './suite.ts'

onRedis('a fault at each step between a request and its answer', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer({ databases: 2000 })
    await loadScripts(server)
  })
  afterAll(async () => {
    await server.remove()
    console.log(`a job whose answer was lost was handed out after ${Math.round(longest.ms)} ms at worst`)
  })

  settleAndFetch(() => server)
  splitJobs(() => server)
  waits(() => server)
  undelivered(() => server)
  starts(() => server)
  pushes(() => server)
  repeats(() => server)
  resend(() => server)
  worker(() => server)
  forgottenScripts(() => server)
})
