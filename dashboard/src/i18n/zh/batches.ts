/** The texts of batches in Chinese. */

import type { batches as english } from '../en/batches.ts'
import type { TextsOf } from '../index.ts'

export const batches: TextsOf<typeof english> = {
  'batches.title': '批次',
  'batches.none': '没有批次',
  'batches.noneWhat': '批次是一组作业，结束后会触发回调：',
  'batches.batch': '批次',
  'batches.total': '作业',
  'batches.pending': '未结束',
  'batches.succeeded': '成功',
  'batches.dead': '死信',
  'batches.failed': '失败',
  'batches.created': '创建时间',
  'batches.waits': '有作业在等待它',
  'batches.cancel': '取消',
  'batches.cancelled': '批次 {bid} 中未结束的作业已取消',
  'batches.state.running': '运行中',
  'batches.state.succeeded': '成功',
  'batches.state.dead': '有死信作业',
  'batches.state.failed': '失败',
  'batches.parent': '属于另一个批次',
  'batches.callbacks': '回调',
  'batches.callback': '回调',
  'batches.job': '作业',
  'batches.pushed': '触发时间',
  'batches.members': '未结束的作业',
  'batches.noMembers': '没有未结束的作业',
  'batches.memberState': '状态',
  'batches.nested': '嵌套批次',
  'batches.flow': '等待其子作业',
  'batches.member.waiting': '等待中',
  'batches.member.retrying': '将重试',
  'batches.member.dead': '死信',
}
