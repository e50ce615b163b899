import { type Program, versionOf } from '../programs/program.ts'

/** Ruby's Sidekiq. The suites speak with the one that Debian has; 7 and 8 have other classes, and other times in payloads. */
export const sidekiq: Program = {
  name: 'sidekiq',
  executables: ['sidekiq'],
  package: 'ruby-sidekiq',
  reasonAgainst(path) {
    const version = versionOf(path, '-V', /Sidekiq ([\d.]+)/)
    if (!version) return `${path} does not run`
    return version.startsWith('6.') ? undefined : `${path} is ${version}, and the suites speak with 6`
  },
}
