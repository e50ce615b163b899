import { findInPath, type Program, versionOf } from '../programs/program.ts'

/** The first that knows light-dark(). */
const OLDEST = 123

export const chromium: Program = {
  name: 'chromium',
  package: 'chromium',
  find: () => findInPath('chromium') ?? findInPath('google-chrome'),
  reasonAgainst(path) {
    const version = versionOf(path, '--version', /(?:Chromium|Chrome) ([\d.]+)/)
    if (!version) return `${path} does not run`
    return Number.parseInt(version, 10) < OLDEST ? `${path} is ${version}, older than ${OLDEST}` : undefined
  },
}
