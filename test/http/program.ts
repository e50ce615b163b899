import { type Program, versionOf } from '../programs/program.ts'

/** The first that knows light-dark(). */
const OLDEST = 123

export const chromium: Program = {
  name: 'chromium',
  // The one without windows is the same browser, and takes two thirds of the CPU.
  executables: ['chromium-headless-shell', 'chromium', 'google-chrome'],
  package: 'chromium-headless-shell',
  reasonAgainst(path) {
    const version = versionOf(path, '--version', /(?:Chromium|Chrome) ([\d.]+)/)
    if (!version) return `${path} does not run`
    return Number.parseInt(version, 10) < OLDEST ? `${path} is ${version}, older than ${OLDEST}` : undefined
  },
}
