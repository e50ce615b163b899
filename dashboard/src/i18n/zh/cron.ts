/** The texts of cron entries in Chinese. */

import type { cron as english } from '../en/cron.ts'
import type { TextsOf } from '../index.ts'

export const cron: TextsOf<typeof english> = {
  'cron.title': '定时',
  'cron.none': '没有定时任务',
  'cron.noneWhat': '定义条目的应用启动工作进程后，条目会出现在这里：',
  'cron.name': '条目',
  'cron.when': '时间',
  'cron.next': '下次',
  'cron.last': '上次',
  'cron.run': '立即运行',
  'cron.paused': '已暂停',
  'cron.undefined': '没有活动进程定义它',
  'cron.byFunction': '由函数生成',
  'cron.did.run': '{name} 立即运行',
  'cron.did.pause': '{name} 已暂停（部署后仍保持）',
  'cron.did.resume': '{name} 从现在起继续',
  'cron.job': '作业',
  'cron.queue': '队列',
  'cron.missed': '错过的时刻',
  'cron.overlap': '重叠',
  'cron.nextTicks': '接下来五次',
  'cron.runs': '最近运行',
  'cron.noRuns': '此条目还没有推入过作业。',
  'cron.tick': '时刻',
  'cron.byHand': '手动运行',
  'cron.state': '状态',
  'cron.took': '耗时',
  'cron.state.waiting': '等待中',
  'cron.state.running': '运行中',
  'cron.state.retrying': '将重试',
  'cron.state.succeeded': '成功',
  'cron.state.failed': '失败',
  'cron.state.dead': '死信',
  'cron.state.cancelled': '已取消',
}
