// A measurement is a process of its own. It writes JSON lines to its file descriptor 3 (`ready`, `done`, `figures`) and
// reads `go` and `stop` from its standard input, so it may be written in any language.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const CHILD = fileURLToPath(new URL('child.js', import.meta.url))
const LONGEST_MS = 600_000

/** Starts `role` of a peer: its own program if it has one, else `child.js`. */
export function startRole(peer, role, options) {
  const [program, ...args] = peer.program?.(role) ?? [process.execPath, ...process.execArgv, CHILD, peer.name, role]
  return new Measurement(`${peer.name} ${role}`, program, [...args, JSON.stringify(options)])
}

class Measurement {
  /** How many jobs ran so far. */
  done = 0
  startedAt = performance.now()
  /** When the first job of this process was reported. */
  firstAt
  #child
  #waiting = new Map()
  #received = new Map()
  #stderr = ''
  #failure
  #reject

  constructor(title, program, args) {
    this.#child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe', 'pipe'] })
    this.#child.stdin.on('error', () => {})
    this.#child.stderr.on('data', (data) => {
      this.#stderr = (this.#stderr + data).slice(-4000)
    })
    createInterface({ input: this.#child.stdio[3] }).on('line', (text) => this.#receive(JSON.parse(text)))
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), LONGEST_MS)
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        clearTimeout(timer)
        running.delete(this.#child)
        this.#fail(new Error(`${title} ended with ${signal ?? code}\n${this.#stderr}`))
        resolve()
      })
    })
    this.#child.once('error', (error) => this.#fail(error))
    /** Rejects when the process ends. A caller races it with what the process should report. */
    this.failed = new Promise((_, reject) => {
      this.#reject = reject
    })
    this.failed.catch(() => {})
    running.add(this.#child)
  }

  ready() {
    return this.#next('ready')
  }

  figures() {
    return this.#next('figures')
  }

  go() {
    this.#child.stdin.write('go\n')
  }

  /** Asks a worker to stop gracefully. */
  stop() {
    this.#child.stdin.write('stop\n')
    return this.figures()
  }

  #receive(message) {
    if (message.done !== undefined) {
      this.firstAt ??= performance.now()
      this.done = message.done
    }
    for (const [name, value] of Object.entries(message)) {
      this.#received.set(name, value)
      this.#waiting.get(name)?.resolve(value)
    }
  }

  #next(name) {
    if (this.#received.has(name)) return Promise.resolve(this.#received.get(name))
    if (this.#failure) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => this.#waiting.set(name, { resolve, reject }))
  }

  #fail(error) {
    this.#failure ??= error
    this.#reject(this.#failure)
    for (const { reject } of this.#waiting.values()) reject(this.#failure)
  }
}

const running = new Set()

/** Ends the processes that a failed measurement left behind. */
export function endAll() {
  for (const child of running) child.kill('SIGKILL')
}

process.once('exit', endAll)
