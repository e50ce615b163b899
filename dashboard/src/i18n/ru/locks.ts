/** The texts of unique locks in Russian. */

import type { locks as english } from '../en/locks.ts'
import type { TextsOf } from '../index.ts'

export const locks: TextsOf<typeof english> = {
  'locks.title': 'Блокировки',
  'locks.search': 'Ключ или jid',
  'locks.none': 'Уникальных заданий нет',
  'locks.noneWhat': 'Пока уникальное задание ждёт или выполняется, второго такого не будет:',
  'locks.holder': 'Задание с блокировкой',
  'locks.ends': 'Окончание',
  'locks.withJob': 'вместе с заданием',
  'locks.orWithJob': 'или вместе с заданием',
  'locks.release': 'Снять',
  'locks.released': 'Блокировка {key} снята; задание {jid} осталось',
  'locks.gone': 'Блокировка {key} уже свободна',
}
