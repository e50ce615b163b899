/** The newest tasks. */

import type { Page, TaskStatus } from '../../api/types.ts'
import { at } from '../../base.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { StatusBar } from '../../components/status.tsx'
import { share } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'

const SHOWN = 6

export function TasksPanel() {
  const { data, error, reload } = useData<Page<TaskStatus>>('/tasks', { limit: SHOWN })
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
