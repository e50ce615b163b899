import type { Program } from '../programs/program.ts'

/** Checks the unit that a page shows. */
export const systemd: Program = {
  name: 'systemd',
  executables: ['systemd-analyze'],
  package: 'systemd',
  reasonAgainst: () => undefined,
}

/** The proxy of the pages. */
export const nginx: Program = {
  name: 'nginx',
  executables: ['nginx'],
  package: 'nginx-light',
  reasonAgainst: () => undefined,
}
