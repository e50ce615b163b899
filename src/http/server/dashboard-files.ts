/** Serves the dashboard that `npm run build` created: one page for all its addresses, and its files. */

import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { parseAccept } from 'hono/utils/accept'
import { getMimeType } from 'hono/utils/mime'
import { HighkiqError } from '../../job/errors.ts'
import { packageFile } from '../../load/package.ts'
import { HTML, plainPage } from './html-page.ts'

/** The placeholder for the mount path in the files. */
const PLACEHOLDER = '/__base__'

const PACKED = new Set(['.js', '.css', '.json', '.map', '.txt', '.svg'])

/** Smaller files are not compressed. */
const SMALL = 1000

const PACKERS: Record<string, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 9 }),
}

/** The built files for one mount path. */
interface Edition {
  index: Buffer
  files: ReadonlyMap<string, Buffer>
  /** The compressed files by encoding and name. */
  packed: Map<string, Promise<Buffer>>
}

/** The most mount paths in memory. */
const MOST_EDITIONS = 10

export class Dashboard {
  readonly #folder: string | undefined
  /** The build time of `#editions`. */
  #builtAt = 0
  #editions = new Map<string, Promise<Edition>>()

  /** @param folder of a build; default: the build of this package */
  constructor(folder?: string) {
    this.#folder = folder
  }

  /** Returns the page, which is the same for all addresses of the dashboard. */
  async page(base: string): Promise<Response> {
    const edition = await this.#edition(base)
    if (edition) {
      const headers = { 'content-type': HTML, 'cache-control': 'no-cache' }
      return new Response(new Uint8Array(edition.index), { headers })
    }
    const text = 'Run npm run build to create its files. The API works without them.'
    const page = plainPage('The dashboard is not built', text, base)
    return new Response(page, { status: 503, headers: { 'content-type': HTML } })
  }

  /** Returns a file. @throws UNKNOWN_ROUTE */
  async file(base: string, name: string, request: Request): Promise<Response> {
    const edition = await this.#edition(base)
    const bytes = edition?.files.get(name)
    if (!edition || !bytes) throw new HighkiqError('UNKNOWN_ROUTE', `the dashboard has no file ${basename(name)}`)
    const canPack = PACKED.has(extname(name)) && bytes.length >= SMALL
    const encoding = canPack ? encodingOf(request.headers.get('accept-encoding') ?? '') : undefined
    const body = encoding === undefined ? bytes : await packed(edition, encoding, name, bytes)
    const headers = new Headers({
      'content-type': getMimeType(name) ?? 'application/octet-stream',
      // The name of a file changes with its content.
      'cache-control': 'public, max-age=31536000, immutable',
      'content-length': String(body.length),
      vary: 'accept-encoding',
    })
    if (encoding) headers.set('content-encoding', encoding)
    return new Response(new Uint8Array(body), { headers })
  }

  /** Returns undefined when there is no build. @throws BUNDLED */
  async #edition(base: string): Promise<Edition | undefined> {
    const folder = this.#folder ?? fileURLToPath(packageFile('dashboard/'))
    const built = await stat(join(folder, 'index.html')).catch(() => undefined)
    if (!built) return undefined
    if (this.#builtAt !== built.mtimeMs || this.#editions.size >= MOST_EDITIONS) this.#editions = new Map()
    this.#builtAt = built.mtimeMs
    let edition = this.#editions.get(base)
    if (!edition) {
      edition = readEdition(folder, base)
      this.#editions.set(base, edition)
      edition.catch(() => this.#editions.delete(base))
    }
    return edition
  }
}

async function readEdition(folder: string, base: string): Promise<Edition> {
  const assets = join(folder, 'assets')
  const names = await readdir(assets).catch(() => [])
  const read = async (name: string) => {
    const bytes = await readFile(join(assets, name))
    return [name, PACKED.has(extname(name)) ? based(bytes, base) : bytes] as const
  }
  const index = based(await readFile(join(folder, 'index.html')), base)
  return { index, files: new Map(await Promise.all(names.map(read))), packed: new Map() }
}

/** Compresses a file once. */
function packed(edition: Edition, encoding: string, name: string, bytes: Buffer): Promise<Buffer> {
  const key = `${encoding} ${name}`
  const made = edition.packed.get(key) ?? (PACKERS[encoding] as (typeof PACKERS)[string])(bytes)
  edition.packed.set(key, made)
  return made
}

/** Inserts the mount path, encoded so that it can't end a string or a tag. */
function based(bytes: Buffer, base: string): Buffer {
  if (!bytes.includes(PLACEHOLDER)) return bytes
  const path = base.replace(/[^\w\-./~%!$*+,;=:@]/g, (c) => {
    const code = encodeURIComponent(c)
    return code === c ? `%${c.charCodeAt(0).toString(16).toUpperCase()}` : code
  })
  return Buffer.from(bytes.toString('utf8').replaceAll(PLACEHOLDER, path))
}

function encodingOf(accepted: string): string | undefined {
  const takes = parseAccept(accepted.toLowerCase()).filter(({ q }) => q > 0)
  return Object.keys(PACKERS).find((encoding) => takes.some(({ type }) => type === encoding))
}
