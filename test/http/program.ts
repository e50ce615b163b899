import { type Program, versionOf } from '../programs/program.ts'

/** The first version that supports light-dark(). */
const OLDEST = 123

export const chromium: Program = {
  name: 'chromium',
  // The headless shell is the same browser, and needs two thirds of the CPU.
  executables: ['chromium-headless-shell', 'chromium', 'google-chrome'],
  package: 'chromium-headless-shell',
  reasonAgainst(path) {
    const version = versionOf(path, '--version', /(?:Chromium|Chrome) ([\d.]+)/)
    if (!version) return `${path} does not run`
    return Number.parseInt(version, 10) < OLDEST ? `${path} is ${version}, older than ${OLDEST}` : undefined
  },
}
