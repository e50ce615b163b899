/** The address of the client: the other end of its connection, or the address that trusted proxies report. */

import { BlockList, isIP, isIPv6 } from 'node:net'
import { type HighkiqError, invalidOption } from '../../job/errors.ts'
import type { Peer } from './local.ts'

export interface Source {
  address: string
  /** The address is that of a proxy, and any number of clients share it. */
  isProxy: boolean
}

/** The proxies that `trustProxy` names, by address or range: `10.0.0.0/8`, `::1`. */
export class TrustedProxies {
  readonly #list = new BlockList()
  readonly #isEmpty: boolean

  /** @throws INVALID_OPTION */
  constructor(ranges: unknown = []) {
    if (!Array.isArray(ranges)) throw wrong(ranges)
    for (const range of ranges) this.#add(range)
    this.#isEmpty = ranges.length === 0
  }

  /**
   * Returns the client, or the proxy that forwards for it when that proxy is not trusted or does not name the client. It
   * is undefined when the server did not pass the address of the connection.
   */
  sourceOf({ headers }: Pick<Request, 'headers'>, peer: Peer): Source | undefined {
    const remote = withoutZone(peer.remote ?? '')
    if (!isIP(remote)) return undefined
    const forwarded = headers.get('x-forwarded-for')
    if (forwarded === null) return { address: plain(remote), isProxy: false }
    const proxy = { address: plain(remote), isProxy: true }
    if (this.#isEmpty || !this.#has(remote)) return proxy
    // The nearest proxy added the last address. Everything before the first address that is not a trusted proxy's may
    // be invented.
    for (const one of forwarded.split(',').reverse()) {
      const address = withoutZone(withoutPort(one.trim()))
      if (!isIP(address)) return proxy
      if (!this.#has(address)) return { address: plain(address), isProxy: false }
    }
    return { address: plain(remote), isProxy: false }
  }

  #has(address: string): boolean {
    return this.#list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  }

  #add(range: unknown): void {
    if (typeof range !== 'string') throw wrong(range)
    const [address = '', prefix, ...more] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    const bits = Number(prefix)
    const most = family === 'ipv6' ? 128 : 32
    const isRange = prefix === undefined || (/^\d{1,3}$/.test(prefix) && bits <= most)
    if (!isIP(address) || !isRange || more.length > 0) throw wrong(range)
    if (prefix === undefined) this.#list.addAddress(address, family)
    else this.#list.addSubnet(address, bits, family)
  }
}

/** Returns the network by which logins are counted. The owner of one IPv6 address has its whole /64. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = head === '' ? [] : head.split(':')
  const zeros = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...(tail ? tail.split(':') : [])]
  return `${all.slice(0, 4).join(':')}::/64`
}

/** Turns an IPv4 address inside IPv6 into plain IPv4. */
function plain(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** Removes the zone from a link-local IPv6 address such as `fe80::1%eth0`, because `new URL` in `networkOf` throws for one. */
function withoutZone(address: string): string {
  return address.replace(/%.*$/s, '')
}

/** Removes the port from an address such as `192.0.2.7:5123` or `[2001:db8::1]:5123`. */
function withoutPort(text: string): string {
  return /^\[(.*)\](:\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
}

function wrong(range: unknown): HighkiqError {
  return invalidOption(
    `trustProxy must be a list of addresses and ranges, such as ['127.0.0.1', '10.0.0.0/8'] (got ${JSON.stringify(range)})`,
  )
}
