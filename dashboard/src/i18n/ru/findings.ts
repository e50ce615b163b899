/** The findings of the doctor and the advice, by their codes, in Russian. */

import type { FindingTexts } from '../index.ts'

const CLOSER =
  'Разместите рабочие процессы ближе к хранилищу или найдите, чем оно занято: каждый шаг процесса ждёт его ответа'
const MOVED_SOON = 'Работающий процесс отправит их в очереди за секунды. Если не проходит, посмотрите журналы процессов'
const START = 'Запустите рабочий процесс: {command}'
const START_TO_MOVE = 'Запустите рабочий процесс, он отправит их в очереди: {command}'
const CONTINUE_MOVE = 'Если он больше не работает: {command} (чтобы вернуть всё обратно, добавьте --undo)'
const COPY_FILE =
  'Остановите процессы старой версии и скопируйте файл: следующий рабочий процесс или команда обновит его'
const APPEND_ONLY = 'Задайте appendonly yes в redis.conf и выполните CONFIG SET appendonly yes'

export const findings: FindingTexts = {
  more: 'И ещё {n}',
  'more.advice': 'Совет тот же, что выше',

  'store-unusable': 'Хранилище не работает: {error}',
  'store-unusable.advice': 'Исправьте сначала это: остальным проверкам нужно хранилище',
  'store-writable': '{url} принимает записи, ответ за {ms} мс',
  'store-writable.advice': CLOSER,
  'store-answers': '{url} отвечает за {ms} мс',
  'store-answers.advice': CLOSER,
  'store-read-only': '{url} отвечает за {ms} мс; запись не проверялась: этот сервер только для чтения',
  'store-read-only.advice': CLOSER,
  'check-failed': 'Проверить не удалось: {error}',
  'check-failed.advice': 'Посмотрите, что говорят проверки хранилища',

  'worker-silent': 'Процесс {identity} молчит: последний сигнал был {seconds} назад',
  'worker-silent.advice':
    'Если процесс погиб, запустите другой. Если он работает, обработчик, возможно, занял его цикл событий',
  'workers-none': 'Ни один не запущен',
  'workers-running': 'Работает: {n}',
  'worker-versions-differ': {
    one: 'У {n} процесса Highkiq {versions}, а здесь {version}',
    few: 'У {n} процессов Highkiq {versions}, а здесь {version}',
    many: 'У {n} процессов Highkiq {versions}, а здесь {version}',
    other: 'У {n} процесса Highkiq {versions}, а здесь {version}',
  },
  'worker-versions-differ.advice': 'После выкладки перезапустите оставшиеся процессы',
  'worker-versions-agree': 'Здесь и у процессов – Highkiq {version}',
  'worker-clock-ahead': 'Часы {host} ({identity}) спешат на {seconds} относительно этой машины',
  'worker-clock-ahead.advice':
    'Синхронизируйте обе машины по NTP: запланированные задания запускаются слишком рано или слишком поздно',
  'worker-clocks-agree': 'Часы процессов не спешат относительно этой машины',

  'queue-waits-unserved': {
    one: 'Очередь {queue} никто не обслуживает, в ней ждёт {n} задание',
    few: 'Очередь {queue} никто не обслуживает, в ней ждут {n} задания',
    many: 'Очередь {queue} никто не обслуживает, в ней ждут {n} заданий',
    other: 'Очередь {queue} никто не обслуживает, в ней ждут {n} задания',
  },
  'queue-waits-unserved.advice': START,
  'queue-unserved': 'Очередь {queue} никто не обслуживает, а у работающего приложения есть для неё задания',
  'queue-unserved.advice': START,
  'queues-served': 'Все очереди с ждущими заданиями обслуживаются',
  'queue-paused': {
    one: 'Очередь {queue} на паузе, в ней ждёт {n} задание',
    few: 'Очередь {queue} на паузе, в ней ждут {n} задания',
    many: 'Очередь {queue} на паузе, в ней ждут {n} заданий',
    other: 'Очередь {queue} на паузе, в ней ждут {n} задания',
  },
  'queue-paused.advice': 'Чтобы продолжить: {command}',
  'queues-not-paused': 'В очередях на паузе заданий нет',
  'queue-grows': {
    one: 'Очередь {queue} растёт на {n} задание в минуту, следующее ждёт {seconds}',
    few: 'Очередь {queue} растёт на {n} задания в минуту, следующее ждёт {seconds}',
    many: 'Очередь {queue} растёт на {n} заданий в минуту, следующее ждёт {seconds}',
    other: 'Очередь {queue} растёт на {n} задания в минуту, следующее ждёт {seconds}',
  },
  'queue-grows.advice': 'Запустите для неё больше рабочих процессов или добавьте им мест',
  'queues-not-late': 'Ни одно задание не ждёт в очереди дольше {seconds}',
  'queues-not-growing': 'Ни одна очередь не растёт',

  'scheduled-late': {
    one: '{n}{more} запланированное задание опаздывает, первое – на {seconds}, и ещё не в очереди',
    few: '{n}{more} запланированных задания опаздывают, первое – на {seconds}, и ещё не в очередях',
    many: '{n}{more} запланированных заданий опаздывают, первое – на {seconds}, и ещё не в очередях',
    other: '{n}{more} запланированного задания опаздывают, первое – на {seconds}, и ещё не в очередях',
  },
  'scheduled-late.advice': MOVED_SOON,
  'scheduled-without-worker': {
    one: '{n}{more} запланированное задание опаздывает, первое – на {seconds}: ни один процесс не запущен',
    few: '{n}{more} запланированных задания опаздывают, первое – на {seconds}: ни один процесс не запущен',
    many: '{n}{more} запланированных заданий опаздывают, первое – на {seconds}: ни один процесс не запущен',
    other: '{n}{more} запланированного задания опаздывают, первое – на {seconds}: ни один процесс не запущен',
  },
  'scheduled-without-worker.advice': START_TO_MOVE,
  'retries-late': {
    one: '{n}{more} повтор опаздывает, первый – на {seconds}, и ещё не в очереди',
    few: '{n}{more} повтора опаздывают, первый – на {seconds}, и ещё не в очередях',
    many: '{n}{more} повторов опаздывают, первый – на {seconds}, и ещё не в очередях',
    other: '{n}{more} повтора опаздывают, первый – на {seconds}, и ещё не в очередях',
  },
  'retries-late.advice': MOVED_SOON,
  'retries-without-worker': {
    one: '{n}{more} повтор опаздывает, первый – на {seconds}: ни один процесс не запущен',
    few: '{n}{more} повтора опаздывают, первый – на {seconds}: ни один процесс не запущен',
    many: '{n}{more} повторов опаздывают, первый – на {seconds}: ни один процесс не запущен',
    other: '{n}{more} повтора опаздывают, первый – на {seconds}: ни один процесс не запущен',
  },
  'retries-without-worker.advice': START_TO_MOVE,
  'due-none': 'Ни одно запланированное задание и ни один повтор не опаздывают на {seconds}',

  orphaned: {
    one: '{n} задание осталось от погибших процессов (процессов: {workers})',
    few: '{n} задания остались от погибших процессов (процессов: {workers})',
    many: '{n} заданий осталось от погибших процессов (процессов: {workers})',
    other: '{n} задания осталось от погибших процессов (процессов: {workers})',
  },
  'orphaned.advice':
    'Работающие процессы вернут их в очереди за секунды. Если не проходит, посмотрите журналы процессов',
  'orphaned-without-worker': {
    one: '{n} задание осталось от погибших процессов (процессов: {workers}), и ни один процесс не запущен',
    few: '{n} задания остались от погибших процессов (процессов: {workers}), и ни один процесс не запущен',
    many: '{n} заданий осталось от погибших процессов (процессов: {workers}), и ни один процесс не запущен',
    other: '{n} задания осталось от погибших процессов (процессов: {workers}), и ни один процесс не запущен',
  },
  'orphaned-without-worker.advice': 'Запустите рабочий процесс, он вернёт их в очереди: {command}',
  'orphaned-none': 'Заданий погибших процессов нет',

  'task-still': 'Задача {id} ({name}) стоит уже {seconds}',
  'task-still.advice': 'Посмотрите, что покажет {command} и обслуживает ли кто-нибудь её очередь {queue}',
  'task-paused': 'Задача {id} ({name}) на паузе: {reason}',
  'task-paused.advice': '{command} покажет, как её продолжить',
  'task-paused-by-failures': 'Задача {id} ({name}) на паузе: отклонено слишком много строк: пока {rejected} из {ended}',
  'task-paused-by-failures.advice': '{command} покажет, как её продолжить',
  'tasks-ok': 'Выполняется: {n}, ни одна не стоит',
  'shard-unserved':
    'Шард {shard} очереди с порядком {queue} никто не обслуживает, его следующий id опаздывает на {seconds}',
  'shard-unserved.advice': 'Запустите рабочий процесс приложения, где она задана: {command}',
  'shards-served': 'Все очереди с порядком, где пора обрабатывать id, обслуживаются',

  'batch-stuck': 'Группа {bid} стоит уже {seconds}, а её задания {jid} нет ни в очередях, ни в наборах',
  'batch-stuck.advice': 'Работающий процесс завершит такие задания за минуты; подробнее: {command}',
  'batches-ok': 'Час без движения: {n}, зависших, похоже, нет',
  'batches-searched': 'Час без движения: {n}; среди {searched}, чьи задания искали, зависших, похоже, нет',
  'lock-lost':
    'Задание {jid} держит блокировку {key}, но его нет ни в очередях, ни в наборах: такое же уникальное задание не принимается',
  'lock-lost.advice': 'Работающий процесс снимет её за минуты; снять сейчас: {command}',
  'hidden-lock-lost':
    'Задание {jid} держит блокировку {key}, но его нет ни в очередях, ни в наборах: такое же уникальное задание не принимается',
  'hidden-lock-lost.advice': 'Работающий процесс снимет её за минуты',
  'locks-ok': 'Занято: {n}{more}, потерянных, похоже, нет',
  'locks-searched': 'Занято: {n}{more}; среди {searched}, чьи задания искали, потерянных, похоже, нет',

  'jobs-held-by-move': {
    one: 'highkiq move держит {n} задание для другого хранилища; оно выполнится, когда перенос продолжится',
    few: 'highkiq move держит {n} задания для другого хранилища; они выполнятся, когда перенос продолжится',
    many: 'highkiq move держит {n} заданий для другого хранилища; они выполнятся, когда перенос продолжится',
    other: 'highkiq move держит {n} задания для другого хранилища; они выполнятся, когда перенос продолжится',
  },
  'jobs-held-by-move.advice': CONTINUE_MOVE,
  'tasks-held-by-move': {
    one: 'highkiq move держит {n} задачу для другого хранилища; она выполнится, когда перенос продолжится',
    few: 'highkiq move держит {n} задачи для другого хранилища; они выполнятся, когда перенос продолжится',
    many: 'highkiq move держит {n} задач для другого хранилища; они выполнятся, когда перенос продолжится',
    other: 'highkiq move держит {n} задачи для другого хранилища; они выполнятся, когда перенос продолжится',
  },
  'tasks-held-by-move.advice': CONTINUE_MOVE,

  'sqlite-file-read-only': 'Этот пользователь не может писать в {path} или в его папку, либо их нет',
  'sqlite-file-read-only.advice': 'Дайте ему право писать и в файл, и в папку и проверьте, как смонтирован диск',
  'sqlite-file-new': 'Файл {path} будет создан',
  'sqlite-file-ok': '{path}, {bytes}',
  'sqlite-of-0.1':
    'Файл {path} записан Highkiq 0.1 (схема {version}, этой версии нужна {needed}), поэтому задания не проверялись',
  'sqlite-of-0.1.advice': COPY_FILE,
  'sqlite-of-older':
    'Файл {path} записан более старым Highkiq (схема {version}, этой версии нужна {needed}), поэтому задания не проверялись',
  'sqlite-of-older.advice': COPY_FILE,
  'sqlite-open-twice':
    'Файл {path} открыт в этом процессе двумя библиотеками SQLite. Они не видят блокировок друг друга и испортят его',
  'sqlite-open-twice.advice':
    'Открывайте его в этом процессе одной библиотекой SQLite или дайте Highkiq отдельный файл',
  'sqlite-libraries': 'Кроме библиотеки хранилища, этот процесс загрузил другие библиотеки SQLite: {libraries}',
  'sqlite-libraries.advice':
    'Убедитесь, что ни одна из них не открывает {path} в процессе, где он уже открыт: две библиотеки в одном процессе портят файл',
  'sqlite-on-network': 'Файл лежит в сетевой файловой системе ({system}), где блокировки SQLite не работают',
  'sqlite-on-network.advice': 'Перенесите его на локальный диск или перейдите на Redis',
  'disk-free': 'На диске свободно {bytes}',
  'disk-free.advice':
    'Освободите место: на полном диске новые задания не принимаются, а исход выполняемых не сохранить',
  'sqlite-log-ok': 'Журнал занимает {bytes}',
  'sqlite-log-large':
    'Журнал занимает {bytes}: какая-то программа читает файл в одной долгой транзакции и не даёт его очистить',
  'sqlite-log-large.advice': 'Найдите эту программу, например командой "fuser {path}", и дайте ей закончить транзакцию',
  'sqlite-check-failed': 'Проверить не удалось: {error}',
  'sqlite-check-failed.advice': 'Посмотрите, что говорят проверки хранилища',

  'redis-version': '{program} {version}',
  'redis-info-refused':
    'Пользователь не может выполнить INFO на {url}, поэтому версия, память и сохранение на диск не проверялись',
  'redis-info-refused.advice': 'Дайте пользователю право +info',
  'redis-of-0.1': 'На {url} ключи Highkiq 0.1, поэтому задания не проверялись',
  'redis-of-0.1.advice':
    'Остановите процессы версии 0.1 и сохраните снимок: следующий рабочий процесс или команда обновит ключи',
  'redis-keeps-keys': 'maxmemory-policy: {policy}',
  'redis-evicts-keys':
    'На {url} задано maxmemory-policy {policy}: когда память кончится, сервер станет вытеснять задания, а не отказывать в приёме новых',
  'redis-evicts-keys.advice': 'Выполните {command} и задайте то же в redis.conf',
  'redis-memory-unlimited': 'Занято {bytes}; maxmemory не задано',
  'redis-memory': 'Занято {bytes} из {maxBytes} (maxmemory)',
  'redis-memory.advice': 'Увеличьте maxmemory или выполните ждущие задания: полный сервер не принимает новых',
  'redis-append-only': 'AOF включён',
  'redis-append-only-always': 'AOF включён, каждая запись попадает в него до ответа',
  'redis-append-only-everysec': 'AOF включён; при сбое Redis пропадут записи не больше чем за секунду',
  'redis-append-only-seldom':
    'Задано appendfsync {policy}: при сбое машины пропадёт то, что не успело попасть на диск, часто за полминуты',
  'redis-append-only-seldom.advice':
    'Задайте appendfsync everysec или always в redis.conf и командой CONFIG SET appendfsync',
  'redis-append-only-failed': 'Redis не смог записать AOF и отказывает в записи',
  'redis-append-only-failed.advice': 'Посмотрите журнал Redis; часто его диск полон',
  'redis-snapshot-failed':
    'Последний снимок не удался: Redis отказывает в записи, если не задано stop-writes-on-bgsave-error no',
  'redis-snapshot-failed.advice': 'Посмотрите журнал Redis; часто не хватает диска или памяти',
  'redis-not-on-disk': 'На диск ничего не сохраняется: при перезапуске Redis пропадут все задания',
  'redis-not-on-disk.advice': APPEND_ONLY,
  'redis-only-snapshots': 'AOF выключен: при сбое Redis пропадут задания после последнего снимка',
  'redis-only-snapshots.advice': APPEND_ONLY,
  'redis-master': {
    one: 'Главный сервер, у него {n} реплика',
    few: 'Главный сервер, у него {n} реплики',
    many: 'Главный сервер, у него {n} реплик',
    other: 'Главный сервер, у него {n} реплики',
  },
  'redis-replica': 'Этот сервер – реплика и не принимает записей',
  'redis-replica.advice': 'Укажите URL главного сервера, {master}, или серверы Sentinel',
  'redis-clock-agrees': 'Часы сервера и этой машины совпадают',
  'redis-clock-differs':
    'Часы сервера и этой машины расходятся на {seconds}: запланированные задания запускаются слишком рано или слишком поздно',
  'redis-clock-differs.advice': 'Синхронизируйте обе машины по NTP',
  'leftovers-none': 'Другие программы не оставили заданий',
  'leftovers-to-adopt': {
    one: 'Задания {program} лежат в {n} ключе ({key}); Highkiq их не читает',
    few: 'Задания {program} лежат в {n} ключах (например, {key}); Highkiq их не читает',
    many: 'Задания {program} лежат в {n} ключах (например, {key}); Highkiq их не читает',
    other: 'Задания {program} лежат в {n} ключа (например, {key}); Highkiq их не читает',
  },
  'leftovers-to-adopt.advice': 'Если {program} больше не работает, перенесите их: {command}',
  leftovers: {
    one: 'Задания {program} лежат в {n} ключе ({key}); Highkiq их не читает',
    few: 'Задания {program} лежат в {n} ключах (например, {key}); Highkiq их не читает',
    many: 'Задания {program} лежат в {n} ключах (например, {key}); Highkiq их не читает',
    other: 'Задания {program} лежат в {n} ключа (например, {key}); Highkiq их не читает',
  },
  'leftovers.advice': 'Если {program} больше не работает, поставьте эти задания заново и удалите ключи',
  'redis-rights-ok': 'Пользователь может выполнять все команды, которые нужны Highkiq',
  'redis-keys-refused': 'Пользователю недоступны ключи вроде {key}',
  'redis-keys-refused.advice': 'Дайте пользователю право {right}: {command}',
  'redis-commands-refused': 'Пользователь не может выполнять {commands}',
  'redis-commands-refused.advice': 'Дайте пользователю эти права: {command}',
  'redis-check-failed': 'Проверить не удалось: {error}',
  'redis-check-failed.advice': 'Посмотрите, что говорит проверка прав',

  'postgres-version': 'PostgreSQL {version}',
  'postgres-too-old': 'PostgreSQL {version} слишком старый',
  'postgres-too-old.advice': 'Обновите его до версии {oldest} или новее',
  'postgres-schema-new': 'Схема {schema} будет создана',
  'postgres-of-older':
    'Схема {schema} записана более старым Highkiq (версия {version}, этому нужна {needed}), поэтому задания не проверялись',
  'postgres-of-older.advice': 'Остановите процессы старой версии: следующий рабочий процесс или команда обновит схему',
  'postgres-standby': 'Этот сервер – резервный и только читает',
  'postgres-standby.advice': 'Укажите в URL основной сервер',
  'postgres-fsync-off': 'fsync выключен: сбой машины может испортить всю базу данных',
  'postgres-fsync-off.advice': 'Задайте fsync = on в postgresql.conf и перезапустите сервер',
  'postgres-commits-late':
    'synchronous_commit выключен: при сбое сервера пропадут задания, принятые в последние мгновения',
  'postgres-commits-late.advice':
    "Задайте synchronous_commit = on для этого пользователя: ALTER USER … SET synchronous_commit = 'on'",
  'postgres-commits-ok': 'Каждая транзакция попадает на диск до ответа',
  'postgres-connections': 'Занято подключений: {used} из {most}',
  'postgres-connections.advice':
    'Увеличьте max_connections, уменьшите connections=N в URL или поставьте перед сервером PgBouncer',
  'postgres-transaction-open':
    "Процесс {pid} (application_name '{name}') держит транзакцию открытой {seconds}: строки завершённых заданий не удаляются, и очереди замедляются",
  'postgres-transaction-open.advice':
    'Завершите эту транзакцию; idle_in_transaction_session_timeout делает это автоматически',
  'postgres-dead-rows': {
    one: 'В таблице {table} {n} мёртвая строка: vacuum не успевает',
    few: 'В таблице {table} {n} мёртвые строки: vacuum не успевает',
    many: 'В таблице {table} {n} мёртвых строк: vacuum не успевает',
    other: 'В таблице {table} {n} мёртвой строки: vacuum не успевает',
  },
  'postgres-dead-rows.advice':
    'Выполните VACUUM {schema}.{table} и проверьте, что autovacuum включён и ни одна транзакция не остаётся открытой',
  'postgres-check-failed': 'Проверить не удалось: {error}',
  'postgres-check-failed.advice': 'Дайте пользователю право это читать или подключитесь под другим',
}
