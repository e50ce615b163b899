// One role of a peer, in a process of its own: node child.js PEER ROLE OPTIONS. A role of a workload's file is FILE:ROLE.
import { once } from 'node:events'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { loadPeers } from './registry.js'
import { ROLES } from './roles.js'

const [, , peerName, role, text] = process.argv
const peer = (await loadPeers()).find(({ name }) => name === peerName)

const output = new Socket({ fd: 3, readable: false, writable: true })
const say = (message) => output.write(`${JSON.stringify(message)}\n`)
const received = { go: Promise.withResolvers?.() ?? deferred(), stop: Promise.withResolvers?.() ?? deferred() }
createInterface({ input: process.stdin })
  .on('line', (word) => received[word].resolve())
  .on('close', () => process.exit(1))

const [file, name] = role.split(':')
const run = name ? (await import(`../workloads/${file}.js`)).roles[name] : ROLES[role]
const figures = await run(peer, JSON.parse(text), { say, go: received.go.promise, stop: received.stop.promise })
say({ figures })
output.end()
await once(output, 'finish')
process.exit()

function deferred() {
  let resolve
  const promise = new Promise((done) => {
    resolve = done
  })
  return { promise, resolve }
}
