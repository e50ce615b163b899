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

/** The placeholder for the mount path in the page. Its files name each other relative to themselves. */
const PLACEHOLDER = '/__base__'

const PACKED = new Set(['.js', '.css', '.json', '.map', '.txt', '.svg'])

/** Smaller files are not compressed. */
const SMALL = 1000

const PACKERS: Record<string, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 9 }),
}

/** The files of one build, which are the same for each mount path. */
interface Build {
  /** The page, with the placeholder. */
  index: string
  files: ReadonlyMap<string, Buffer>
  /** The compressed files by encoding and name. */
  packed: Map<string, Promise<Buffer>>
}

export class Dashboard {
  readonly #folder: string | undefined
  /** The build time of `#build`. */
  #builtAt = 0
  #build: Promise<Build> | undefined

  /** @param folder of a build; default: the build of this package */
  constructor(folder?: string) {
    this.#folder = folder
  }

  /** Returns the page, which is the same for all addresses of the dashboard. */
  async page(base: string): Promise<Response> {
    const build = await this.#read()
    if (build) {
      const headers = { 'content-type': HTML, 'cache-control': 'no-cache' }
      return new Response(
        build.index.replaceAll(PLACEHOLDER, () => encodedBase(base)),
        { headers },
      )
    }
    const text = 'Run npm run build to create its files. The API works without them.'
    const page = plainPage('The dashboard is not built', text, base)
    return new Response(page, { status: 503, headers: { 'content-type': HTML } })
  }

  /** Returns a file. @throws UNKNOWN_ROUTE */
  async file(name: string, request: Request): Promise<Response> {
    const build = await this.#read()
    const bytes = build?.files.get(name)
    if (!build || !bytes) throw new HighkiqError('UNKNOWN_ROUTE', `the dashboard has no file ${basename(name)}`)
    const canPack = PACKED.has(extname(name)) && bytes.length >= SMALL
    const encoding = canPack ? encodingOf(request.headers.get('accept-encoding') ?? '') : undefined
    const body = encoding === undefined ? bytes : await packed(build, encoding, name, bytes)
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
  async #read(): Promise<Build | undefined> {
    const folder = this.#folder ?? fileURLToPath(packageFile('dashboard/'))
    const built = await stat(join(folder, 'index.html')).catch(() => undefined)
    if (!built) return undefined
    if (!this.#build || this.#builtAt !== built.mtimeMs) {
      const build = readBuild(folder)
      this.#build = build
      this.#builtAt = built.mtimeMs
      build.catch(() => {
        if (this.#build === build) this.#build = undefined
      })
    }
    return this.#build
  }
}

async function readBuild(folder: string): Promise<Build> {
  const assets = join(folder, 'assets')
  const names = await readdir(assets).catch(() => [])
  const read = async (name: string) => [name, await readFile(join(assets, name))] as const
  const index = await readFile(join(folder, 'index.html'), 'utf8')
  return { index, files: new Map(await Promise.all(names.map(read))), packed: new Map() }
}

/** Compresses a file once. */
function packed(build: Build, encoding: string, name: string, bytes: Buffer): Promise<Buffer> {
  const key = `${encoding} ${name}`
  const made = build.packed.get(key) ?? (PACKERS[encoding] as (typeof PACKERS)[string])(bytes)
  build.packed.set(key, made)
  return made
}

/** Encodes the mount path so that it can't end a string or a tag. */
function encodedBase(base: string): string {
  return base.replace(/[^\w\-./~%!$*+,;=:@]/g, (c) => {
    const code = encodeURIComponent(c)
    return code === c ? `%${c.charCodeAt(0).toString(16).toUpperCase()}` : code
  })
}

function encodingOf(accepted: string): string | undefined {
  const takes = parseAccept(accepted.toLowerCase()).filter(({ q }) => q > 0)
  return Object.keys(PACKERS).find((encoding) => takes.some(({ type }) => type === encoding))
}
