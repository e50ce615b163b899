/** Changes the arguments of a waiting job, and pushes a job again as a new one. */

import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { tell, tellText } from '../../api/client.ts'
import type { Acted, Duplicated, JobDetail } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { Icon } from '../../components/icon.tsx'
import { doing, say } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'

interface ChangeButtonsProps {
  job: JobDetail
  /** The path of the job in the API. */
  path: string
  onDone(): unknown
}

export function ChangeButtons({ job, path, onDone }: ChangeButtonsProps) {
  const { route } = useLocation()
  const edit = async () => {
    const text = await askArguments(job.argsText)
    if (text === null) return
    const acted = await doing(tellText<Acted>(`${path}/edit`, `{"args":${text}}`, { key: job.key }))
    if (!acted) return
    if (acted.done > 0) say({ text: t('job.edit.done') })
    else say({ text: t('sets.refused', { n: 1, why: acted.error ?? '' }), isRefusal: true })
    await onDone()
  }
  const duplicate = async () => {
    const isMeant = await confirm({
      title: t('job.duplicate.ask'),
      body: t('job.duplicate.what'),
      act: t('job.duplicate.do'),
      keep: t('later.keep'),
      isDangerous: false,
    })
    if (!isMeant) return
    const pushed = await doing(tell<Duplicated>('POST', `${path}/duplicate`, undefined, { key: job.key }))
    if (!pushed) return
    if (pushed.jid === null) say({ text: t('job.duplicate.filtered'), isRefusal: true })
    else {
      say({ text: t('job.duplicate.done') })
      route(at(`/jobs/${encoded(pushed.jid)}`))
    }
  }
  return (
    <>
      {job.args !== null && job.task === null && job.payload.hk_started === undefined && (
        <button type="button" class="btn" onClick={() => void edit()}>
          {t('job.edit')}
        </button>
      )}
      <button type="button" class="btn" onClick={() => void duplicate()}>
        <Icon name="copy" />
        {t('job.duplicate')}
      </button>
    </>
  )
}

interface Asked {
  text: string
  answer(text: string | null): void
}

const asked = signal<Asked | null>(null)

/** Asks for arguments. Resolves to their JSON; to null when the user cancels. */
function askArguments(text: string): Promise<string | null> {
  asked.value?.answer(null)
  return new Promise((resolve) => {
    asked.value = {
      text,
      answer(edited) {
        asked.value = null
        resolve(edited)
      },
    }
  })
}

/** The dialog. A page that asks shows it once. */
export function AskingArguments() {
  const { value: question } = asked
  useEffect(() => () => asked.value?.answer(null), [])
  return question && <Dialog key={question.text} {...question} />
}

function Dialog({ text, answer }: Asked) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [edited, setEdited] = useState(text)
  useEffect(() => dialog.current?.showModal(), [])
  const isList = isJsonList(edited)
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="edit-title" onClose={() => answer(null)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          if (isList) answer(edited)
        }}
      >
        <h2 id="edit-title">{t('job.edit.title')}</h2>
        <label class="field">
          {t('job.edit.field')}
          <textarea
            class="mono"
            rows={8}
            spellcheck={false}
            value={edited}
            onInput={(event) => setEdited(event.currentTarget.value)}
          />
        </label>
        <p class="dim" aria-live="polite">
          {isList ? ' ' : t('job.edit.noList')}
        </p>
        <div class="acts">
          <button type="button" class="btn" onClick={() => answer(null)}>
            {t('later.keep')}
          </button>
          <button type="submit" class="btn primary" disabled={!isList || edited === text}>
            {t('job.edit.do')}
          </button>
        </div>
      </form>
    </dialog>
  )
}

function isJsonList(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text))
  } catch {
    return false
  }
}
