import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Host, hostText, isProcessGone, thisHost } from './host.ts'

// Where the system does not tell, only the lease decides.
const linux = test.skipIf(process.platform !== 'linux')

linux('a process that runs is not gone, one that has ended is', async () => {
  const here = thisHost() as Host
  expect(here.pid).toBe(process.pid)
  expect(isProcessGone(hostText(here), here)).toBe(false)
  const child = spawn('cat')
  await once(child, 'spawn')
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
  const there = hostText({ ...here, pid: Number(child.pid), started: String(stat.split(') ')[1]?.split(' ')[19]) })
  expect(isProcessGone(there, here)).toBe(false)
  child.stdin.end()
  await once(child, 'close')
  expect(isProcessGone(there, here)).toBe(true)
})

linux('a pid that was given out again is another process', () => {
  const here = thisHost() as Host
  expect(isProcessGone(hostText({ ...here, started: '1' }), here)).toBe(true)
})

linux("nothing is certain of another machine, or of what can't be read", () => {
  const here = thisHost() as Host
  const dead = { ...here, started: '1' }
  expect(isProcessGone(hostText({ ...dead, key: 'elsewhere' }), here)).toBe(false)
  expect(isProcessGone(hostText(dead), undefined)).toBe(false)
  for (const text of ['', 'x', here.key, `${here.key}\n`, `${here.key}\n5`])
    expect(isProcessGone(text, here)).toBe(false)
})
