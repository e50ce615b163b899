/** The texts of limits in Russian. */

import type { limits as english } from '../en/limits.ts'
import type { TextsOf } from '../index.ts'

export const limits: TextsOf<typeof english> = {
  'limits.title': 'Лимиты',
  'limits.none': 'Лимиты не используются',
  'limits.noneWhat': 'Лимит задаёт, сколько заданий выполняется одновременно или запускается за время:',
  'limits.limit': 'Лимит',
  'limits.used': 'Выполняется',
  'limits.usedOf': '{n} из {most}',
  'limits.rate': 'Частота',
  'limits.ratePer': '{n} за {time}',
  'limits.waiting': 'Ждут',
  'limits.next': 'Следующий запуск',
  'limits.now': 'сейчас',
  'limits.in': 'через {time}',
  'limits.set': 'задан здесь',
  'limits.codeHas': 'в коде: {numbers}',
  'limits.notInCode': 'нет в коде или не используется',
  'limits.atOnce': '{n} одновременно',
  'limits.setAsk': 'Задать лимит…',
  'limits.setAppAsk': 'Лимит всех заданий…',
  'limits.changeAsk': 'Изменить…',
  'limits.change': 'Изменить',
  'limits.reset': 'Сбросить',
  'limits.changed': 'Лимит изменён; процессы применят его за несколько секунд',
  'limits.wasReset': 'Лимит снова такой, как в коде',
  'limits.changeTitle': 'Лимит: {limit}',
  'limits.changeWhat':
    'Числа действуют во всех процессах, и после выкладки тоже, пока вы их не сбросите. Выполняемые задания продолжаются.',
  'limits.field.concurrency': 'Заданий одновременно',
  'limits.field.rate': 'Запусков',
  'limits.field.per': 'За время, секунд',
  'limits.field.burst': 'Запусков сразу после паузы',
  'limits.inCode': '{n} в коде',
  'limits.noNumber': 'без лимита',
  'limits.kind.job': 'задание {name}',
  'limits.kind.shared': 'лимит {name}',
  'limits.kind.queue': 'очередь {name}',
  'limits.kind.app': 'все задания',
}
