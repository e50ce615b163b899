// Checks the packages that come with Highkiq: their licences, and whether the registry knows weaknesses of them.
//   node scripts/check-dependencies.js            checks
//   node scripts/check-dependencies.js --sbom     prints them as CycloneDX (a software bill of materials) instead
// Downloads the program that lists them.
import { spawnSync } from 'node:child_process'

// npm sbom leaves out packages that are dependencies of the development, too.
const LISTER = '@cyclonedx/cyclonedx-npm@6.0.1'
/** Licences that let anybody use, change and pass on a package, also in a closed product. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
])
/** A weakness of this severity or a higher one fails the check. */
const SEVERITY = 'high'

const materials = run('npx', '--yes', LISTER, '--omit', 'dev', '--output-reproducible')
if (materials.status !== 0) throw new Error(`${LISTER} failed: ${materials.stderr}`)
if (process.argv.includes('--sbom')) process.stdout.write(materials.stdout)
else {
  const { components } = JSON.parse(materials.stdout)
  const problems = [...components.flatMap(licenceProblem), ...weaknesses()]
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
  else console.log(`${components.length} packages come with Highkiq, all with licences that anybody can accept`)
}

function licenceProblem({ name, version, licenses = [] }) {
  const ids = licenses.map(({ license, expression }) => expression ?? license.id ?? license.name)
  // Of alternatives one must be allowed.
  if (
    ids.some((id) =>
      id
        .replace(/[()]/g, '')
        .split(' OR ')
        .some((one) => ALLOWED.has(one)),
    )
  )
    return []
  const licence = ids.join(', ') || 'no licence'
  return `${name} ${version}: ${licence}: use another package, or add the licence to ALLOWED`
}

/** Asks the registry. One without an audit endpoint, as some mirrors, does not fail the check. */
function weaknesses() {
  const { stdout, status } = run('npm', 'audit', '--omit=dev', `--audit-level=${SEVERITY}`, '--json')
  const { metadata, vulnerabilities = {}, message } = JSON.parse(stdout || '{}')
  if (!metadata) console.log(`not audited: the registry gave no answer (${message ?? 'nothing'})`)
  if (!metadata || status === 0) return []
  return Object.values(vulnerabilities).map(({ name, severity }) => `${name} has a weakness (${severity}): npm audit`)
}

function run(program, ...args) {
  return spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 26 })
}
