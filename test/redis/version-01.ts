/** The database that version 0.1 left behind; fixtures/version-0.1.mjs says what is in it. */

import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'

type Value = string | { base64: string }
type Command = [name: string, key: string, ...values: Value[]]

export const VERSION_01 = readFileSync(new URL('fixtures/version-0.1.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Command)

/** Writes it into an empty database. Returns a client of that. */
export async function restoreVersion01(url: string): Promise<Redis> {
  const redis = new Redis(url)
  onTestFinished(() => redis.disconnect())
  const pipeline = redis.pipeline()
  for (const [name, key, ...values] of VERSION_01) {
    const args = values.map((value) => (typeof value === 'string' ? value : Buffer.from(value.base64, 'base64')))
    pipeline.call(name, key, ...args)
  }
  for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error
  return redis
}
