/** The adapter for `node:http`, Express and Fastify. It streams bodies in both directions with backpressure. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeWebStream } from 'node:stream/web'
import { getRequestListener, RequestError } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Highkiq } from '../app.ts'
import { HighkiqError, hasCode, invalidOption } from '../job/errors.ts'
import { isLoopback } from './access/local.ts'
import { type FetchHandler, handlerOf } from './handler.ts'
import { errorAnswer, invalid } from './server/answer.ts'
import { type HttpOptions, type ServerContext, serverContext } from './server/server-context.ts'

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** A request with the fields that frameworks add to it. */
interface Incoming extends IncomingMessage {
  /** The URL before Express removed the mount path, which is `baseUrl`. */
  originalUrl?: string
  baseUrl?: string
  /** The body that a parser has read. */
  body?: unknown
  rawBody?: unknown
}

/** Milliseconds that a client has to send the headers of a request, or to begin one. */
const HEADERS_MS = 20_000

/**
 * The HTTP API of an app for `http.createServer`, for Express (`app.use('/jobs', nodeListener(hq))`), and for Fastify.
 * @throws INVALID_OPTION
 */
export function nodeListener(hq: Highkiq, options: HttpOptions = {}): NodeListener {
  return listenerOf(hq, serverContext(hq, options))
}

/** Makes the listener of a context that the caller closes. */
function listenerOf(hq: Highkiq, context: ServerContext): NodeListener {
  return adapt(hq, handlerOf(hq, context), context.limits.unreadSeconds)
}

/**
 * Turns a handler into a listener.
 * @param unreadSeconds for which a client may leave an answer unread
 */
export function adapt({ log }: Pick<Highkiq, 'log'>, handle: FetchHandler, unreadSeconds: number): NodeListener {
  const listen = getRequestListener(
    async (request, env) => {
      const [incoming, outgoing] = [env.incoming as Incoming, env.outgoing as ServerResponse]
      // Programs disagree on which of two Host headers counts.
      if ((incoming.headersDistinct?.host?.length ?? 0) > 1) throw invalid('the request must have one Host header')
      if (!URL.canParse(request.url))
        throw invalid('the Host header must be a name or an address, with a port if needed')
      if (!hasBody(incoming)) Object.defineProperty(request, 'body', { value: null })
      else if (incoming.readableDidRead) incoming.rawBody = parsedBody(incoming)
      // No route reads such a body, which could arrive for ever: the connection closes after the answer.
      if (hasBody(incoming) && !mayHaveBody(incoming)) outgoing.shouldKeepAlive = false
      const { socket, httpVersion, baseUrl } = incoming
      const answer = await handle(request, { remote: socket.remoteAddress, httpVersion, base: baseUrl })
      closeUnread(incoming, outgoing, unreadSeconds)
      if (!answer.body || answer.headers.has('content-length')) return answer
      try {
        for (const [name, value] of answer.headers) outgoing.appendHeader(name, value)
        outgoing.writeHead(answer.status).flushHeaders()
        await pipeline(Readable.fromWeb(answer.body as NodeWebStream), outgoing)
      } catch (thrown) {
        // The client disconnected, or the answer failed midway: the client must not take it for complete.
        if (!request.signal.aborted && !hasCode(thrown, 'UNAUTHORIZED'))
          log.error({ err: thrown }, 'sending an answer failed')
        outgoing.destroy()
      }
      return RESPONSE_ALREADY_SENT
    },
    {
      hostname: 'localhost',
      overrideGlobalObjects: false,
      errorHandler(thrown) {
        const isInvalid = thrown instanceof RequestError
        if (!isInvalid && !(thrown instanceof HighkiqError)) log.error({ err: thrown }, 'a request failed')
        return errorAnswer(isInvalid ? invalid('the address or a header of the request is invalid') : thrown)
      },
    },
  )
  return (incoming, outgoing) => {
    simplifyAddress(incoming)
    return listen(incoming, outgoing)
  }
}

