/** The `meta` of tasks: the filters of the list, and the values on the page of a task. */

import { Fragment } from 'preact'
import type { TaskStatus } from '../../api/types.ts'
import { at, queryValue } from '../../base.ts'
import { t } from '../../i18n/index.ts'
import { useQuery } from '../../live/use-query.ts'
import { JsonWell } from '../job/json.tsx'
import { LinkButtons } from './link.tsx'
import { MemberChips, memberFilters } from './member-chips.tsx'

/** Shows the filters by meta, and buttons for the links with which a submitter sees the tasks that have it. */
export function MetaChips() {
  const [query] = useQuery()
  const filters = memberFilters(query, 'meta')
  return (
    <>
      <MemberChips name="meta" label="meta" />
      {Object.keys(filters).length > 0 && <LinkButtons path="/tasks" meta={filters} />}
    </>
  )
}

/** Shows what the app stored with a task. A value by which tasks are found leads to all tasks that have it. */
export function Meta({ meta }: Pick<TaskStatus, 'meta'>) {
  const members = Object.entries(meta ?? {})
  if (members.length === 0) return null
  return (
    <section class="panel section" aria-label="meta">
      <header>
        <h2>meta</h2>
        <span class="aside">{t('task.metaWhat')}</span>
      </header>
      <div class="body">
        <dl class="kv">
          {members.map(([name, value]) => (
            <Fragment key={name}>
              <dt>
                <bdi>{name}</bdi>
              </dt>
              <dd>
                {typeof value === 'string' || Number.isSafeInteger(value) ? (
                  <a class="link" href={at(`/tasks?meta.${queryValue(name)}=${queryValue(String(value))}`)}>
                    <bdi>{String(value)}</bdi>
                  </a>
                ) : (
                  <JsonWell text={JSON.stringify(value)} label={name} />
                )}
              </dd>
            </Fragment>
          ))}
        </dl>
      </div>
    </section>
  )
}
