/** Adds a job: its class, its arguments, and where and when it runs. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { ask, sendText } from '../../api/client.ts'
import type { JobClass, Pushed } from '../../api/types.ts'
import { useKey } from '../../api/use-key.ts'
import { at, encoded } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import {
  ArgsField,
  bodyText,
  Field,
  FormDialog,
  membersOf,
  type Settings,
  SettingsFields,
  type Wrong,
  wrongSettings,
} from './form.tsx'
import { isJsonList, type RowField, rowFieldsOf, rowText } from './row-fields.ts'

/** The queue or the class that the form begins with. */
interface Start {
  queue?: string | undefined
  class?: string | undefined
}

/** The button of a page. `n` presses it. */
export function AddJob(start: Start) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="btn" data-key="n" onClick={() => setOpen(true)}>
        <Icon name="plus" />
        {t('form.add')}
      </button>
      {isOpen && <AddDialog {...start} onClose={() => setOpen(false)} />}
    </>
  )
}

const EMPTY: Settings = { queue: '', priority: '', tags: '', when: '', at: '' }

function AddDialog({ queue = '', class: name = '', onClose }: Start & { onClose(): void }) {
  const { route } = useLocation()
  const [className, setClassName] = useState(name)
  const [settings, setSettings] = useState({ ...EMPTY, queue })
  const [text, setText] = useState('[]')
  const [values, setValues] = useState<Record<string, string>>({})
  const [isJson, setJson] = useState(false)
  /** What the form itself has filled in, which another class replaces. */
  const filled = useRef({ text: '[]', queue })
  const { found, find } = useClass(({ example, defined, seenIn }) => {
    const before = filled.current
    // The server knows the queue of a class only if it defines it.
    const next = { text: example?.argsText ?? '[]', queue: queue === '' && !defined ? (seenIn ?? '') : queue }
    setText((now) => (now === before.text ? next.text : now))
    setSettings((now) => (now.queue === before.queue ? { ...now, queue: next.queue } : now))
    filled.current = next
  })
  const keyOf = useKey()
  useEffect(() => void find(name), [])
  const known = found?.class === className ? found : undefined
  const fields = isJson ? [] : rowFieldsOf(known?.schema ?? null)
  const hasFields = fields.length > 0

  const send = async (): Promise<Wrong | undefined> => {
    // After Enter in the field of the class, the form first shows what it fills in.
    const answer = known ?? (await find(className))
    if (!known && answer && (answer.schema !== null || answer.seenIn !== null)) return {}
    const row = rowText(fields, values)
    const wrong = {
      ...(className === '' ? { class: t('form.wrong.empty') } : {}),
      ...(hasFields || isJsonList(text) ? {} : { args: t('job.edit.noList') }),
      ...Object.fromEntries(Object.entries(row.wrong).map(([field, word]) => [`row.${field}`, t(word)])),
      ...wrongSettings(settings),
    }
    if (Object.keys(wrong).length > 0) return wrong
    const members = { class: className, ...membersOf(settings, EMPTY) }
    const body = bodyText(hasFields ? `[${row.text}]` : text, members)
    const query = hasFields ? { validate: true } : {}
    // A tracked job gets an id of its own, which a key would determine.
    const headers: Record<string, string> = answer?.tracked ? {} : { 'idempotency-key': keyOf(body, hasFields) }
    const { jid, existing } = await sendText<Pushed>('/jobs', body, query, headers)
    if (jid === null) return { form: t('job.duplicate.filtered') }
    if (existing) return { form: t('form.existing', { jid }) }
    showToast({ text: t('form.added') })
    route(at(`/jobs/${encoded(jid)}`))
    return undefined
  }

  return (
    <FormDialog
      title={t('form.title')}
      act={t('form.do')}
      fields={[
        ...['class', 'queue', 'priority', 'at', 'tags'],
        ...(hasFields ? fields.map((field) => `row.${field.name}`) : ['args']),
      ]}
      onSend={send}
      onClose={onClose}
    >
      {(wrong) => (
        <>
          <ClassField
            value={className}
            wrong={wrong.class}
            onInput={setClassName}
            onChange={(value) => void find(value)}
          />
          {hasFields && <RowFields fields={fields} values={values} wrong={wrong} onValues={setValues} />}
          {!hasFields && <ArgsField text={text} wrong={wrong.args} hint={hintOf(known)} onText={setText} />}
          {known?.schema && rowFieldsOf(known.schema).length > 0 && (
            <button type="button" class="btn s below" onClick={() => setJson(!isJson)}>
              {t(isJson ? 'form.asFields' : 'form.asJson')}
            </button>
          )}
          <SettingsFields
            settings={settings}
            wrong={wrong}
            onSettings={setSettings}
            defaults={known?.defaults ?? { queue: 'default', priority: 0 }}
          />
        </>
      )}
    </FormDialog>
  )
}

