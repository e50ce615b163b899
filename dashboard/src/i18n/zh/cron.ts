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
}
