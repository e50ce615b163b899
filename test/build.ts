import { execFileSync } from 'node:child_process'

/** The suites run what users run: the built package, imported by its own name. So build it before the first test. */
export default function build(): void {
  if (process.env.HIGHKIQ_TEST_PREBUILT) return
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
}
