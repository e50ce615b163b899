import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type Program, pathOf, versionOf } from './program.ts'

/** Makes certificates. */
export const openssl: Program = {
  name: 'openssl',
  executables: ['openssl'],
  package: 'openssl',
  reasonAgainst: (path) => (versionOf(path, 'version', /(\S+ \S+)/) ? undefined : `${path} does not run`),
}

/** Makes a key, and a certificate for 127.0.0.1 that it signs itself. Returns the paths of both files. */
export function makeCertificate(folder: string): { key: string; certificate: string } {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')] as const
  const options = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync(pathOf(openssl) as string, ['req', ...options, ...names, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  })
  return { key, certificate }
}
