import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { HighkiqError, messageOf } from '../../job/errors.ts'
import { COPY, removeOrphanedUploads, uploadPrefix } from './orphaned-uploads.ts'
import { type OpenSource, openSource } from './source.ts'

/**
 * Copies a stream to a temporary file below `folder` (default: the system's folder for temporary files), which is removed
 * when it is closed. A path or Buffer is returned as it is. Also removes the copies that killed processes left there.
 * @throws INVALID_OPTION if the folder can't be written to; the error of the stream. No file is left then.
 */
export async function spooled(source: OpenSource, folder = tmpdir()): Promise<OpenSource> {
  if (source.path !== undefined || source.bytes !== undefined) return source
  await removeOrphanedUploads(folder)
  const own = await mkdtemp(join(folder, uploadPrefix())).catch(async (error: unknown) => {
    await source.close()
    const hint = 'name a folder in the option artifacts'
    const message = `uploads can't be kept in ${JSON.stringify(folder)} (${messageOf(error)}): ${hint}`
    throw new HighkiqError('INVALID_OPTION', message, { option: 'artifacts', hint }, { cause: error })
  })
  const remove = () => rm(own, { recursive: true, force: true })
  try {
    const path = join(own, COPY)
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

/** Returns the SHA-256 of a source in hex; undefined for a stream that is not stored. */
export async function digestOf({ digest, path, bytes }: OpenSource): Promise<string | undefined> {
  const file = bytes ?? path
  if (digest !== undefined || file === undefined) return digest
  const hash = createHash('sha256')
  if (typeof file !== 'string') return hash.update(file).digest('hex')
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 ** 2 })) hash.update(chunk)
  return hash.digest('hex')
}
