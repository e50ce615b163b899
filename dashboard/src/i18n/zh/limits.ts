/** The texts of limits in Chinese. */

import type { limits as english } from '../en/limits.ts'
import type { TextsOf } from '../index.ts'

export const limits: TextsOf<typeof english> = {
  'limits.title': '限额',
  'limits.none': '没有使用中的限额',
  'limits.noneWhat': '限额规定同时运行或在一段时间内开始的作业数量：',
  'limits.limit': '限额',
  'limits.used': '运行中',
  'limits.usedOf': '{n} / {most}',
  'limits.rate': '速率',
  'limits.ratePer': '{time} 内 {n} 个',
  'limits.waiting': '等待',
  'limits.next': '下次开始',
  'limits.now': '现在',
  'limits.in': '{time} 后',
  'limits.kind.job': '作业 {name}',
  'limits.kind.shared': '限额 {name}',
  'limits.kind.queue': '队列 {name}',
  'limits.kind.app': '所有作业',
}
