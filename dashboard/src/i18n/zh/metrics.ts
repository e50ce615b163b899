/** The texts of metrics in Chinese. */

import type { metrics as english } from '../en/metrics.ts'
import type { TextsOf } from '../index.ts'

export const metrics: TextsOf<typeof english> = {
  'metrics.title': '指标',
  'metrics.search': '类名',
  'metrics.span': '从 {from} 到 {to}',
  'metrics.hours': { other: '{n} 小时' },
  'metrics.none': '此期间没有结束的作业',
  'metrics.nothingRan': '此期间该类没有结束的作业',
  'metrics.noneWhat': '每次运行按类和分钟计数，最迟在结束后十秒。',
  'metrics.job': '类',
  'metrics.runs': '运行次数',
  'metrics.failed': '失败',
  'metrics.total': '总耗时',
  'metrics.retriesOf': '其重试',
  'metrics.perMinute': '每分钟运行次数',
  'metrics.runTimes': '运行时间',
  'metrics.heatWhat': '颜色越浓，耗时如此的运行越多',
}
