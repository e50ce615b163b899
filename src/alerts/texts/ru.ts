/** The texts of alerts in Russian, for the dashboard and for messages. */

import type { Phrase } from '../../i18n/phrase.js'
import type { en } from './en.ts'

export const ru: Record<keyof typeof en, Phrase> = {
  'alerts.retries-share-error': {
    one: '{n} повтор с одной ошибкой',
    few: '{n} повтора с одной ошибкой',
    many: '{n} повторов с одной ошибкой',
    other: '{n} повтора с одной ошибкой',
  },
  'alerts.retries-share-error.what': '{error} в {class}, с {at}',
  'alerts.process-silent': 'Процесс {identity} молчит',
  'alerts.process-silent.what': 'Последний раз: {at}; его заданий: {n}, вернутся {back}',
  'alerts.process-silent.idle': 'Последний раз: {at}, заданий тогда не было; взятые позже вернутся {back}',
  'alerts.queue-grows': 'Очередь {queue} растёт',
  'alerts.queue-grows.what': '+{n} в минуту уже {minutes} мин; старейшее ждёт {time}',
  'alerts.queue-unserved': 'Очередь {queue} никто не обслуживает',
  'alerts.queue-unserved.what': {
    one: 'В ней ждёт {n} задание. Запустите рабочий процесс с -q {queue}',
    few: 'В ней ждут {n} задания. Запустите рабочий процесс с -q {queue}',
    many: 'В ней ждут {n} заданий. Запустите рабочий процесс с -q {queue}',
    other: 'В ней ждут {n} задания. Запустите рабочий процесс с -q {queue}',
  },
  'alerts.queue-without-worker.what': 'Приложение задаёт для неё задания. Запустите рабочий процесс с -q {queue}',
  'alerts.task-stands-still': 'Задача «{name}» стоит',
  'alerts.task-stands-still.what': '{minutes} мин не завершилось ни одной строки',
  'alerts.task-paused': 'Задача «{name}» приостановилась',
  'alerts.task-paused.what': 'отклонено слишком много строк: пока {rejected} из {ended}',
  'alerts.ordered-silent': 'У шарда {shard} очереди {queue} нет владельца',
  'alerts.ordered-silent.what': 'Отстаёт на {time}',
  'alerts.no-process': 'Нет ни одного рабочего процесса',
  'alerts.no-process.what': {
    one: 'Ждёт {n} задание. Запустите: highkiq work -r ./jobs.ts',
    few: 'Ждут {n} задания. Запустите: highkiq work -r ./jobs.ts',
    many: 'Ждут {n} заданий. Запустите: highkiq work -r ./jobs.ts',
    other: 'Ждут {n} задания. Запустите: highkiq work -r ./jobs.ts',
  },
  'alerts.shard-unreachable': 'Шард {store} недоступен',
  'alerts.shard-unreachable.what': 'Его задания ждут, и их нет ни в списках, ни в показателях',
}