/** Closes the connection of a client that has read nothing of an answer for `seconds`. */
function closeUnread({ socket, httpVersionMajor }: Incoming, outgoing: ServerResponse, seconds: number): void {
  const ms = seconds * 1000
  const before = httpVersionMajor < 2 ? socket.timeout : undefined
  // The timeout also fires while there is nothing to send.
  outgoing.setTimeout(ms, () => {
    if (outgoing.writableLength > 0) outgoing.destroy()
  })
  if (httpVersionMajor >= 2) return
  // The app's own timeout applies again, unless the server has set that of an idle connection.
  outgoing.once('finish', () => {
    if (socket.timeout === ms) socket.setTimeout(before ?? 0)
  })
}

/**
 * Writes the address of a request in the way that the adapter accepts: a host as URLs spell it, `[::1]` for
 * `[0:0:0:0:0:0:0:1]`, and a path for an absolute request target, which would name another host.
 */
function simplifyAddress(incoming: Incoming): void {
  const { headers, originalUrl, url = '/' } = incoming
  const { host = '' } = headers
  if (!/^[\w.-]+(:\d+)?$/.test(host) && URL.canParse(`http://${host}`)) headers.host = new URL(`http://${host}`).host
  const target = originalUrl ?? url
  incoming.url = target
  if (target.startsWith('/') || !URL.canParse(target)) return
  const { pathname, search } = new URL(target)
  incoming.url = pathname + search
}

/** Over HTTP/2 only the end of a body tells whether there is one. */
function hasBody({ headers, httpVersionMajor }: Incoming): boolean {
  const { 'transfer-encoding': encoding, 'content-length': length = 0 } = headers
  return encoding !== undefined || Number(length) > 0 || httpVersionMajor >= 2
}

/** Over HTTP/2 the end of the answer ends the request, too. */
function mayHaveBody({ method, httpVersionMajor }: Incoming): boolean {
  return httpVersionMajor >= 2 || (method !== 'GET' && method !== 'HEAD')
}

/** @throws INVALID_REQUEST when a parser has read the body and kept nothing of it, or not all of its digits */
function parsedBody({ headers, body, rawBody }: Incoming): Buffer {
  const known = rawBody ?? body
  if (typeof known === 'string' || known instanceof Uint8Array) return Buffer.from(known as string)
  const type = headers['content-type'] ?? ''
  if (typeof known === 'object' && known !== null) {
    if (/^application\/x-www-form-urlencoded\b/i.test(type)) {
      return Buffer.from(new URLSearchParams(known as Record<string, string>).toString())
    }
    if (/json/i.test(type)) return Buffer.from(JSON.stringify(known, exactNumber))
  }
  throw invalid('the body was read before: mount highkiq in front of body parsers')
}

/** A parser has rounded an integer that a double can't hold. @throws INVALID_REQUEST */
function exactNumber(name: string, value: unknown): unknown {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value
  throw invalid(`a body parser has rounded the number in ${name}: mount highkiq in front of body parsers`)
}

export interface ServeOptions extends HttpOptions {
  /** Default 7433; 0 for any free port. */
  port?: number
  /** Default 127.0.0.1. An address that other machines reach needs `auth`. */
  host?: string
}

/** Says in the message of an error of `listen` what to do. The error keeps its code. */
export function withListenAdvice(error: NodeJS.ErrnoException, port: number, host: string): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      error.message = `port ${port} of ${host} is in use, perhaps by another highkiq web: choose another port (0 picks a free one)`
      break
    case 'EACCES':
      error.message = `this user may not listen on port ${port} of ${host}: choose one above 1023, and put a proxy in front of it`
      break
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      error.message = `${host} is not an address of this machine (${error.code}): leave out the host for 127.0.0.1, or use 0.0.0.0 for all addresses`
  }
  return error
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
    throw invalidOption(`other machines can reach ${host}: set auth, or listen on 127.0.0.1 (the default)`)
  }
  // An upload may take longer than the five minutes that Node allows: limits.bodySeconds ends a slow one.
  const times = { requestTimeout: 0, headersTimeout: HEADERS_MS, connectionsCheckingInterval: HEADERS_MS / 4 }
  const context = serverContext(hq, rest)
  const server = createServer(times, listenerOf(hq, context))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(withListenAdvice(error, port, host)))
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
