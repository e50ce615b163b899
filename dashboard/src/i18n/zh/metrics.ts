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
  'metrics.unmeasured': '只有前 {n} 个类有百分位数：按 p95 排序可查看全部',
  'wait.scale': '刻度从 {from} 到 {to}；{long} 起为黄色，{tooLong} 起为红色',
  'deploys.title': '部署',
  'deploys.which': '部署前后',
  'deploys.before': '之前：从 {from} 到 {to}',
  'deploys.after': '之后：从 {from} 到 {to}',
  'deploys.none': '没有这次部署',
  'deploys.noneWhat': '记录每次部署，此页便会比较其前后的运行：',
  'deploys.worse': { other: '{n} 个类变差' },
  'deploys.noneWorse': '没有类变差',
  'deploys.worse.fails': '失败更多',
  'deploys.worse.slower': '更慢',
  'deploys.was': '之前 {before}',
  'deploys.noRuns': '没有可比较的运行',
  'deploys.noRunsWhat': '运行记录保留三天；每个进程每十秒写入一次。',
}
