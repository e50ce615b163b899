// Runs a server as long as the process that started it lives: watchdog.js FOLDER PROGRAM ...ARGUMENTS
//
// That process holds the other end of the standard input, which the system closes however it ends. Then the server is
// killed and FOLDER is removed. Says the server's process id, and `ended` when it has.
import { spawn } from 'node:child_process'
import { openSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const [folder, program, ...args] = process.argv.slice(2)
const log = openSync(join(folder, 'log'), 'a')
const server = spawn(program, args, { stdio: ['ignore', log, log] })
const say = (line) => process.stdout.write(`${line}\n`)
const ended = new Promise((resolve) => {
  server.on('exit', resolve)
  server.on('error', resolve)
})
server.on('spawn', () => say(server.pid))
ended.then(() => say('ended'))

// Nobody may listen any more.
process.stdout.on('error', () => {})
const end = async () => {
  server.kill('SIGKILL')
  await ended
  rmSync(folder, { recursive: true, force: true })
  process.exit()
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end)
process.stdin.on('close', end).resume()
