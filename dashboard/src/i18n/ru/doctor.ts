/** The texts of the page Doctor in Russian. */

import type { doctor as english } from '../en/doctor.ts'
import type { TextsOf } from '../index.ts'

export const doctor: TextsOf<typeof english> = {
  'doctor.severity': 'Важность',
  'doctor.severity.ok': 'в порядке',
  'doctor.severity.warning': 'предупреждение',
  'doctor.severity.error': 'ошибка',
  'doctor.status.ok': 'всё в порядке',
  'doctor.status.warning': 'есть предупреждения',
  'doctor.status.error': 'есть ошибки',
  'doctor.finding': 'Что найдено',
  'doctor.examined': 'проверено',
  'doctor.examining': 'Проверка…',
  'doctor.again': 'Проверить снова',
}
