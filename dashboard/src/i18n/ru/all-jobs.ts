/** The texts of the page of all jobs in Russian. */

import type { allJobs as english } from '../en/all-jobs.ts'
import type { TextsOf } from '../index.ts'

export const allJobs: TextsOf<typeof english> = {
  'jobs.title': 'Задания',
  'jobs.states': 'Состояния',
  'jobs.state': 'Состояние',
  'jobs.state.running': 'Выполняются',
  'jobs.state.queued': 'В очередях',
  'jobs.state.limited': 'Ждут лимита',
  'jobs.backlog': 'Строки задач',
  'jobs.rejected': 'Отклонённые строки',
  'jobs.finished': 'Готовые строки',
  'jobs.morgue': 'Морг',
  'jobs.ordered': 'По порядку',
  'jobs.search': 'Поиск по всем заданиям',
  'jobs.filter.args': 'аргумент',
  'jobs.filter.tag': 'метка',
  'jobs.filter.errorClass': 'класс ошибки',
  'jobs.filter.jid': 'jid',
  'jobs.filter.meta': 'meta',
  'jobs.filter.from': 'с',
  'jobs.filter.until': 'до',
  'jobs.hint.args': 'customer = 4711',
  'jobs.hint.time': '2h или 2026-11-24 09:30',
  'jobs.at': 'Время',
  'jobs.again': 'Искать снова',
  'jobs.further': 'Искать дальше',
  'jobs.searching': {
    one: 'Поиск: просмотрено {n}',
    few: 'Поиск: просмотрено {n}',
    many: 'Поиск: просмотрено {n}',
    other: 'Поиск: просмотрено {n}',
  },
  'jobs.more': 'Больше фильтров',
  'jobs.delete': {
    one: 'Удалить {n} задание',
    few: 'Удалить {n} задания',
    many: 'Удалить {n} заданий',
    other: 'Удалить {n} задания',
  },
  'jobs.none': 'Заданий нет',
  'jobs.none.what': 'Ни одно задание не ждёт, не выполняется и не завершилось сбоем.',
}
