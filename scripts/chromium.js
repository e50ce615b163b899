// The browser of this machine, as a user has it.
import { findInPath } from './path.js'

const NAMES = ['chromium', 'google-chrome', 'chromium-headless-shell']

/** Its path. @throws when there is none */
export function findChromium() {
  const path = NAMES.map((name) => findInPath(name)).find(Boolean)
  if (!path) throw new Error(`No browser was found (${NAMES.join(', ')}): apt-get install chromium`)
  return path
}
