/** The texts of alerts in Chinese, for the dashboard and for messages. */

import type { Phrase } from '../../i18n/phrase.js'
import type { en } from './en.ts'

export const zh: Record<keyof typeof en, Phrase> = {
  'alerts.retries-share-error': { other: '{n} 个重试出自同一错误' },
  'alerts.retries-share-error.what': '{class} 中的 {error}，始于 {at}',
  'alerts.process-silent': '进程 {identity} 没有心跳',
  'alerts.process-silent.what': '最后出现：{at}；其 {n} 个作业将于 {back} 归还',
  'alerts.process-silent.idle': '最后出现：{at}，当时没有运行中的作业；此后取走的作业将于 {back} 归还',
  'alerts.queue-grows': '队列 {queue} 正在增长',
  'alerts.queue-grows.what': '{minutes} 分钟内每分钟 +{n}；最久已等待 {time}',
  'alerts.queue-unserved': '没有进程处理队列 {queue}',
  'alerts.queue-unserved.what': { other: '有 {n} 个作业在等待。请用 -q {queue} 启动工作进程' },
  'alerts.queue-without-worker.what': '您的应用为它定义了作业。请用 -q {queue} 启动工作进程',
  'alerts.task-stands-still': '任务“{name}”停滞',
  'alerts.task-stands-still.what': '{minutes} 分钟内没有行结束',
  'alerts.task-paused': '任务“{name}”已暂停',
  'alerts.task-paused.what': '被拒绝的行过多：目前 {ended} 行中有 {rejected} 行',
  'alerts.ordered-silent': '{queue} 的分片 {shard} 没有所有者',
  'alerts.ordered-silent.what': '已滞后 {time}',
  'alerts.no-process': '没有运行中的工作进程',
  'alerts.no-process.what': { other: '有 {n} 个作业在等待。启动：highkiq work -r ./jobs.ts' },
  'alerts.shard-unreachable': '无法连接分片 {store}',
  'alerts.shard-unreachable.what': '其中的作业在等待，并且不在任何列表和数字之内',
}
