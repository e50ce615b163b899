import { afterAll, beforeAll } from 'vitest'
import { type RedisServer, startServer } from './server.ts'
import { aparts } from './steps/apart.ts'
import { forgotten } from './steps/forgotten.ts'
import { found } from './steps/found.ts'
import { longest } from './steps/hand.ts'
import { pushes } from './steps/pushes.ts'
import { repeats } from './steps/repeats.ts'
import { resend } from './steps/resend.ts'
import { loadScripts } from './steps/stage.ts'
import { starts } from './steps/starts.ts'
import { turns } from './steps/turns.ts'
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

  turns(() => server)
  aparts(() => server)
  waits(() => server)
  found(() => server)
  starts(() => server)
  pushes(() => server)
  repeats(() => server)
  resend(() => server)
  worker(() => server)
  forgotten(() => server)
})
