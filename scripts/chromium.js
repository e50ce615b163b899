// The browser of this machine.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-headless-shell', 'google-chrome']

/** Its path. @throws when there is none */
export function findChromium() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  const path = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
  if (!path) throw new Error(`No browser was found (${NAMES.join(', ')}): apt-get install chromium`)
  return path
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
