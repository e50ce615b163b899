/** The texts of cron entries in Russian. */

import type { cron as english } from '../en/cron.ts'
import type { TextsOf } from '../index.ts'

export const cron: TextsOf<typeof english> = {
  'cron.title': 'Расписание',
  'cron.none': 'По часам ничего не запускается',
  'cron.noneWhat': 'Записи появятся, когда запустится рабочий процесс приложения, где они заданы:',
  'cron.name': 'Запись',
  'cron.when': 'Когда',
  'cron.next': 'Следующий',
  'cron.last': 'Последний',
  'cron.run': 'Запустить',
  'cron.paused': 'на паузе',
  'cron.undefined': 'никто из живых не задаёт',
  'cron.byFunction': 'даёт функция',
  'cron.did.run': '{name} запущено',
  'cron.did.pause': '{name} на паузе, и после выкладок тоже',
  'cron.did.resume': '{name} идёт дальше с этого момента',
  'cron.job': 'Задание',
  'cron.queue': 'Очередь',
  'cron.missed': 'Пропущенное',
  'cron.overlap': 'Наложение',
  'cron.nextTicks': 'Следующие пять запусков',
  'cron.runs': 'Последние запуски',
  'cron.noRuns': 'Для этой записи ещё ничего не запускалось.',
  'cron.tick': 'Время',
  'cron.byHand': 'запущено вручную',
  'cron.state': 'Состояние',
  'cron.took': 'Длилось',
  'cron.state.waiting': 'ждёт',
  'cron.state.running': 'в работе',
  'cron.state.retrying': 'повторится',
  'cron.state.succeeded': 'готово',
  'cron.state.failed': 'отказ',
  'cron.state.dead': 'мёртвое',
  'cron.state.cancelled': 'отменено',
}
