/** Counts attempts to log in, slows down wrong ones, and reports them to the audit. */

import { HighkiqError } from '../../job/errors.ts'
import { networkOf, TrustedProxies } from './address.ts'
import type { Peer } from './local.ts'
import { LoginThrottle } from './throttle.ts'

export interface LoginEvent {
  /** The name of the login; null for a wrong login. */
  who: string | null
  how: 'bearer' | 'basic' | 'form'
  /** The client's address, or that of an untrusted proxy; null when the server did not pass it. */
  address: string | null
  /** The name that a wrong login by name and password gave. */
  name?: string
  /** Seconds for which further logins are refused. */
  refusedFor?: number
}

export interface LoginsOptions {
  /** @see TrustedProxies */
  trustProxy?: unknown
  /** Called for each wrong login, and for the first right one from each address. */
  onLogin?: (event: LoginEvent) => void
}

/**
 * The number of logins that are remembered with their address. Their next requests are not reported again, and wrong
 * logins from other addresses can't lock them out.
 */
const MOST_KNOWN = 1000
const LONGEST_NAME = 100

export type Logins = ReturnType<typeof loginsOf>

/** @throws INVALID_OPTION */
export function loginsOf({ trustProxy, onLogin = () => {} }: LoginsOptions) {
  const proxies = new TrustedProxies(trustProxy)
  const throttle = new LoginThrottle()
  const knownLogins = new Set<string>()

  return function attempt(request: Request, peer: Peer, how: LoginEvent['how'], name?: string) {
    const source = proxies.sourceOf(request, peer)
    const network = source && networkOf(source.address)
    const own = source?.isProxy ? undefined : network
    const isKnown = name !== undefined && own !== undefined && knownLogins.has(idOf(name, own))
    const keys = {
      address: own,
      proxy: source?.isProxy ? network : undefined,
      name: isKnown ? undefined : name?.slice(0, LONGEST_NAME),
    }
    const about = { how, address: source?.address ?? null }
    return {
      /** @throws TOO_MANY_REQUESTS */
      refuseEarly: () => {
        const ms = throttle.wait(keys)
        if (ms > 0) throw tooMany(ms)
      },
      /**
       * Counts a wrong login.
       * @returns the error to throw
       */
      wrong: (): HighkiqError => {
        const early = throttle.wait(keys)
        if (early > 0) return tooMany(early)
        const ms = throttle.failed(keys)
        const said = name === undefined ? {} : { name: name.slice(0, LONGEST_NAME) }
        onLogin({ who: null, ...about, ...said, ...(ms > 0 ? { refusedFor: ms / 1000 } : {}) })
        return new HighkiqError('UNAUTHORIZED', 'the login is wrong: check the header Authorization or the token')
      },
      /**
       * Counts a right login.
       * @param always report the login also from an address that is known already
       */
      right: (who: string, always = false) => {
        throttle.succeeded(keys)
        const id = idOf(who, network)
        if (!always && knownLogins.has(id)) return
        knownLogins.add(id)
        for (const oldest of knownLogins) {
          if (knownLogins.size <= MOST_KNOWN) break
          knownLogins.delete(oldest)
        }
        onLogin({ who, ...about })
      },
    }
  }
}

const idOf = (name: string, network = '') => `${network} ${name}`

function tooMany(ms: number): HighkiqError {
  const retryAfter = Math.ceil(ms / 1000)
  return new HighkiqError('TOO_MANY_REQUESTS', `too many wrong logins: try again in ${retryAfter} s`, { retryAfter })
}
