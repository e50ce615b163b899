/** The texts of messages around the alerts. */

import type { Language, Phrase } from '../i18n/phrase.js'

const en = {
  begun: { one: '{n} problem', other: '{n} problems' },
  over: { one: '{n} over', other: '{n} over' },
  since: 'Since {at}',
  lasted: 'Over at {at}, after {time}',
  more: 'and {n} more',
  test: 'Test message',
  testWhat: 'Alerts of {app} will arrive here.',
} satisfies Record<string, Phrase>

const zh: Record<keyof typeof en, Phrase> = {
  begun: { other: '{n} 个问题' },
  over: { other: '{n} 个已结束' },
  since: '始于 {at}',
  lasted: '{at} 结束，持续 {time}',
  more: '另有 {n} 个',
  test: '测试消息',
  testWhat: '{app} 的告警将发送到这里。',
}

const ru: Record<keyof typeof en, Phrase> = {
  begun: { one: '{n} проблема', few: '{n} проблемы', many: '{n} проблем', other: '{n} проблемы' },
  over: { one: '{n} закончилась', few: '{n} закончились', many: '{n} закончились', other: '{n} закончились' },
  since: 'С {at}',
  lasted: 'Закончилось {at}, длилось {time}',
  more: 'и ещё {n}',
  test: 'Пробное сообщение',
  testWhat: 'Сюда будут приходить оповещения {app}.',
}

export type MessageWord = keyof typeof en

export const MESSAGE_TEXTS: Record<Language, Record<MessageWord, Phrase>> = { en, zh, ru }
