/** The texts of unique locks in Russian. */

import type { locks as english } from '../en/locks.ts'
import type { TextsOf } from '../index.ts'

export const locks: TextsOf<typeof english> = {
  'locks.title': 'Блокировки',
  'locks.search': 'Ключ или jid',
  'locks.none': 'Уникальных задач нет',
  'locks.noneWhat': 'Пока уникальная задача ждёт или выполняется, второй такой не будет:',
  'locks.holder': 'Задача с блокировкой',
  'locks.ends': 'Окончание',
  'locks.withJob': 'вместе с задачей',
  'locks.orWithJob': 'или вместе с задачей',
  'locks.release': 'Снять',
  'locks.released': 'Блокировка {key} снята; задача {jid} осталась',
  'locks.gone': 'Блокировка {key} уже свободна',
}
