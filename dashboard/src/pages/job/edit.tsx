/** Changes the arguments of a waiting job, and pushes a job again as a new one. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { sendText } from '../../api/client.ts'
import type { Acted, Duplicated, JobDetail } from '../../api/types.ts'
import { useKey } from '../../api/use-key.ts'
import { at, encoded } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toast.tsx'
import { t, type Word } from '../../i18n/index.ts'
import { whyOf } from '../job-sets/actions.ts'
import { ArgsField, bodyText, FormDialog, membersOf, type Settings, SettingsFields, wrongSettings } from './form.tsx'
import { isJsonList } from './row-fields.ts'

interface ChangeButtonsProps {
  job: JobDetail
  /** The path of the job in the API. */
  path: string
  /** Whether the job waits, so that its arguments can be changed. */
  isWaiting: boolean
  onDone(): unknown
}

export function ChangeButtons({ job, path, isWaiting, onDone }: ChangeButtonsProps) {
  const [open, setOpen] = useState<'edit' | 'duplicate'>()
  const close = () => setOpen(undefined)
  return (
    <>
      {isWaiting && (
        <button type="button" class="btn" data-key="e" onClick={() => setOpen('edit')}>
          {t('job.edit')}
        </button>
      )}
      <button type="button" class="btn" onClick={() => setOpen('duplicate')}>
        <Icon name="copy" />
        {t('job.duplicate')}
      </button>
      {open === 'edit' && <EditDialog job={job} path={path} onDone={onDone} onClose={close} />}
      {open === 'duplicate' && <DuplicateDialog job={job} path={path} onClose={close} />}
    </>
  )
}

/** Returns why the arguments of a job can't be edited here. */
function whyFixed({ args, hidden, payload }: JobDetail): Word | undefined {
  if (hidden) return 'form.fixed.hidden'
  if (payload.wrapped !== undefined) return 'form.fixed.activeJob'
  return args === null ? 'form.fixed.long' : undefined
}

interface DialogProps {
  job: JobDetail
  path: string
  onClose(): void
}

function EditDialog({ job: now, path, onDone, onClose }: DialogProps & { onDone(): unknown }) {
  // The job as it was when the dialog opened. What another person has changed since then must not be lost.
  const [job] = useState(now)
  const [text, setText] = useState(job.argsText)
  const fixed = job.task ? 'form.fixed.tracked' : whyFixed(job)
  const send = async () => {
    if (!isJsonList(text)) return { args: t('job.edit.noList') }
    const acted = await sendText<Acted>(`${path}/edit`, bodyText(text, {}), { key: job.key })
    if (acted.done > 0) showToast({ text: t('job.edit.done') })
    else showToast({ text: t('sets.refused', { n: 1, why: await whyOf(acted) }), isRefusal: true })
    await onDone()
    return undefined
  }
  return (
    <FormDialog
      title={t('job.edit.title')}
      act={t('job.edit.do')}
      fields={['args']}
      isReady={fixed === undefined && text !== job.argsText}
      onSend={send}
      onClose={onClose}
    >
      {(wrong) =>
        fixed ? <p>{t(fixed)}</p> : <ArgsField text={text} wrong={wrong.args} hint={sealedHint(job)} onText={setText} />
      }
    </FormDialog>
  )
}

function DuplicateDialog({ job, path, onClose }: DialogProps) {
  const { route } = useLocation()
  const keyOf = useKey()
  const [text, setText] = useState(job.argsText)
  const tags = Array.isArray(job.payload.tags) ? job.payload.tags.map(String) : []
  const before: Settings = { queue: job.queue, priority: String(job.priority), tags: tags.join('\n'), when: '', at: '' }
  const [settings, setSettings] = useState(before)
  const fixed = whyFixed(job)
  const send = async () => {
    const wrong = {
      ...(isJsonList(text) || fixed ? {} : { args: t('job.edit.noList') }),
      ...(settings.queue === '' ? { queue: t('form.wrong.empty') } : {}),
      ...wrongSettings(settings),
    }
    if (Object.keys(wrong).length > 0) return wrong
    const body = bodyText(text === job.argsText ? null : text, membersOf(settings, before))
    // A tracked job gets an id of its own, which a key would determine.
    const headers: Record<string, string> = job.task ? {} : { 'idempotency-key': keyOf(body, job.key) }
    const { jid } = await sendText<Duplicated>(`${path}/duplicate`, body, { key: job.key }, headers)
    if (jid === null) return { form: t('job.duplicate.filtered') }
    showToast({ text: t('job.duplicate.done') })
    route(at(`/jobs/${encoded(jid)}`))
    return undefined
  }
  return (
    <FormDialog
      title={t('job.duplicate.ask')}
      act={t('job.duplicate.do')}
      fields={['args', 'queue', 'priority', 'at', 'tags']}
      onSend={send}
      onClose={onClose}
    >
      {(wrong) => (
        <>
          <p>{t('job.duplicate.what')}</p>
          {fixed ? (
            <p>
              {t(fixed)} {t('form.fixed.copied')}
            </p>
          ) : (
            <ArgsField text={text} wrong={wrong.args} hint={sealedHint(job)} onText={setText} />
          )}
          <SettingsFields settings={settings} wrong={wrong} onSettings={setSettings} />
        </>
      )}
    </FormDialog>
  )
}

/** Of a job whose last argument is encrypted: what keeps it. */
function sealedHint({ payload }: JobDetail): string | undefined {
  return payload.encrypt === true ? t('form.sealed') : undefined
}