interface ClassFieldProps {
  value: string
  wrong: string | undefined
  onInput(value: string): void
  /** Called when the name is complete. */
  onChange(value: string): void
}

function ClassField({ value, wrong, onInput, onChange }: ClassFieldProps) {
  return (
    <>
      <Field label={t('job.class')} wrong={wrong}>
        {(attributes) => (
          <input
            list="known-classes"
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
            onChange={(event) => onChange(event.currentTarget.value)}
            {...attributes}
          />
        )}
      </Field>
      <datalist id="known-classes">
        {about.value?.jobs.map((job) => (
          <option key={job.name} value={job.name} />
        ))}
      </datalist>
    </>
  )
}

/** Loads what is known about the named class, once. The answers about earlier names are ignored. */
function useClass(onFound: (found: JobClass) => void) {
  const [found, setFound] = useState<JobClass>()
  const newest = useRef<{ name: string; answer: Promise<JobClass | undefined> }>(undefined)
  const find = (name: string): Promise<JobClass | undefined> => {
    if (newest.current?.name === name) return newest.current.answer
    const request = { name, answer: load(name) }
    newest.current = request
    request.answer.then((answer) => {
      if (newest.current !== request) return
      if (answer) {
        setFound(answer)
        onFound(answer)
      } else newest.current = undefined
    })
    return request.answer
  }
  return { found, find }
}

/** Without an answer the arguments can still be written as JSON. */
async function load(name: string): Promise<JobClass | undefined> {
  return name === '' ? undefined : ask<JobClass>(`/classes/${encoded(name)}`).catch(() => undefined)
}

function hintOf(known: JobClass | undefined): string | undefined {
  if (known?.example) return t('form.example', { jid: known.example.jid })
  if (known?.withheld) return t(`form.withheld.${known.withheld}`)
  return known?.encrypted ? t('form.encrypted') : undefined
}

interface RowFieldsProps {
  fields: readonly RowField[]
  values: Readonly<Record<string, string>>
  wrong: Wrong
  onValues(values: Record<string, string>): void
}

function RowFields({ fields, values, wrong, onValues }: RowFieldsProps) {
  return (
    <>
      {fields.map((field) => {
        const { name, kind, hint, isRequired } = field
        const value = {
          value: values[name] ?? '',
          'aria-required': isRequired,
          onInput: (event: { currentTarget: { value: string } }) =>
            onValues({ ...values, [name]: event.currentTarget.value }),
        }
        const options = kind === 'flag' ? ['true', 'false'] : field.choices
        return (
          <Field
            key={name}
            label={isRequired ? `${name} *` : name}
            wrong={wrong[`row.${name}`]}
            hint={kind === 'json' ? `${hint} JSON`.trim() : hint}
          >
            {(attributes) =>
              options.length > 0 ? (
                <select class="btn" {...value} {...attributes}>
                  <option value="" />
                  {options.map((one) => (
                    <option key={one} value={one}>
                      {textOf(one)}
                    </option>
                  ))}
                </select>
              ) : kind === 'json' ? (
                <textarea class="mono" rows={2} spellcheck={false} {...value} {...attributes} />
              ) : (
                <input inputMode={kind === 'text' ? 'text' : 'decimal'} {...value} {...attributes} />
              )
            }
          </Field>
        )
      })}
    </>
  )
}

/** Returns a value of a choice as people read it. */
function textOf(json: string): string {
  const value: unknown = JSON.parse(json)
  return typeof value === 'string' ? value : json
}
