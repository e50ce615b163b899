/** The texts of the page of all jobs in Chinese. */

import type { allJobs as english } from '../en/all-jobs.ts'
import type { TextsOf } from '../index.ts'

export const allJobs: TextsOf<typeof english> = {
  'jobs.title': '作业',
  'jobs.states': '状态',
  'jobs.state': '状态',
  'jobs.state.running': '执行中',
  'jobs.state.queued': '排队中',
  'jobs.state.limited': '受限',
  'jobs.backlog': '任务中的行',
  'jobs.rejected': '被拒绝的行',
  'jobs.finished': '已完成的行',
  'jobs.morgue': '停尸房',
  'jobs.ordered': '有序队列',
  'jobs.search': '搜索所有作业',
  'jobs.filter.args': '参数',
  'jobs.filter.tag': '标签',
  'jobs.filter.errorClass': '错误类',
  'jobs.filter.jid': 'jid',
  'jobs.filter.meta': 'meta',
  'jobs.filter.from': '起始',
  'jobs.filter.until': '截止',
  'jobs.hint.args': 'customer = 4711',
  'jobs.hint.time': '2h，或 2026-11-24 09:30',
  'jobs.at': '时间',
  'jobs.again': '重新搜索',
  'jobs.further': '继续查找',
  'jobs.searching': { other: '正在搜索：已查看 {n} 个' },
  'jobs.more': '更多筛选',
  'jobs.delete': { other: '删除 {n} 个作业' },
  'jobs.none': '没有作业',
  'jobs.none.what': '没有作业在等待、执行或已失败。',
}
