import { setTimeout as sleep, setImmediate as tick } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Notifier } from './notifier.ts'

test('pushes a few milliseconds apart send their notifications themselves again, also after many pushes at once', async () => {
  const sent: string[] = []
  const send = async (payload: string) => {
    sent.push(payload)
  }
  const notifier = new Notifier({ channel: 'c', connect: undefined, send })
  onTestFinished(() => notifier.close())
  while (sent.length < 6) {
    notifier.notify(['q'])
    await tick()
  }
  const push = () => notifier.notifyWith(['q'], async (within) => within !== undefined)
  let isOwn = false
  for (let n = 0; n < 200 && !isOwn; n++) {
    await sleep(4)
    isOwn = await push()
  }
  expect(isOwn).toBe(true)
})
