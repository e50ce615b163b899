import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of 127.0.0.1 that nobody listens on.
 *
 * Below those that the system gives to clients: a client that tries again and again to reach a port of that range where
 * nobody listens is given the same port some time, and so reaches itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer()
    try {
      const listening = once(server, 'listening')
      server.listen(port, '127.0.0.1')
      await listening
      server.close()
      await once(server, 'close')
      return port
    } catch {
      // Taken: another one.
    }
  }
}
