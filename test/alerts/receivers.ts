import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { Collector } from '../engine/bench.ts'

export interface Received {
  headers: IncomingHttpHeaders
  body: Record<string, unknown> & { id: string; title: string; begun: Shown[]; over: Shown[] }
}

interface Shown {
  kind: string
  title: string
  details: Record<string, unknown>
  since: string
  until: string | null
}

/** An HTTP server that gets messages. It answers with these statuses, and then with the last one; 0: it never answers. */
export async function receiver(
  statuses: readonly number[] = [200],
  onMessage: (body: Received['body']) => void = () => {},
) {
  const got = new Collector<Received>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const status = statuses[Math.min(got.all.length, statuses.length - 1)] as number
    const body = JSON.parse(Buffer.concat(chunks).toString())
    onMessage(body)
    got.add({ headers: request.headers, body })
    if (status !== 0) response.writeHead(status, { location: '/elsewhere' }).end()
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hooks/a-secret-path`, got }
}
