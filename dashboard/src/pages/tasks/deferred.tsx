/** Lets an operator end a row that waits for another system. */

import { sendRequest } from '../../api/client.ts'
import type { TaskEvent } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { When } from '../../components/time.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'

export function isDeferred({ status, deferredUntil }: Pick<TaskEvent, 'status' | 'deferredUntil'>): boolean {
  return status === 'working' && deferredUntil !== undefined
}

/** `waits for another system until 14:00` */
export function Deadline({ until }: { until: string | undefined }) {
  return (
    <span>
      {t('task.deferredUntil')} <When at={until ?? null} />
    </span>
  )
}

export function DeferredActions({ jid, reload }: { jid: string; reload(): Promise<void> }) {
  const end = async (how: 'finish' | 'fail', body: object) => {
    await reportOutcome(sendRequest('POST', `/jobs/${encoded(jid)}/${how}`, body), () => t(`task.deferred.${how}.did`))
    await reload()
  }
  const finish = async () => {
    const fields = { result: '' }
    const yes = await confirm({
      title: t('task.deferred.finish.title'),
      body: (
        <>
          <span class="block dim">{t('task.deferred.finish.what')}</span>
          <Field label={t('task.deferred.result')} onText={(text) => Object.assign(fields, { result: text })} />
        </>
      ),
      act: t('task.deferred.finish'),
      keep: t('later.keep'),
      isDangerous: false,
    })
    if (yes) await end('finish', fields.result === '' ? {} : { result: resultOf(fields.result) })
  }
  const fail = async () => {
    const fields = { message: '', code: '' }
    const yes = await confirm({
      title: t('task.deferred.fail.title'),
      body: (
        <>
          <span class="block dim">{t('task.deferred.fail.what')}</span>
          <Field
            label={t('task.deferred.message')}
            isRequired
            onText={(text) => Object.assign(fields, { message: text })}
          />
          <Field label={t('task.deferred.code')} onText={(text) => Object.assign(fields, { code: text })} />
        </>
      ),
      act: t('task.deferred.fail'),
      keep: t('later.keep'),
    })
    if (yes) await end('fail', fields.code === '' ? { message: fields.message } : fields)
  }
  return (
    <>
      <button type="button" class="btn primary" onClick={() => void finish()}>
        {t('task.deferred.finishAsk')}
      </button>
      <button type="button" class="btn risk" onClick={() => void fail()}>
        {t('task.deferred.failAsk')}
      </button>
    </>
  )
}

/** Reads a result as `highkiq task finish` does: anything that is not JSON is a string. */
function resultOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function Field({ label, isRequired, onText }: { label: string; isRequired?: boolean; onText(text: string): void }) {
  return (
    <label class="field">
      {label}
      <input type="text" required={isRequired ?? false} onInput={(event) => onText(event.currentTarget.value)} />
    </label>
  )
}
