/** Servers that end together with the process that started them, in whatever way that ends. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const WATCHDOG = fileURLToPath(new URL('./watchdog.js', import.meta.url))

/** One process of a server. */
export interface Run {
  pid: number
  watchdog: ChildProcess
  hasEnded: boolean
  ended: Promise<void>
}

/**
 * Runs it in a session of its own, so that a signal to the group of the test, like Ctrl-C, does not reach it before
 * the test does.
 */
export async function startRun(folder: string, command: string[]): Promise<Run> {
  const stdio = ['pipe', 'pipe', 'inherit'] as const
  const watchdog = spawn(process.execPath, [WATCHDOG, folder, ...command], { stdio: [...stdio], detached: true })
  const lines = createInterface({ input: watchdog.stdout as NodeJS.ReadableStream })
  return new Promise((resolve, reject) => {
    let told = () => {}
    const ended = new Promise<void>((resolve) => {
      told = resolve
    })
    lines.once('line', (pid) => {
      if (pid === 'ended') return reject(new Error(`${command[0]} could not be run`))
      const run: Run = { pid: Number(pid), watchdog, hasEnded: false, ended }
      // Either the server or its watchdog has ended.
      const end = () => {
        run.hasEnded = true
        told()
      }
      lines.once('line', end)
      lines.once('close', end)
      resolve(run)
    })
    lines.once('close', () => reject(new Error('the watchdog did not start')))
    watchdog.once('error', reject)
  })
}
