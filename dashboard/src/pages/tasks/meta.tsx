/** The `meta` of tasks: the filters of the list, and the values on the page of a task. */

import { Fragment } from 'preact'
import type { TaskStatus } from '../../api/types.ts'
import { at, queryValue } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { AddChip, Chip } from '../../components/search.tsx'
import { t } from '../../i18n/index.ts'
import { useQuery } from '../../live/use-query.ts'
import { JsonWell } from '../job/json.tsx'
import { copyLink } from './link.ts'

/** The parameters of the address and of the API: `meta.user=7`. */
const PREFIX = 'meta.'

/** Returns the filters by meta that the address holds. */
export function metaFilters(query: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([name]) => name.startsWith(PREFIX)))
}

/** Shows the active filters, a button for another one, and one for a link with which a submitter sees these tasks. */
export function MetaChips() {
  const [query] = useQuery()
  const filters = metaFilters(query)
  const names = Object.keys(filters)
  return (
    <>
      {names.map((name) => (
        <Chip key={name} name={name} label={name} />
      ))}
      <AddChip name="meta" label="meta" hint={t('tasks.metaHint')} changeOf={changeOf} />
      {names.length > 0 && (
        <button type="button" class="btn s" onClick={() => void copyLink('/tasks/link', filters)}>
          <Icon name="copy" />
          {t('tasks.copyLink')}
        </button>
      )}
    </>
  )
}

/** Reads `user=7`; undefined when it is not a name and a value. */
function changeOf(text: string): Record<string, string> | undefined {
  const [, name, value] = /^([^=]*[^=\s])\s*=\s*(\S.*)$/.exec(text) ?? []
  return name === undefined || value === undefined ? undefined : { [PREFIX + name]: value }
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
                  <a class="link" href={at(`/tasks?${PREFIX}${queryValue(name)}=${queryValue(String(value))}`)}>
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
