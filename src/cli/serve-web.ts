/** Serves the dashboard and the API, for `highkiq web` and `highkiq work --web`. */

import { variable } from '../environment.ts'
import type { Highkiq } from '../index.ts'
import { io } from './io.ts'
import { CliError } from './usage.ts'

export const WEB_PORT = 7433
export const WEB_HOST = '127.0.0.1'

export interface WebAddress {
  port: number
  host: string
}

/** @throws CliError when the address can't be used, with what to do */
export async function serveWeb(
  hq: Highkiq,
  { port, host }: WebAddress,
  { token = variable('HIGHKIQ_WEB_TOKEN', io().env), readOnly = false }: { token?: string; readOnly?: boolean } = {},
): Promise<{ url: string; close(): Promise<void> }> {
  if (token === '') throw new CliError('--token must not be empty: give a long secret, or leave it out', 2)
  if (token === undefined) await checkHost(host)
  const auth = token === undefined ? {} : { auth: { bearer: token } }
  // Loaded only here, because most commands do not serve.
  const { serve } = await import('../http/index.ts')
  return serve(hq, { port, host, readOnly, ...auth }).catch((thrown) => {
    throw listenError(thrown, { port, host })
  })
}

/** @throws CliError when other machines could reach the address without a login */
export async function checkHost(host: string, token = variable('HIGHKIQ_WEB_TOKEN', io().env)): Promise<void> {
  const { isLoopback } = await import('../http/access/local.ts')
  if (token !== undefined || isLoopback(host)) return
  const message = `other machines can reach ${host}, so it needs a token: set HIGHKIQ_WEB_TOKEN (or highkiq web --token), or leave out the host`
  throw new CliError(message, 2)
}

/** Rewords an error of `listen` with what to do. */
export function listenError(thrown: unknown, { port, host }: WebAddress): unknown {
  const { code } = (thrown ?? {}) as NodeJS.ErrnoException
  switch (code) {
    case 'EADDRINUSE':
      return new CliError(
        `port ${port} of ${host} is in use, perhaps by another highkiq web: choose another port (0 picks a free one)`,
      )
    case 'EACCES':
      return new CliError(
        `this user may not listen on port ${port} of ${host}: choose one above 1023, and put a proxy in front of it`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new CliError(
        `${host} is not an address of this machine (${code}): leave out the host for 127.0.0.1, or use 0.0.0.0 for all addresses`,
      )
    default:
      return thrown
  }
}
