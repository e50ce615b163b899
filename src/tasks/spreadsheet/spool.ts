import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { HighkiqError, messageOf } from '../../job/errors.ts'
import { type OpenSource, openSource } from './source.ts'

/**
 * A stream as a file of its own below `folder` (default: the system's for temporary files), which is gone when it is
 * closed. What is a file or in memory already stays as it is.
 * @throws INVALID_OPTION: the folder can't be written to; whatever the stream fails with. Nothing is left then.
 */
export async function spooled(source: OpenSource, folder = tmpdir()): Promise<OpenSource> {
  if (source.path !== undefined || source.bytes !== undefined) return source
  const own = await mkdtemp(join(folder, 'highkiq-')).catch(async (error: unknown) => {
    await source.close()
    const message = `uploads can't be kept in ${JSON.stringify(folder)} (${messageOf(error)}): name a folder in the option artifacts`
    throw new HighkiqError('INVALID_OPTION', message, undefined, { cause: error })
  })
  const remove = () => rm(own, { recursive: true, force: true })
  try {
    const path = join(own, 'upload')
    const hash = createHash('sha256')
    await pipeline(hashed(source.chunks(), hash), createWriteStream(path, { mode: 0o600 }))
    const file = await openSource(path)
    const close = async () => {
      await file.close()
      await remove()
    }
    return { ...file, digest: hash.digest('hex'), close }
  } catch (error) {
    await remove()
    throw error
  } finally {
    await source.close()
  }
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: ReturnType<typeof createHash>) {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

/** SHA-256 of a source's bytes, in hex; undefined where they only pass by. */
export async function digestOf({ digest, path, bytes }: OpenSource): Promise<string | undefined> {
  const file = bytes ?? path
  if (digest !== undefined || file === undefined) return digest
  const hash = createHash('sha256')
  if (typeof file !== 'string') return hash.update(file).digest('hex')
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 ** 2 })) hash.update(chunk)
  return hash.digest('hex')
}
