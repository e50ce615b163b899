/** The texts of limits in Russian. */

import type { limits as english } from '../en/limits.ts'
import type { TextsOf } from '../index.ts'

export const limits: TextsOf<typeof english> = {
  'limits.title': 'Лимиты',
  'limits.none': 'Лимиты не используются',
  'limits.noneWhat': 'Лимит задаёт, сколько задач выполняется одновременно или запускается за время:',
  'limits.limit': 'Лимит',
  'limits.used': 'Выполняется',
  'limits.usedOf': '{n} из {most}',
  'limits.rate': 'Частота',
  'limits.ratePer': '{n} за {time}',
  'limits.waiting': 'Ждут',
  'limits.next': 'Следующий запуск',
  'limits.now': 'сейчас',
  'limits.in': 'через {time}',
  'limits.kind.job': 'задача {name}',
  'limits.kind.shared': 'лимит {name}',
  'limits.kind.queue': 'очередь {name}',
  'limits.kind.app': 'все задачи',
}
