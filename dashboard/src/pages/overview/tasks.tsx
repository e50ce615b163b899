/** Running tasks, and then the newest others. */

import { ask, type Query } from '../../api/client.ts'
import type { Page, TaskStatus } from '../../api/types.ts'
import { at } from '../../base.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { StatusBar } from '../../components/status.tsx'
import { share } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'

const SHOWN = 6

/** A task that runs away must be found, however many have begun since. */
async function runningFirst(path: string, query: Query): Promise<Page<TaskStatus>> {
  const [running, newest] = await Promise.all([
    ask<Page<TaskStatus>>(path, { ...query, state: 'running' }),
    ask<Page<TaskStatus>>(path, query),
  ])
  const first = new Set(running.items.map(({ id }) => id))
  const items = [...running.items, ...newest.items.filter(({ id }) => !first.has(id))].slice(0, SHOWN)
  return { ...newest, items }
}

export function TasksPanel() {
  const { data, error, reload } = useData<Page<TaskStatus>>('/tasks', { limit: SHOWN }, { load: runningFirst })
  return (
    <section class="panel list">
      <header>
        <h2>{t('overview.tasks')}</h2>
        <span class="aside">
          {data && data.items.length > 0 && (
            <a class="link" href={at('/tasks')}>
              {t('overview.tasks.all')}
            </a>
          )}
        </span>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data?.items.length === 0 && (
        <Empty icon="tasks" title={t('overview.tasks.none')}>
          {t('overview.tasks.noneWhat')}
        </Empty>
      )}
      {data && data.items.length > 0 && (
        <table class="fix-t">
          <thead>
            <tr>
              <th>{t('tasks.name')}</th>
              <th>{t('tasks.progress')}</th>
              <th class="num">{t('tasks.ended')}</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((task) => (
              <tr key={task.id}>
                <td class="cut">
                  <a class="cut" href={at(`/tasks/${task.id}`)}>
                    <bdi>{task.name}</bdi>
                  </a>
                  <span class="sub cut">
                    <span class="hide-s">
                      <bdi>{task.job}</bdi> ·{' '}
                    </span>
                    {task.state === 'running' && task.etaSeconds !== null
                      ? t('tasks.left', { time: duration(task.etaSeconds) })
                      : t(`tasks.state.${task.state}`)}
                  </span>
                </td>
                <td>
                  <StatusBar counts={task.counts} />
                </td>
                <td class="num b">{share(Math.floor(task.percent), 100)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
