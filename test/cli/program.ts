import { type Program, versionOf } from '../programs/program.ts'

/** A shell that completes the command line. Any version that runs is good enough. */
function shell(name: string): Program {
  return {
    name,
    executables: [name],
    package: name,
    reasonAgainst: (path) => (versionOf(path, '--version', /(\d+\.\d+)/) ? undefined : `${path} does not run`),
  }
}

export const zsh = shell('zsh')
export const fish = shell('fish')
