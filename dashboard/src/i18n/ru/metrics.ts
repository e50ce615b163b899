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
  'metrics.unmeasured': 'Процентили есть только у первых {n} классов: отсортируйте по p95, чтобы увидеть все',
  'wait.scale': 'Шкала от {from} до {to}; жёлтый от {long}, красный от {tooLong}',
  'deploys.title': 'Выкладки',
  'deploys.which': 'До и после',
  'deploys.before': 'до: с {from} до {to}',
  'deploys.after': 'после: с {from} до {to}',
  'deploys.none': 'Такой выкладки нет',
  'deploys.noneWhat': 'Отмечайте каждую выкладку, и здесь будет видно, что она изменила:',
  'deploys.worse': {
    one: '{n} класс стал хуже',
    few: '{n} класса стали хуже',
    many: '{n} классов стали хуже',
    other: '{n} класса стали хуже',
  },
  'deploys.noneWorse': 'хуже не стало',
  'deploys.worse.fails': 'чаще падает',
  'deploys.worse.slower': 'медленнее',
  'deploys.was': 'было {before}',
  'deploys.noRuns': 'Сравнивать нечего',
  'deploys.noRunsWhat': 'Запуски хранятся три дня; каждый процесс пишет их раз в десять секунд.',
}
