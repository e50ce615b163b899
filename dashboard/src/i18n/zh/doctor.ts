/** The texts of the page Doctor in Chinese. */

import type { doctor as english } from '../en/doctor.ts'
import type { TextsOf } from '../index.ts'

export const doctor: TextsOf<typeof english> = {
  'doctor.severity': '级别',
  'doctor.severity.ok': '正常',
  'doctor.severity.warning': '警告',
  'doctor.severity.error': '错误',
  'doctor.status.ok': '未发现问题',
  'doctor.status.warning': '有警告',
  'doctor.status.error': '有错误',
  'doctor.finding': '结果',
  'doctor.examined': '检查于',
  'doctor.examining': '正在检查…',
  'doctor.again': '重新检查',
}
