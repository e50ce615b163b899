import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('../scripts/build.js', import.meta.url))

/** The suites run what users run: the built package, imported by its own name. Builds what has changed since the last build. */
export default function build(): void {
  if (process.env.HIGHKIQ_TEST_PREBUILT) return
  execFileSync('node', [SCRIPT, '--changed'], { stdio: 'inherit' })
}
