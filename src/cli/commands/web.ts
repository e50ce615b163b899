/** `highkiq web`: the HTTP API, and the pages of who submitted a task. */

import { type Command, InvalidArgumentError } from 'commander'
import { variable } from '../../environment.ts'
import { onInterrupt } from '../interrupt.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { print } from '../output.ts'
import { CliError } from '../usage.ts'

interface WebOptions extends AppOptions {
  port: number
  host: string
  token?: string
}

const EXAMPLES = `
At 127.0.0.1 nobody has to log in, and nobody else gets in. Any other --host needs --token, better as HIGHKIQ_WEB_TOKEN:
clients send "Authorization: Bearer TOKEN".

Tasks are made of jobs that the files of -r define; everything else works without them.

Examples:
  highkiq web -r jobs.ts
  HIGHKIQ_WEB_TOKEN=… highkiq web -r jobs.ts --host 0.0.0.0 --port 8080
  curl -T products.csv -H content-type:text/csv -X POST 'http://localhost:7433/api/v1/tasks/import?job=ImportProduct'
`

export function register(program: Command): void {
  withAppOptions(program.command('web').description('serve the HTTP API until TERM or INT'))
    .option('-p, --port <number>', 'where it listens', portNumber, 7433)
    .option('--host <address>', 'where it listens', '127.0.0.1')
    .option('--token <token>', 'what clients must send; default HIGHKIQ_WEB_TOKEN')
    .addHelpText('after', EXAMPLES)
    .action(web)
}

function web({ port, host, token = variable('HIGHKIQ_WEB_TOKEN'), ...options }: WebOptions): Promise<void> {
  return withApp(options, async (hq) => {
    if (token === '') throw new CliError('--token is empty: give a long secret, or leave it out', 2)
    const auth = token === undefined ? {} : { auth: { bearer: token } }
    // A store that can't be opened is told by one line.
    await hq.store.open()
    const { serve } = await import('../../http/index.ts')
    const { url, close } = await serve(hq, { port, host, ...auth }).catch((thrown) => {
      throw unheard(thrown, { port, host })
    })
    const interrupt = onInterrupt()
    print(`${url}/api/v1 is served, of ${hq.store.url} (see ${url}/api/v1/openapi.json)`)
    await new Promise((resolve) => interrupt.signal.addEventListener('abort', resolve, { once: true }))
    await close()
  })
}

/** Why nothing can listen there, and what to do. */
export function unheard(thrown: unknown, { port, host }: { port: number; host: string }): unknown {
  const { code } = (thrown ?? {}) as NodeJS.ErrnoException
  switch (code) {
    case 'INVALID_OPTION':
      return new CliError(`${host} is reached by others: give --token (or HIGHKIQ_WEB_TOKEN), or leave out --host`, 2)
    case 'EADDRINUSE':
      return new CliError(
        `port ${port} of ${host} is in use, perhaps by another highkiq web: choose one with --port (0: any that is free)`,
      )
    case 'EACCES':
      return new CliError(
        `this user may not listen at port ${port} of ${host}: choose one above 1023 with --port, and let a proxy lead to it`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new CliError(
        `${host} is no address of this machine (${code}): leave out --host for 127.0.0.1, or take 0.0.0.0 for all of them`,
      )
    default:
      return thrown
  }
}

function portNumber(text: string): number {
  const n = Number(text)
  if (/^\d+$/.test(text) && n <= 65_535) return n
  throw new InvalidArgumentError('It is a number up to 65535; 0 is any that is free.')
}
