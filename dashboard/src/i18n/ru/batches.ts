/** The texts of batches in Russian. */

import type { batches as english } from '../en/batches.ts'
import type { TextsOf } from '../index.ts'

export const batches: TextsOf<typeof english> = {
  'batches.title': 'Группы задач',
  'batches.none': 'Групп нет',
  'batches.noneWhat': 'Группа – это задачи, после которых запускаются другие:',
  'batches.batch': 'Группа',
  'batches.total': 'Задач',
  'batches.pending': 'Осталось',
  'batches.succeeded': 'Успешно',
  'batches.dead': 'Мёртвых',
  'batches.failed': 'Неудачно',
  'batches.created': 'Создана',
  'batches.waits': 'её ждёт задача',
  'batches.cancel': 'Отменить',
  'batches.cancelled': 'Оставшиеся задачи группы {bid} отменены',
  'batches.state.running': 'выполняется',
  'batches.state.succeeded': 'успешно',
  'batches.state.dead': 'есть мёртвые задачи',
  'batches.state.failed': 'неудачно',
  'batches.parent': 'внутри другой группы',
  'batches.callbacks': 'Обратные вызовы',
  'batches.callback': 'Вызов',
  'batches.job': 'Задача',
  'batches.pushed': 'Поставлена',
  'batches.members': 'Незавершённые задачи',
  'batches.noMembers': 'Незавершённых задач нет',
  'batches.memberState': 'Состояние',
  'batches.nested': 'вложенная группа',
  'batches.flow': 'ждёт дочерние задачи',
  'batches.member.waiting': 'ждёт',
  'batches.member.retrying': 'будет повторена',
  'batches.member.dead': 'мёртвая',
}
