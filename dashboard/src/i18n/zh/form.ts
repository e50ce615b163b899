/** The texts of the forms of a job in Chinese. */

import type { form as english } from '../en/form.ts'
import type { TextsOf } from '../index.ts'

export const form: TextsOf<typeof english> = {
  'form.add': '添加作业…',
  'form.title': '添加作业',
  'form.cancel': '取消',
  'form.do': '添加',
  'form.added': '作业已添加。',
  'form.existing': '作业 {jid} 已持有这些参数的锁：未添加作业。',
  'form.default': '默认（{value}）',
  'form.when': '执行时间',
  'form.now': '立即',
  'form.tags': '标签，每行一个',
  'form.asJson': '以 JSON 填写参数',
  'form.asFields': '填写字段',
  'form.example': '这些是找到的最新作业 {jid} 的参数。',
  'form.withheld.redacted': '此类作业的参数含有隐藏内容，因此未自动填写。',
  'form.withheld.encrypted': '最后一个参数加密存储，因此未自动填写。',
  'form.encrypted': '最后一个参数将加密存储。',
  'form.sealed': '最后一个参数写 "[encrypted]" 表示保持原值。',
  'form.fixed.hidden': '部分参数在此被隐藏，因此无法编辑。',
  'form.fixed.activeJob': '此作业属于 Active Job：请在 Rails 中修改参数。',
  'form.fixed.long': '参数过长，无法在此编辑。',
  'form.fixed.tracked': '任务中保存着此作业的记录。请取消它，再用其他参数添加。',
  'form.fixed.copied': '新作业将原样沿用这些参数。',
  'form.moved': '作业在此期间已更改或移动：请关闭此表单后重新查看。',
  'form.wrong.empty': '请填写此项。',
  'form.wrong.number': '这不是数字，例如 12.5。',
  'form.wrong.integer': '这不是整数。',
  'form.wrong.json': '这不是 JSON。',
  'form.wrong.queue': '队列名不能含空格、花括号或控制字符。',
  'form.wrong.at': '请选择日期和时间。',
}
