/** The parts of the forms of a job: the dialog, its fields with their errors, and where and when the job runs. */

import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import { useModal } from '../../components/modal.ts'
import { refusalText } from '../../format/refusal.ts'
import { dateOf, duration, inUtc } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { WAITS } from './later.tsx'

/** What is wrong with a form, by the names of its fields. */
export type Wrong = Readonly<Record<string, string>>

interface FormDialogProps {
  title: string
  /** The label of the button that sends the form. */
  act: string
  /** Returns what is wrong, after which the dialog stays open; nothing when it is done. */
  onSend(): Promise<Wrong | undefined>
  onClose(): void
  isReady?: boolean
  /** The names of the fields that show what is wrong with them; anything else is shown above them. */
  fields: readonly string[]
  children(wrong: Wrong): ComponentChildren
}

/** A form in a dialog. `Ctrl Enter` sends it from any field. */
export function FormDialog({ title, act, onSend, onClose, isReady = true, fields, children }: FormDialogProps) {
  const dialog = useModal()
  const [wrong, setWrong] = useState<Wrong>({})
  const [isBusy, setBusy] = useState(false)
  const id = useId()
  useLayoutEffect(() => dialog.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [wrong])
  const send = async () => {
    if (isBusy || !isReady) return
    setBusy(true)
    try {
      const faults = await onSend()
      if (faults) setWrong(faults)
      else onClose()
    } catch (thrown) {
      setWrong(wrongOf(thrown))
    }
    setBusy(false)
  }
  const others = Object.keys(wrong).filter((name) => !fields.includes(name))
  return (
    <dialog ref={dialog} class="dialog wide" aria-labelledby={id} onClose={onClose}>
      <form
        method="dialog"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit()
        }}
      >
        <h2 id={id}>{title}</h2>
        {others.length > 0 && (
          <div class="err" role="alert">
            {others.map((name) => (
              <p key={name}>
                <bdi>{wrong[name]}</bdi>
              </p>
            ))}
          </div>
        )}
        {children(wrong)}
        <div class="actions">
          <button type="button" class="btn" onClick={onClose}>
            {t('form.cancel')}
          </button>
          <button type="submit" class="btn primary" disabled={isBusy || !isReady}>
            {act}
          </button>
        </div>
      </form>
    </dialog>
  )
}

interface FieldAttributes {
  id: string
  'aria-invalid': boolean
  'aria-describedby': string
}

interface FieldProps {
  label: string
  wrong?: string | undefined
  hint?: ComponentChildren
  children(attributes: FieldAttributes): ComponentChildren
}

export function Field({ label, wrong, hint, children }: FieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-invalid': wrong !== undefined, 'aria-describedby': `${id}-more` })}
      <p
        id={`${id}-more`}
        class={wrong === undefined ? 'dim' : 'wrong'}
        role={wrong === undefined ? undefined : 'alert'}
      >
        {wrong === undefined ? hint : <bdi>{wrong}</bdi>}
      </p>
    </div>
  )
}

interface ArgsFieldProps {
  text: string
  wrong: string | undefined
  hint?: ComponentChildren
  onText(text: string): void
}

export function ArgsField({ text, wrong, hint, onText }: ArgsFieldProps) {
  return (
    <Field label={t('job.edit.field')} wrong={wrong} hint={hint}>
      {(attributes) => (
        <textarea
          class="mono"
          rows={6}
          spellcheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
          {...attributes}
        />
      )}
    </Field>
  )
}

/** Where and when a job runs, as the fields have it. */
export interface Settings {
  queue: string
  /** '' means that of the class. */
  priority: string
  /** One on each line. */
  tags: string
  /** '': now; a number of seconds; or `at`. */
  when: string
  at: string
}

interface SettingsFieldsProps {
  settings: Settings
  wrong: Wrong
  onSettings(settings: Settings): void
  /** What empty fields mean; undefined when none may be empty. */
  defaults?: { queue: string; priority: number } | undefined
}

