/** Reads server-sent events. */

import { expect } from 'vitest'

export interface Told {
  id?: string
  event?: string
  data?: string
}

/** Yields the events of a stream until it ends. */
export async function* eventsOf(response: Response): AsyncGenerator<Told, undefined> {
  let rest = ''
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream() as never,
  ) as AsyncIterable<string>) {
    rest += chunk
    const parts = rest.split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const fields = part.split('\n').filter((line) => !line.startsWith(':') && !line.startsWith('retry'))
      if (fields.length > 0) yield Object.fromEntries(fields.map((line) => line.split(/: (.*)/s)))
    }
  }
  expect(rest).toBe('')
}
