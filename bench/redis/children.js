// Starts the processes that measure, and sees to it that they end.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const CHILD = fileURLToPath(new URL('child.js', import.meta.url))
const LONGEST_MS = 180_000

/** @returns `ready`: it said that it waits; `figures`: what it measured, once it has ended */
export function startChild(peer, task, options) {
  const child = fork(CHILD, [peer, task, JSON.stringify(options)])
  let ready
  let found
  const isReady = new Promise((resolve) => {
    ready = resolve
  })
  const figures = new Promise((resolve, reject) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS)
    child.on('message', (message) => {
      if (message.ready) ready()
      if (message.figures) found = message.figures
    })
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      if (found && code === 0) resolve(found)
      else reject(new Error(`${peer} ${task} ended with ${signal ?? code} and ${found ? '' : 'no '}figures`))
    })
  })
  return { ready: Promise.race([isReady, figures]), figures }
}

export const runChild = (peer, task, options) => startChild(peer, task, options).figures
