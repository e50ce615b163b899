/** The texts of the page Doctor in English. */

import type { Phrase } from '../index.ts'

export const doctor = {
  'doctor.severity': 'Severity',
  'doctor.severity.ok': 'ok',
  'doctor.severity.warning': 'warning',
  'doctor.severity.error': 'error',
  'doctor.status.ok': 'nothing found',
  'doctor.status.warning': 'warnings',
  'doctor.status.error': 'errors',
  'doctor.finding': 'Finding',
  'doctor.examined': 'examined',
  'doctor.examining': 'Examining…',
  'doctor.again': 'Examine again',
} satisfies Record<string, Phrase>
