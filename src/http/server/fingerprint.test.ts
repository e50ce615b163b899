import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { type Fingerprint, FingerprintStream } from './fingerprint.ts'

const chunks = (first: string) =>
  [first, ...Array.from({ length: 9 }, (_, n) => `${n}`)].map((text) => text.repeat(100))

async function passed(sent: string[], expected?: Fingerprint) {
  const file = new FingerprintStream(expected)
  const seen: Buffer[] = []
  file.on('data', (chunk: Buffer) => seen.push(chunk))
  const error = await pipeline(Readable.from(sent.map((text) => Buffer.from(text))), file).catch((thrown) => thrown)
  return { text: Buffer.concat(seen).toString(), fingerprint: file.fingerprint, ...(error ? { error } : {}) }
}

test('nothing of another file passes, not even before the known part ends', async () => {
  const { fingerprint } = await passed(chunks('a').slice(0, 5))
  const begun = { ...fingerprint, whole: false }
  expect(await passed(chunks('a'), begun)).toMatchObject({ text: chunks('a').join('') })
  expect(await passed(chunks('b'), begun)).toMatchObject({ text: '', error: { code: 'IDEMPOTENCY_KEY_REUSED' } })
  // It ends too soon.
  expect(await passed(chunks('a').slice(0, 4), begun)).toMatchObject({ error: { code: 'IDEMPOTENCY_KEY_REUSED' } })
  const whole = await passed(chunks('a'), fingerprint)
  expect(whole).toMatchObject({ text: chunks('a').slice(0, 5).join(''), error: { code: 'IDEMPOTENCY_KEY_REUSED' } })
})

test('a file without a known fingerprint passes unchanged', async () => {
  const file = new FingerprintStream(undefined)
  const all = buffer(file)
  for (const text of chunks('a')) file.write(text)
  file.end()
  expect((await all).toString()).toBe(chunks('a').join(''))
  expect(file.fingerprint).toMatchObject({ bytes: 1000, whole: true })
})
