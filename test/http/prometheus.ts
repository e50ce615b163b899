import { type Program, versionOf } from '../programs/program.ts'

/** Checks expressions and metrics of Prometheus. */
export const promtool: Program = {
  name: 'promtool',
  executables: ['promtool'],
  package: 'prometheus',
  reasonAgainst: (path) => (versionOf(path, '--version', /version ([\d.]+)/) ? undefined : `${path} does not run`),
}
