/** The dashboard and the API, for commands that serve them. */

import { variable } from '../environment.ts'
import type { Highkiq } from '../index.ts'
import { CliError } from './usage.ts'

export const WEB_PORT = 7433
export const WEB_HOST = '127.0.0.1'

export interface WebAddress {
  port: number
  host: string
}

/** @throws CliError: why nothing can listen there, and what to do */
export async function serveWeb(
  hq: Highkiq,
  { port, host }: WebAddress,
  { token = variable('HIGHKIQ_WEB_TOKEN'), readOnly = false }: { token?: string; readOnly?: boolean } = {},
): Promise<{ url: string; close(): Promise<void> }> {
  if (token === '') throw new CliError('--token is empty: give a long secret, or leave it out', 2)
  if (token === undefined) await checkHost(host)
  const auth = token === undefined ? {} : { auth: { bearer: token } }
  // Most commands serve nothing.
  const { serve } = await import('../http/index.ts')
  return serve(hq, { port, host, readOnly, ...auth }).catch((thrown) => {
    throw unheard(thrown, { port, host })
  })
}

/** @throws CliError: others reach that address, and nobody would have to log in */
export async function checkHost(host: string, token = variable('HIGHKIQ_WEB_TOKEN')): Promise<void> {
  const { isLoopback } = await import('../http/access/local.ts')
  if (token !== undefined || isLoopback(host)) return
  throw new CliError(
    `${host} is reached by others: give a token (HIGHKIQ_WEB_TOKEN, or highkiq web --token), or leave out the host`,
    2,
  )
}

/** Why nothing can listen there, and what to do. */
export function unheard(thrown: unknown, { port, host }: WebAddress): unknown {
  const { code } = (thrown ?? {}) as NodeJS.ErrnoException
  switch (code) {
    case 'EADDRINUSE':
      return new CliError(
        `port ${port} of ${host} is in use, perhaps by another highkiq web: choose another port (0: any that is free)`,
      )
    case 'EACCES':
      return new CliError(
        `this user may not listen at port ${port} of ${host}: choose one above 1023, and let a proxy lead to it`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new CliError(
        `${host} is no address of this machine (${code}): leave out the host for 127.0.0.1, or take 0.0.0.0 for all of them`,
      )
    default:
      return thrown
  }
}
