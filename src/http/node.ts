/** The adapter for `node:http`, Express and Fastify. It streams bodies in both directions with backpressure. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeWebStream } from 'node:stream/web'
import type { Highkiq } from '../app.ts'
import { HighkiqError } from '../job/errors.ts'
import { isLoopback } from './access/local.ts'
import { createHandler, type FetchHandler, handlerOf } from './handler.ts'
import { errorAnswer, guarded, invalid } from './server/answer.ts'
import { type HttpOptions, ServerContext } from './server/server-context.ts'

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** How long the rest of an unwanted body is read, so that the client can read the answer before the connection closes. */
const REST_MS = 1000
/** Milliseconds that a client has to send the headers of a request, or to begin one. */
const HEADERS_MS = 20_000
/** Bytes of a body that are read ahead. */
const READ_AHEAD = 256 * 1024

/**
 * The HTTP API of an app for `http.createServer`, for Express (`app.use('/jobs', nodeListener(hq))`), and for Fastify.
 * @throws INVALID_OPTION
 */
export function nodeListener(hq: Highkiq, options: HttpOptions = {}): NodeListener {
  return adapt(hq, createHandler(hq, options))
}

/** Turns a handler into a listener. */
export function adapt({ log }: Pick<Highkiq, 'log'>, handle: FetchHandler): NodeListener {
  return async (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    try {
      const answer = await answerTo(incoming, gone.signal, handle)
      await send(answer, incoming, outgoing)
    } catch (thrown) {
      // The client disconnected, or the answer failed midway: the client must not take it for complete.
      if (!gone.signal.aborted) log.error({ err: thrown }, 'sending an answer failed')
      outgoing.destroy()
    }
  }
}

async function answerTo(incoming: IncomingMessage, signal: AbortSignal, handle: FetchHandler): Promise<Response> {
  let request: Request
  try {
    request = requestOf(incoming, signal)
  } catch (thrown) {
    return guarded(
      errorAnswer(
        thrown instanceof HighkiqError ? thrown : invalid('the address or a header of the request is invalid'),
      ),
    )
  }
  // Express gives the mount path with each request.
  const { baseUrl } = incoming as { baseUrl?: string }
  const { socket, httpVersion } = incoming
  return handle(request, { remote: socket.remoteAddress, httpVersion, base: baseUrl })
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', headers: given, socket } = incoming
  // Programs disagree on which of two Host headers counts.
  if ((incoming.headersDistinct.host?.length ?? 0) > 1) throw invalid('the request must have one Host header')
  const { originalUrl, url = '/' } = incoming as { originalUrl?: string; url?: string }
  const scheme = 'encrypted' in socket ? 'https' : 'http'
  const headers = new Headers()
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith(':') || value === undefined) continue
    for (const one of [value].flat()) headers.append(name, one)
  }
  const path = originalUrl ?? url
  // An absolute request target, as sent to proxies, would name another host.
  const target = path.startsWith('/') ? path : new URL(path).pathname + new URL(path).search
  const address = new URL(`${scheme}://${given.host ?? given[':authority'] ?? 'localhost'}`)
  const at = target.indexOf('?')
  address.pathname = at === -1 ? target : target.slice(0, at)
  address.search = at === -1 ? '' : target.slice(at)
  const body = method === 'GET' || method === 'HEAD' ? null : bodyOf(incoming)
  return new Request(address, { method, headers, signal, ...(body ? { body, duplex: 'half' } : {}) } as RequestInit)
}

/** @throws INVALID_REQUEST when a parser has read the body and kept nothing of it */
function bodyOf(incoming: IncomingMessage): RequestInit['body'] | null {
  const { headers } = incoming
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!hasBody && incoming.httpVersionMajor < 2) return null
  if (!incoming.readableDidRead) return chunksOf(incoming)
  const { body, rawBody } = incoming as { body?: unknown; rawBody?: unknown }
  if (rawBody instanceof Uint8Array) return rawBody as Uint8Array<ArrayBuffer>
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer>
  if (typeof body === 'object' && body !== null) return JSON.stringify(body)
  throw invalid('the body was read before: mount highkiq in front of body parsers')
}

/** Requests whose body is not read further. */
const unwanted = new WeakSet<IncomingMessage>()

/** Unlike Readable.toWeb it leaves the connection open when the body is cancelled, since the answer is sent over it. */
function chunksOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let isOver = false
  const once = (end: () => void) => {
    if (!isOver) end()
    isOver = true
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        incoming.on('data', (chunk: Uint8Array) => {
          if (isOver) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) incoming.pause()
        })
        incoming.on('end', () => once(() => controller.close()))
        incoming.on('error', (error) => once(() => controller.error(error)))
        incoming.on('close', () => once(() => controller.error(new Error('the client closed the connection'))))
        incoming.pause()
      },
      pull: () => void incoming.resume(),
      cancel() {
        isOver = true
        unwanted.add(incoming)
        incoming.pause()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: READ_AHEAD }),
  )
}

async function send(answer: Response, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const headers: Record<string, string | string[]> = Object.fromEntries(answer.headers)
  const cookies = answer.headers.getSetCookie()
  if (cookies.length > 0) headers['set-cookie'] = cookies
  const hasRest = !incoming.complete && (answer.status >= 400 || !answer.body || unwanted.has(incoming))
  // The rest of the body stays unread, so no other request can follow on this connection.
  if (hasRest && incoming.httpVersionMajor < 2) headers.connection = 'close'
  outgoing.writeHead(answer.status, headers)
  if (!answer.body) {
    outgoing.end()
  } else {
    outgoing.flushHeaders()
    await pipeline(Readable.fromWeb(answer.body as NodeWebStream), outgoing)
  }
  finish(incoming)
}

/** Reads on for a moment: with unread bytes the connection would be reset, and the answer lost. */
function finish(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return
  incoming.on('error', () => {})
  incoming.resume()
  setTimeout(() => incoming.destroy(), REST_MS).unref()
}

export interface ServeOptions extends HttpOptions {
  /** Default 7433; 0 for any free port. */
  port?: number
  /** Default 127.0.0.1. An address that other machines reach needs `auth`. */
  host?: string
}

/**
 * Starts a server for the API.
 * @throws INVALID_OPTION: an address that others reach needs `auth`; what listening fails with
 *
 * @example const { url, close } = await serve(hq, { port: 7433 })
 */
export async function serve(
  hq: Highkiq,
  options: ServeOptions = {},
): Promise<{ url: string; server: Server; close(): Promise<void> }> {
  const { port = 7433, host = '127.0.0.1', ...rest } = options
  if (rest.auth === undefined && !isLoopback(host)) {
    throw new HighkiqError(
      'INVALID_OPTION',
      `other machines can reach ${host}: set auth, or listen on 127.0.0.1 (the default)`,
    )
  }
  // An upload may take longer than the five minutes that Node allows: limits.bodySeconds ends a slow one.
  const times = { requestTimeout: 0, headersTimeout: HEADERS_MS, connectionsCheckingInterval: HEADERS_MS / 4 }
  const context = new ServerContext(hq, rest)
  const server = createServer(times, adapt(hq, handlerOf(hq, context)))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { address, family, port: listening } = server.address() as AddressInfo
  const name = family === 'IPv6' ? `[${address}]` : address
  return {
    url: `http://${name}:${listening}`,
    server,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      context.delayedRetries.close()
    },
  }
}
