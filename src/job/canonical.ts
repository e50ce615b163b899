import { stringifyJson } from './json.ts'

/**
 * JSON with the members of each object in one order, so that two payloads are the same when their texts are.
 *
 * @example canonicalJson({ b: 1, a: [{ d: 2, c: 3 }] }) // '{"a":[{"c":3,"d":2}],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  return stringifyJson(typeof value === 'object' && value !== null ? sorted(value) : value)
}

function sorted(value: object): unknown {
  if (Array.isArray(value)) return value.map((one) => (typeof one === 'object' && one !== null ? sorted(one) : one))
  // Without a prototype, so that a member may have any name.
  const out: Record<string, unknown> = Object.create(null)
  for (const key of Object.keys(value).sort()) {
    const one = (value as Record<string, unknown>)[key]
    out[key] = typeof one === 'object' && one !== null ? sorted(one) : one
  }
  return out
}
