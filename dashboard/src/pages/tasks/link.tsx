/** The links for a submitter, which need no login: copies a new one, or revokes all. */

import { ask, type Query, sendRequest } from '../../api/client.ts'
import { confirm } from '../../components/confirm.tsx'
import { copy } from '../../components/copy.tsx'
import { Icon } from '../../components/icon.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'

interface LinksProps {
  /** The path in the API: of one task, or of all of them. */
  path: string
  /** The `meta` of a list of tasks. */
  meta?: Query
}

/** Buttons that copy a link to a task or to a list of tasks, and that revoke all links to it. */
export function LinkButtons({ path, meta }: LinksProps) {
  return (
    <>
      <button type="button" class="btn s" onClick={() => void copyLink({ path, meta })}>
        <Icon name="copy" />
        {t(meta ? 'tasks.copyLink' : 'task.copyLink')}
      </button>
      {about.value?.readOnly === false && (
        <button type="button" class="btn s risk" onClick={() => void revoke({ path, meta })}>
          {t('task.revokeLinks')}
        </button>
      )}
    </>
  )
}

/** How long a link lasts; '' is without an end. */
const LIVES = ['7d', '30d', ''] as const

async function copyLink({ path, meta }: LinksProps): Promise<void> {
  const isReadOnly = about.value?.readOnly !== false
  const choice: Query = { expires: LIVES[0], rights: isReadOnly ? 'read' : 'change' }
  const names = { '7d': 'link.week', '30d': 'link.month', '': meta ? 'link.noEnd' : 'link.withTask' } as const
  const yes = await confirm({
    title: t(meta ? 'link.titleOfList' : 'link.title'),
    body: (
      <>
        <label class="field">
          {t('link.life')}
          <select class="btn" onChange={(event) => Object.assign(choice, { expires: event.currentTarget.value })}>
            {LIVES.map((life) => (
              <option key={life} value={life}>
                {t(names[life])}
              </option>
            ))}
          </select>
        </label>
        {!isReadOnly && (
          <label class="field">
            {t('link.rights')}
            <select class="btn" onChange={(event) => Object.assign(choice, { rights: event.currentTarget.value })}>
              {(['change', 'read'] as const).map((rights) => (
                <option key={rights} value={rights}>
                  {t(`link.rights.${rights}`)}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="dim small">
          {t('link.noLogin')}
          {about.value?.hidesValues && ` ${t('link.hides')}`}
        </span>
      </>
    ),
    act: t('task.copyLink.act'),
    keep: t('link.leave'),
    isDangerous: false,
  })
  if (!yes) return
  const link = await reportOutcome(ask<{ url: string }>(`${path}/link`, { ...meta, ...choice }))
  if (link) await copy(location.origin + link.url)
}

async function revoke({ path, meta }: LinksProps): Promise<void> {
  const yes = await confirm({
    title: t(meta ? 'link.revokeTitleOfList' : 'link.revokeTitle'),
    body: t(meta ? 'link.revokeBodyOfList' : 'link.revokeBody'),
    act: t('link.revoke'),
    keep: t('link.keep'),
  })
  if (yes) await reportOutcome(sendRequest('POST', `${path}/links/revoke`, undefined, meta), () => t('link.revoked'))
}