export function SettingsFields({ settings, wrong, onSettings, defaults }: SettingsFieldsProps) {
  const value = (name: keyof Settings) => ({
    value: settings[name],
    onInput: (event: { currentTarget: { value: string } }) =>
      onSettings({ ...settings, [name]: event.currentTarget.value }),
  })
  return (
    <>
      <div class="pairs">
        <Field label={t('job.queue')} wrong={wrong.queue}>
          {(attributes) => <input placeholder={defaults?.queue} {...value('queue')} {...attributes} />}
        </Field>
        <Field label={t('job.priority')} wrong={wrong.priority}>
          {(attributes) => (
            <select class="btn" {...value('priority')} {...attributes}>
              {defaults && <option value="">{t('form.default', { value: defaults.priority })}</option>}
              {Array.from({ length: 10 }, (_, i) => (
                <option key={i} value={String(i)}>
                  {i}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t('form.when')}>
          {(attributes) => (
            <select class="btn" {...value('when')} {...attributes}>
              <option value="">{t('form.now')}</option>
              {WAITS.map((seconds) => (
                <option key={seconds} value={String(seconds)}>
                  {t('later.in', { time: duration(seconds) })}
                </option>
              ))}
              <option value="at">{t('later.at')}</option>
            </select>
          )}
        </Field>
        {settings.when === 'at' && (
          <Field label={t(inUtc.value ? 'later.atUtc' : 'later.at')} wrong={wrong.at}>
            {(attributes) => <input type="datetime-local" {...value('at')} {...attributes} />}
          </Field>
        )}
      </div>
      <Field label={t('form.tags')} wrong={wrong.tags}>
        {(attributes) => <textarea rows={2} {...value('tags')} {...attributes} />}
      </Field>
    </>
  )
}

/** Returns what is wrong with the settings. */
export function wrongSettings({ queue, when, at }: Settings): Wrong {
  return {
    ...(/[{}\s\p{Cc}]/u.test(queue) ? { queue: t('form.wrong.queue') } : {}),
    ...(when === 'at' && !dateOf(at) ? { at: t('form.wrong.at') } : {}),
  }
}

/** Returns the members of a request for the fields that differ from those before. */
export function membersOf(settings: Settings, before: Settings): Record<string, unknown> {
  const { queue, priority, tags, when, at } = settings
  return {
    ...(queue === before.queue ? {} : { queue }),
    ...(priority === before.priority ? {} : { priority: Number(priority) }),
    ...(tags === before.tags ? {} : { tags: tags.split('\n').filter((tag) => tag.trim() !== '') }),
    ...(when === 'at' ? { at: dateOf(at)?.toISOString() } : when === '' ? {} : { in: Number(when) }),
  }
}

/** Returns the body of a request whose arguments are JSON, so that their digits stay as they were written. */
export function bodyText(args: string | null, members: Record<string, unknown>): string {
  const others = JSON.stringify(members).slice(1, -1)
  return `{${[args === null ? '' : `"args":${args}`, others].filter(Boolean).join(',')}}`
}

interface Issue {
  path: string
  message: string
}

/** Returns the fields that the error of a request is about. */
function wrongOf(thrown: unknown): Wrong {
  if (!(thrown instanceof ApiError)) return { form: String(thrown) }
  const { code, details } = thrown
  const message = refusalText(thrown)
  const issues = Array.isArray(details.issues) ? (details.issues as Issue[]) : []
  if (issues.length > 0) return Object.fromEntries(issues.map((issue) => [fieldOfIssue(issue), issue.message]))
  const [path = ''] = String(details.path ?? '').split(/[.[]/)
  if (path === 'args' || code === 'ARGS_TOO_LARGE') return { args: message }
  if (code === 'QUEUE_FULL') return { queue: message }
  // The key of a job names it as it was read.
  if (code === 'UNKNOWN_JID') return { form: t('form.moved') }
  return { [code === 'UNKNOWN_JOB' ? 'class' : path || 'form']: message }
}

/** The field `row.address` has the errors of all that is inside an address. */
const fieldOfIssue = ({ path }: Issue) => (path === '' ? 'form' : `row.${path.split('.')[0]}`)
