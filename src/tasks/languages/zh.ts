/** 中文 */

import type { TaskTexts } from './en.ts'

export const zh: TaskTexts = {
  prefix: '任务',
  columns: {
    row: '行号',
    'row key': '行标识',
    status: '处理状态',
    code: '原因代码',
    messages: '消息',
    attempts: '执行次数',
    job: '作业',
    arguments: '参数',
  },
  statuses: {
    enqueued: '排队中',
    working: '执行中',
    finished: '已完成',
    failed: '被拒绝',
    error: '出错',
    cancelled: '已取消',
  },
  messages: {
    error: '错误：{text}',
    split: '包含多行的调用失败：{text}；该行现在单独运行',
    retry: '等待第 {count} 次重试，时间 {at}',
    discarded: '处理程序放弃了该行：{text}',
    filtered: '客户端中间件停止了该行',
    cancelled: '已取消',
    expired: '工作进程放弃了该行：未能及时开始',
    interrupted: '工作进程停止，并把该行放回队列',
    rescued: '工作进程崩溃（连续 {crashes} 次），该行已放回队列',
    crashed: '连续崩溃 {crashes} 次后，该行不再运行',
    deleted: '作业已手动删除',
    killed: '作业已手动终止',
    'added-to-queue': '作业已手动移入队列',
    lost: '错误：找不到该行的作业',
    'deferred-timeout': '错误：其他系统未按时结束该行',
    dead: '错误：该行的作业在死亡集合中，没有记录它如何结束',
    'ran-elsewhere': '错误：该行的作业已不存在，也没有记录它的开始：不知道是否已运行',
    'too-many-failures': '被拒绝的行过多：目前 {ended} 行中有 {rejected} 行',
    dropped: '（{messages} 条消息未保留）',
    formula: '{field}：公式没有结果（{result}）',
    unsaved: '{field}：公式没有结果（文件中没有保存结果：请在 Excel 中打开并保存）',
  },
}
