/** Checks requests to a server without a login: only programs and browsers of its own machine may use it, and no proxy. */

import { BlockList, isIP, isIPv6 } from 'node:net'
import { HighkiqError } from '../../job/errors.ts'

/** The properties of a request's connection that the caller of a handler knows. */
export interface Peer {
  /**
   * The address of the client's end. Without it, and without `auth`, every request is refused, since any client can
   * send any Host.
   */
  remote?: string | undefined
  /**
   * The HTTP version: `1.0`, `1.1` or `2.0`. Without `auth`, HTTP/1.0 and older are refused: proxies speak them, browsers
   * do not.
   */
  httpVersion?: string | undefined
}

/** An IPv4 address inside IPv6 is checked as the IPv4 address. */
const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Headers that only a proxy adds. A page in a browser can't add most of them, and has no reason to add any. */
const OF_PROXIES = new RegExp(
  `^(${[
    'via|forwarded|x-forwarded(-.*)?|x-real-ip|x-original-host|cf-.*',
    '((x|x-cluster|true|fly|fastly)-)?client-ip|x-azure-clientip',
    'x-envoy-external-address|x-amzn-trace-id',
  ].join('|')})$`,
)

/** Returns whether an address or a name leads to this machine alone: 127.0.0.0/8, ::1, localhost and the names below it. */
export function isLoopback(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
  if (isIP(name)) return LOOPBACK.check(name, isIPv6(name) ? 'ipv6' : 'ipv4')
  return name === 'localhost' || name.endsWith('.localhost')
}

/** Returns the name in a Host header; '' for a header that holds anything but a name and a port. */
export function hostnameOf(host: string): string {
  if (/[^\w.:[\]-]/.test(host) || !URL.canParse(`http://${host}`)) return ''
  return new URL(`http://${host}`).hostname
}

/**
 * Refuses a request unless it comes from this machine without a proxy. It checks the client's address, since any client
 * can send any Host. It checks Host, since a page of another site can make its own name lead to this machine (DNS
 * rebinding). It checks for headers of a proxy, since its client may be anywhere. It checks Origin and Referer, which
 * still name the public host when a proxy changes Host.
 * @throws FORBIDDEN with what gave the request away
 */
export function checkLocal(request: Request, url: URL, { remote, httpVersion }: Peer): void {
  if (remote === undefined) {
    const message =
      'the address of the client is not known: set the option auth, or pass the address as the second argument, handle(request, { remote })'
    throw new HighkiqError('FORBIDDEN', message, { problem: 'no-login' })
  }
  const why = reasonAgainst(request, url, { remote, httpVersion })
  if (why === undefined) return
  const message = `a server without a login accepts requests from its own machine only, and ${why}: use http://localhost, or add a login (the option auth; highkiq web --token)`
  throw new HighkiqError('FORBIDDEN', message, { problem: 'no-login' })
}

function reasonAgainst({ headers }: Request, url: URL, { remote = '', httpVersion }: Peer): string | undefined {
  if (!isLoopback(remote)) return `this request comes from ${remote}`
  const host = headers.get('host') ?? url.host
  if (!isLoopback(url.hostname) || !isLoopback(hostnameOf(host))) return `the header Host names ${host}`
  for (const name of headers.keys())
    if (OF_PROXIES.test(name)) return `the header ${name} says that a proxy forwards this request`
  for (const name of ['origin', 'referer']) {
    const from = headers.get(name)
    if (from === null || !URL.canParse(from)) continue
    const { hostname } = new URL(from)
    if (!isLoopback(hostname)) return `the header ${name} names ${hostname || from}`
  }
  return Number(httpVersion) < 1.1 ? `HTTP/${httpVersion} says that a proxy forwards this request` : undefined
}
