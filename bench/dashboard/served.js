// Serves a dashboard, opens it in a browser, and measures first answers and a page that stays open.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '../../dist/http/index.js'
import { appOn } from './app.js'
import { openBrowser } from './browser.js'

const SECONDS = 20
const SETTLED_MS = 3000

/** Starts programs of this folder one after the other, each until it says that it is ready. */
export async function startPrograms(...programs) {
  const children = []
  for (const [name, ...args] of programs) {
    const path = new URL(name, import.meta.url).pathname
    const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    const [first] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    if (!Buffer.isBuffer(first)) throw new Error(`${name} ended with ${first}`)
  }
  return () => {
    for (const child of children) child.kill()
  }
}

export async function openServed(url) {
  const commands = countCommands()
  const hq = appOn(url)
  await hq.store.open()
  const server = await serve(hq, { port: 0 })
  const browser = await openBrowser()
  const figures = {}

  async function ask(path) {
    const began = performance.now()
    const response = await fetch(`${server.url}/api/v1${path}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return { text, ms: performance.now() - began }
  }

  return {
    figures,
    ask,
    async firstAnswer(path, name = path) {
      figures[`first answer of ${name}, ms`] = round((await ask(path)).ms)
    },
    /** Opens a page and leaves it open. `ready` selects an element of its data, `settled` one that exists when its search ends. */
    async live(name, path, ready, settled = ready) {
      figures[`${name} is seen, ms`] = round((await browser.load(server.url + path, ready)).whole)
      await browser.page.locator(settled).first().waitFor()
      await sleep(SETTLED_MS)
      const [cpu, sent] = [process.cpuUsage(), commands.count]
      figures[`${name}, live: page, % of a core`] = round(await browser.cpu(SECONDS))
      const { user, system } = process.cpuUsage(cpu)
      figures[`${name}, live: server, % of a core`] = round((user + system) / 10_000 / SECONDS)
      figures[`${name}, live: commands to Redis a second`] = round((commands.count - sent) / SECONDS)
    },
    async close() {
      await browser.close()
      await server.close()
      await hq.close()
    },
  }
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

export function round(n) {
  return Number(n.toFixed(1))
}
