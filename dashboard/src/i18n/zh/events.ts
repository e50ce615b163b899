/** The texts of events in Chinese. */

import type { events as english } from '../en/events.ts'
import type { TextsOf } from '../index.ts'

export const events: TextsOf<typeof english> = {
  'events.since': '自 {at} 起',
  'events.begins': '约两秒后从新事件开始',
  'events.pause': '暂停',
  'events.continue': '继续',
  'events.paused': '已暂停',
  'events.kind': '事件',
  'events.allKinds': '全部事件',
  'events.none': '暂无事件',
  'events.noneWhat':
    '记录从第一个读者（例如本页）开始，在最后一个读者离开一小时后结束。任务的行和有序队列在此没有事件。',
  'events.why': '原因',
  'events.due': '运行时间',
  'events.attempt': '尝试',
  'events.at': '时间',
  'events.kind.pushed': '已推入',
  'events.kind.started': '已开始',
  'events.kind.progress': '进度',
  'events.kind.succeeded': '成功',
  'events.kind.failed': '失败',
  'events.kind.retried': '将重试',
  'events.kind.died': '已终止',
  'events.kind.cancelled': '已取消',
}
