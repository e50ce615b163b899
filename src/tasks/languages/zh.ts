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
    split: '包含多行的调用出错：{text}；此后该行单独运行',
    retry: '等待第 {count} 次重试，时间 {at}',
    discarded: '已丢弃：{text}',
    filtered: '被客户端中间件停止',
    cancelled: '已取消',
    expired: '已放弃：未能及时开始',
    interrupted: '已中断：工作进程被停止，该行回到队列',
    rescued: '所在进程已终止（连续 {crashes} 次），该行回到队列',
    crashed: '所在进程连续终止 {crashes} 次：不再运行',
    deleted: '已手动删除',
    killed: '已手动终止',
    requeued: '已手动送回队列',
    lost: '错误：找不到该行的作业',
    dead: '该行的作业在死亡集合中：由其他程序放入',
    'ran-elsewhere': '由不报告任务进展的工作进程取走：不知道是否已运行',
    'too-many-failures': '{ended} 行中有 {rejected} 行被拒绝：超出允许的数量',
    dropped: '（{messages} 条消息未保留）',
    formula: '{field}：公式没有结果（{result}）',
    unsaved: '{field}：公式没有结果（文件中没有保存结果：请在 Excel 中打开并保存）',
  },
}
