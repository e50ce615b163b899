/** The texts of events in Russian. */

import type { events as english } from '../en/events.ts'
import type { TextsOf } from '../index.ts'

export const events: TextsOf<typeof english> = {
  'events.since': 'с {at}',
  'events.begins': 'начнётся с новых событий примерно через две секунды',
  'events.pause': 'Пауза',
  'events.continue': 'Продолжить',
  'events.paused': 'на паузе',
  'events.kind': 'Событие',
  'events.allKinds': 'Все события',
  'events.none': 'Событий пока нет',
  'events.noneWhat':
    'Запись начинается с первого читателя, например этой страницы, и кончается через час после последнего. У строк задач и упорядоченных очередей здесь событий нет.',
  'events.why': 'Причина',
  'events.due': 'запуск',
  'events.attempt': 'Попытка',
  'events.at': 'Время',
  'events.kind.pushed': 'поставлено',
  'events.kind.started': 'начато',
  'events.kind.progress': 'ход',
  'events.kind.succeeded': 'успешно',
  'events.kind.failed': 'сбой',
  'events.kind.retried': 'повтор',
  'events.kind.died': 'умерло',
  'events.kind.cancelled': 'отменено',
}
