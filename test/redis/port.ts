import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Returns a port of 127.0.0.1 on which nobody listens. It is below the range from which the system gives ports to
 * clients: a client that tries to connect to a free port of that range may be given the same port, and so connect to
 * itself.
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
      // The port is in use: try another one.
    }
  }
}
