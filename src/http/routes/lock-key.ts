/** Keys of locks as a viewer sees them. */

import { isDigest } from '../../job/unique.ts'
import type { ServerContext } from '../server/server-context.ts'

type Seals = Pick<ServerContext, 'redaction' | 'seal'>

/**
 * Returns a function that returns the key to show. A key is a digest of arguments, by which a guess could be checked. So
 * a server that hides values shows it encrypted.
 */
export async function shownKeys(server: Seals): Promise<(key: string) => string> {
  if (!server.redaction.isOn) return (key) => key
  const seal = await server.seal()
  return (key) => (isDigest(key) ? seal.close(key, 'lock key') : key)
}

/** Returns the key of a lock, given the text that was shown for it; undefined if no key was shown as this text. */
export async function keyBehind(server: Seals, shown: string): Promise<string | undefined> {
  return server.redaction.isOn && isDigest(shown) ? (await server.seal()).open(shown, 'lock key') : shown
}
