// What a dashboard costs at 2,000 queues and 500 processes with 5,000 running jobs: first answers, the bytes of one update, and
// what one open page costs the server, the browser and Redis.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '../../dist/http/index.js'
import { appOn } from './app.js'
import { openBrowser } from './browser.js'

const [, , url] = process.argv
const SECONDS = 20
/** The time between two updates of a page. */
const UPDATE_MS = 2000

const commands = countCommands()
const crowd = spawn(process.execPath, [new URL('crowd.js', import.meta.url).pathname, url], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
await once(crowd.stdout, 'data')
const hq = appOn(url)
await hq.store.open()
const server = await serve(hq, { port: 0 })
const browser = await openBrowser()
const figures = {}
try {
  const ask = async (path) => {
    const began = performance.now()
    const response = await fetch(`${server.url}/api/v1${path}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return { text, ms: performance.now() - began }
  }
  for (const path of [
    '/live-stats',
    '/live-queues',
    '/live-processes',
    '/queues?by=latency&limit=6',
    '/running?limit=100',
  ]) {
    figures[`first answer of ${path}, ms`] = round((await ask(path)).ms)
  }
  for (const path of ['', '/classes', '/waits', '/jobs?order=oldest']) {
    figures[`first answer of /queues/q7${path}, ms`] = round((await ask(`/queues/q7${path}`)).ms)
  }
  for (const list of ['live-queues', 'live-processes']) {
    const first = (await ask(`/${list}`)).text
    const sizes = []
    for (let since = JSON.parse(first).version, i = 0; i < 5; i++) {
      await sleep(UPDATE_MS)
      const { text } = await ask(`/${list}?since=${since}`)
      since = JSON.parse(text).version
      sizes.push(text.length)
    }
    figures[`/${list}, first, kB`] = round(first.length / 1000)
    figures[`/${list}, one update, kB`] = round(median(sizes) / 1000)
  }
  for (const [name, place, ready] of [
    ['overview', '/', '.stat .v'],
    ['queues', '/queues', 'tbody tr'],
    ['a queue', '/queues/q7', '.stat .v'],
    ['busy', '/busy', 'tbody tr'],
  ]) {
    figures[`${name} is seen, ms`] = round((await browser.load(server.url + place, ready)).whole)
    await sleep(3000)
    const [cpu, sent] = [process.cpuUsage(), commands.count]
    figures[`${name}, live: page, % of a core`] = round(await browser.cpu(SECONDS))
    const { user, system } = process.cpuUsage(cpu)
    figures[`${name}, live: server, % of a core`] = round((user + system) / 10_000 / SECONDS)
    figures[`${name}, live: commands to Redis a second`] = round((commands.count - sent) / SECONDS)
  }
  console.log(JSON.stringify(figures))
} finally {
  crowd.kill()
  await browser.close()
  await server.close()
  await hq.close()
}

/** Counts the commands that this process sends to Redis. */
function countCommands() {
  const { Redis } = createRequire(import.meta.url)('../../dist/chunks/ioredis.cjs')
  const counted = { count: 0 }
  const send = Redis.prototype.sendCommand
  Redis.prototype.sendCommand = function (...args) {
    counted.count++
    return send.apply(this, args)
  }
  return counted
}

function median(list) {
  return list.sort((a, b) => a - b)[Math.floor(list.length / 2)]
}

function round(n) {
  return Number(n.toFixed(1))
}
