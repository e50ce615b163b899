/** The texts of metrics in Russian. */

import type { metrics as english } from '../en/metrics.ts'
import type { TextsOf } from '../index.ts'

export const metrics: TextsOf<typeof english> = {
  'metrics.title': 'Метрики',
  'metrics.search': 'Имя класса',
  'metrics.span': 'с {from} до {to}',
  'metrics.hours': { one: '{n} час', few: '{n} часа', many: '{n} часов', other: '{n} часа' },
  'metrics.none': 'За это время ничего не завершилось',
  'metrics.nothingRan': 'За это время ни одно не завершилось',
  'metrics.noneWhat': 'Каждый запуск учтён по классу и минуте не позже чем через десять секунд после конца.',
  'metrics.job': 'Класс',
  'metrics.runs': 'Запусков',
  'metrics.failed': 'Неудач',
  'metrics.total': 'Всего времени',
  'metrics.retriesOf': 'его повторы',
  'metrics.perMinute': 'Запусков в минуту',
  'metrics.runTimes': 'Время выполнения',
  'metrics.heatWhat': 'чем ярче, тем больше запусков шли столько',
}
