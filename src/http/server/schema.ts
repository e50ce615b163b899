/** Checks bodies against their schemas. */

import * as v from 'valibot'
import { shown } from '../../job/options.ts'
import { invalid } from './answer.ts'
import { readObject } from './body.ts'
import type { Call } from './route.ts'

/** The parts of a schema by which a message finds a member. */
interface Part {
  wrapped?: Part
  item?: Part
  entries?: Record<string, Part>
  must?: string
}

/**
 * Reads the body of a request, `{}` without one.
 * @throws what readObject and checked throw
 */
export async function bodyOf<S extends v.GenericSchema>(
  { request, server }: Pick<Call, 'request' | 'server'>,
  schema: S,
  what?: string,
  limit = server.limits.bodyBytes,
): Promise<v.InferOutput<S>> {
  return checked(schema, await readObject(request, limit), what)
}

/**
 * Returns a body that has the schema.
 * @param what the subject of the message about an unknown member
 * @throws INVALID_REQUEST that names the member
 */
export function checked<S extends v.GenericSchema>(schema: S, body: unknown, what = 'the body'): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, body, { abortEarly: true })
  if (success) return output
  const [issue] = issues
  const path = issue.path ?? []
  let part: Part | undefined = schema as Part
  let must: string | undefined
  for (const [i, { key }] of path.entries()) {
    const parent = unwrapped(part)
    part = parent.item ?? parent.entries?.[key as string]
    if (!part) {
      const where = path.slice(0, i).map((one) => one.key)
      throw unknownMember(where.join('.') || what, String(key), Object.keys(parent.entries ?? {}))
    }
    must ??= mustOf(part)
  }
  const [member] = path
  if (!member) throw invalid(issue.message)
  const wrong = path.length === 1 ? shown(member.value) : `${shown(issue.input)} in ${v.getDotPath(issue)}`
  throw invalid(`\`${member.key}\` must be ${must ?? issue.expected} (got ${wrong})`)
}

const mustOf = ({ must, wrapped }: Part): string | undefined => must ?? (wrapped && mustOf(wrapped))
const unwrapped = (part: Part): Part => (part.wrapped ? unwrapped(part.wrapped) : part)

/** @throws INVALID_REQUEST for a member that the schema does not have; the caller checks the rest */
export function refuseUnknown(schema: { entries: object }, body: object, what: string): void {
  const known = Object.keys(schema.entries)
  const odd = Object.keys(body).find((name) => !known.includes(name))
  if (odd !== undefined) throw unknownMember(what, odd, known)
}

function unknownMember(what: string, name: string, known: readonly string[]): Error {
  return invalid(`${what} has no member ${JSON.stringify(name)} (known: ${known.join(', ')})`)
}
