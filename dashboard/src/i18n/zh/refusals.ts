/** Why the server refuses a request, by the code of the error, in Chinese. */

import type { refusals as english } from '../en/refusals.ts'
import type { TextsOf } from '../index.ts'

export const refusals: TextsOf<typeof english> = {
  'refused.READ_ONLY': '此服务器为只读',
  'refused.UNAUTHORIZED': '登录已失效：请重新登录',
  'refused.FORBIDDEN': '服务器不允许此请求',
  'refused.STORE_UNREACHABLE': '存储没有响应',
  'refused.STORE_TIMEOUT': '存储未及时响应',
  'refused.STORE_FULL': '存储已满：未保存任何内容',
  'refused.STORE_UNUSABLE': '存储拒绝此操作',
  'refused.INVALID_REQUEST': '服务器不接受此内容',
  'refused.INVALID_OPTION': '服务器不接受此值',
  'refused.INVALID_JOB': '作业被拒绝',
  'refused.INVALID_ARGS': '参数被拒绝',
  'refused.ARGS_TOO_LARGE': '参数过大',
  'refused.INVALID_FILE': '文件被拒绝',
  'refused.TOO_MANY_ROWS': '文件行数过多',
  'refused.BODY_TOO_LARGE': '发送的内容过大',
  'refused.BODY_BROKEN_OFF': '内容未完整到达：请重新发送',
  'refused.BODY_TOO_SLOW': '发送过慢：请重试',
  'refused.TOO_MANY_REQUESTS': '请求过多：请稍后再试',
  'refused.TASK_BUSY': '任务正忙：请稍后再试',
  'refused.TASK_ENDED': '任务已结束',
  'refused.UNKNOWN_TASK': '此任务已不存在',
  'refused.UNKNOWN_JID': '此作业已不在这里',
  'refused.UNKNOWN_BATCH': '此批次已不存在',
  'refused.UNKNOWN_PROCESS': '此进程已结束',
  'refused.BATCH_ENDED': '批次已结束',
  'refused.CRON_BUSY': '上一次运行尚未结束',
  'refused.UNIQUE_CONFLICT': '锁被另一个作业占用',
  'refused.QUEUE_FULL': '队列已满',
  'refused.SEARCH_TOO_LONG': '搜索耗时过长',
  'refused.INTERNAL_ERROR': '服务器出错：原因见其日志',
}
