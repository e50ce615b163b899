/** Why the server refuses a request, by the code of the error, in Russian. */

import type { refusals as english } from '../en/refusals.ts'
import type { TextsOf } from '../index.ts'

export const refusals: TextsOf<typeof english> = {
  'refused.READ_ONLY': 'Этот сервер только для чтения',
  'refused.UNAUTHORIZED': 'Вход больше не действует: войдите снова',
  'refused.FORBIDDEN': 'Сервер не разрешает этот запрос',
  'refused.STORE_UNREACHABLE': 'Хранилище не отвечает',
  'refused.STORE_TIMEOUT': 'Хранилище не ответило вовремя',
  'refused.STORE_FULL': 'В хранилище нет места: ничего не сохранено',
  'refused.STORE_UNUSABLE': 'Хранилище это не принимает',
  'refused.INVALID_REQUEST': 'Сервер это не принимает',
  'refused.INVALID_OPTION': 'Сервер не принимает это значение',
  'refused.INVALID_JOB': 'Задание не принято',
  'refused.INVALID_ARGS': 'Аргументы не приняты',
  'refused.ARGS_TOO_LARGE': 'Аргументы слишком велики',
  'refused.INVALID_FILE': 'Файл не принят',
  'refused.TOO_MANY_ROWS': 'В файле слишком много строк',
  'refused.BODY_TOO_LARGE': 'Отправлено слишком много данных',
  'refused.BODY_BROKEN_OFF': 'Дошло не всё: отправьте ещё раз',
  'refused.BODY_TOO_SLOW': 'Отправка шла слишком медленно: попробуйте ещё раз',
  'refused.TOO_MANY_REQUESTS': 'Слишком много запросов: попробуйте чуть позже',
  'refused.TASK_BUSY': 'Задача занята: попробуйте чуть позже',
  'refused.TASK_ENDED': 'Задача уже завершена',
  'refused.UNKNOWN_TASK': 'Этой задачи больше нет',
  'refused.UNKNOWN_JID': 'Этого задания здесь больше нет',
  'refused.UNKNOWN_BATCH': 'Этой группы больше нет',
  'refused.UNKNOWN_PROCESS': 'Этот процесс завершился',
  'refused.BATCH_ENDED': 'Группа уже завершена',
  'refused.CRON_BUSY': 'Прошлый запуск ещё не закончился',
  'refused.UNIQUE_CONFLICT': 'Блокировка занята другим заданием',
  'refused.QUEUE_FULL': 'Очередь заполнена',
  'refused.SEARCH_TOO_LONG': 'Поиск идёт слишком долго',
  'refused.INTERNAL_ERROR': 'Сбой сервера: причина в его журнале',
}
