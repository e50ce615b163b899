/** The texts of the forms of a job in Russian. */

import type { form as english } from '../en/form.ts'
import type { TextsOf } from '../index.ts'

export const form: TextsOf<typeof english> = {
  'form.add': 'Добавить задание…',
  'form.title': 'Новое задание',
  'form.cancel': 'Отмена',
  'form.do': 'Добавить',
  'form.added': 'Задание добавлено.',
  'form.existing': 'Задание {jid} уже держит блокировку этих аргументов: новое не добавлено.',
  'form.default': 'обычный ({value})',
  'form.when': 'Запуск',
  'form.now': 'сейчас',
  'form.tags': 'Метки, по одной в строке',
  'form.asJson': 'Ввести аргументы как JSON',
  'form.asFields': 'Заполнить поля',
  'form.example': 'Это аргументы задания {jid}, самого нового из найденных.',
  'form.withheld.redacted': 'В аргументах таких заданий есть скрытые части, поэтому они не подставлены.',
  'form.withheld.encrypted': 'Последний аргумент хранится зашифрованным, поэтому аргументы не подставлены.',
  'form.encrypted': 'Последний аргумент хранится зашифрованным.',
  'form.sealed': '"[encrypted]" на последнем месте оставляет аргумент таким, какой он есть.',
  'form.fixed.hidden': 'Часть аргументов здесь скрыта, поэтому изменить их нельзя.',
  'form.fixed.activeJob': 'Задание принадлежит Active Job: измените аргументы в Rails.',
  'form.fixed.long': 'Аргументы слишком длинные, чтобы изменить их здесь.',
  'form.fixed.tracked': 'Это задание учтено в задаче. Отмените его и добавьте с другими аргументами.',
  'form.fixed.copied': 'Новое задание получит их без изменений.',
  'form.moved':
    'Задание тем временем изменилось или перешло в другое место: закройте форму и посмотрите на него снова.',
  'form.wrong.empty': 'Укажите значение.',
  'form.wrong.number': 'Это не число. Пример: 12.5',
  'form.wrong.integer': 'Это не целое число.',
  'form.wrong.json': 'Это не JSON.',
  'form.wrong.queue': 'В имени очереди нет пробелов, фигурных скобок и управляющих символов.',
  'form.wrong.at': 'Выберите дату и время.',
}
