import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { gate } from '../engine/bench.ts'

export interface AnswerProxy {
  url: string
  /** Loses the next answer, or that to the next request that has all these texts, and its connection. */
  lose(...texts: string[]): void
  /** Holds back the answer to the next request that has all these texts. Other connections go on. */
  hold(...texts: string[]): Held
}

export interface Held {
  /** Resolves when the request has been sent on. */
  caught: Promise<void>
  release(): void
}

/** A proxy before the server, which ends with the test. */
export async function startAnswerProxy(url: string): Promise<AnswerProxy> {
  const { hostname, port } = new URL(url)
  let isLosing = false
  let lost: string[] | undefined
  let next: { texts: string[]; opened: Promise<void>; noteCaught: () => void } | undefined
  const sockets: Socket[] = []
  const listener = createServer((client) => {
    const server = connect(Number(port), hostname)
    sockets.push(client, server)
    const cut = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) socket.on('error', cut).on('close', cut)
    let held: Promise<void> | undefined
    let isCut = false
    client.on('data', (bytes) => {
      if (next?.texts.every((text) => bytes.includes(text))) {
        held = next.opened
        next.noteCaught()
        next = undefined
      }
      if (lost?.every((text) => bytes.includes(text))) {
        lost = undefined
        isCut = true
      }
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (held) {
        server.pause()
        held.then(() => {
          client.write(bytes)
          server.resume()
        })
        held = undefined
        return
      }
      if (!isLosing && !isCut) return client.write(bytes)
      isLosing = false
      cut()
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  })
  const proxied = new URL(url)
  proxied.port = String((listener.address() as AddressInfo).port)
  return {
    url: proxied.href,
    lose: (...texts) => {
      if (texts.length > 0) lost = texts
      else isLosing = true
    },
    hold: (...texts) => {
      const { opened, open: release } = gate()
      const { opened: caught, open: noteCaught } = gate()
      next = { texts, opened, noteCaught }
      return { caught, release }
    },
  }
}
