/** The fields of the import dialog that most imports can leave as they are: how the file is read, and the task's limits. */

import type { ComponentChildren } from 'preact'
import type { DryRun } from '../../api/types.ts'
import { t } from '../../i18n/index.ts'
import { type ImportForm, type LimitName, type MetaPair, MOST_META, type ReadingName } from './import-form.ts'

const DELIMITERS = [',', ';', '\t', '|']
/** The encodings that the server detects. */
const ENCODINGS = [
  ...['utf-8', 'utf-16le', 'windows-1250', 'windows-1251', 'windows-1252', 'windows-1253', 'windows-1254'],
  ...[
    'windows-1257',
    'iso-8859-2',
    'koi8-r',
    'ibm866',
    'macintosh',
    'gb18030',
    'big5',
    'euc-kr',
    'euc-jp',
    'shift_jis',
  ],
]

interface ReadingFieldsProps {
  form: ImportForm
  /** The result of the last dry run, if there was one. */
  run: DryRun | undefined
  onReading(reading: ImportForm['reading']): void
}

export function ReadingFields({ form: { file, reading }, run, onReading }: ReadingFieldsProps) {
  const format = run?.format ?? (/\.xls[xm]$/i.test(file?.name ?? '') ? 'xlsx' : 'csv')
  const set = (name: ReadingName) => (value: string) => {
    const { [name]: _, ...others } = reading
    onReading(value === '' ? others : { ...others, [name]: value })
  }
  const shown = [format.toUpperCase(), run?.sheet, run?.delimiter && delimiterName(run.delimiter), run?.encoding]
  const sheets = run?.sheets ?? []
  return (
    <details open={sheets.length > 1}>
      <summary>
        {t('import.howRead')} <bdi class="dim">{shown.filter(Boolean).join(' · ')}</bdi>
      </summary>
      <div class="pairs">
        {sheets.length > 1 && (
          <Choice
            label={t('import.sheet')}
            value={reading.sheet}
            standard={detected(!reading.sheet && run?.sheet)}
            options={sheets.map((name) => [name, name])}
            onPick={set('sheet')}
          />
        )}
        {format === 'csv' && (
          <Choice
            label={t('import.delimiter')}
            value={reading.delimiter}
            standard={detected(!reading.delimiter && run?.delimiter && delimiterName(run.delimiter))}
            options={DELIMITERS.map((one) => [one, delimiterName(one)])}
            onPick={set('delimiter')}
          />
        )}
        {format !== 'xlsx' && (
          <Choice
            label={t('import.encoding')}
            value={reading.encoding}
            standard={detected(!reading.encoding && run?.encoding)}
            options={ENCODINGS.map((name) => [name, name])}
            onPick={set('encoding')}
          />
        )}
        {format !== 'ndjson' && (
          <Field label={t('import.headerRow')}>
            <input
              type="number"
              min="1"
              value={reading.headerRow ?? ''}
              placeholder={t('import.detect')}
              onChange={(event) => set('headerRow')(event.currentTarget.value)}
            />
          </Field>
        )}
      </div>
    </details>
  )
}

const detected = (value: string | null | undefined | false) =>
  value ? t('import.detected', { value }) : t('import.detect')
const delimiterName = (delimiter: string) => (delimiter === '\t' ? t('import.tab') : delimiter)

interface LimitFieldsProps {
  form: ImportForm
  onLimits(limits: ImportForm['limits']): void
  onMeta(meta: ImportForm['meta']): void
}

export function LimitFields({ form: { file, limits, meta }, onLimits, onMeta }: LimitFieldsProps) {
  const field = (name: LimitName) => ({
    value: limits[name] ?? '',
    onInput: (event: { currentTarget: { value: string } }) =>
      onLimits({ ...limits, [name]: event.currentTarget.value }),
  })
  return (
    <details>
      <summary>{t('import.limits')}</summary>
      <div class="pairs">
        <Field label={t('import.name')}>
          <input placeholder={file?.name ?? ''} {...field('name')} />
        </Field>
        <Field label={t('task.rowsAtOnce')}>
          <input type="number" min="1" {...field('concurrency')} />
        </Field>
        <Field label={t('task.stopWhen')}>
          <input placeholder={t('import.maxFailuresHint')} {...field('maxFailures')} />
        </Field>
        <Choice
          label={t('import.then')}
          value={limits.onMaxFailures}
          standard={t('import.thenPause')}
          options={[['cancel', t('import.thenCancel')]]}
          onPick={(onMaxFailures) => onLimits({ ...limits, onMaxFailures })}
        />
      </div>
      <MetaFields meta={meta} onMeta={onMeta} />
    </details>
  )
}

interface MetaFieldsProps {
  meta: ImportForm['meta']
  onMeta(meta: ImportForm['meta']): void
}

/** A row for each pair, and an empty one for another. */
function MetaFields({ meta, onMeta }: MetaFieldsProps) {
  const pairs: readonly MetaPair[] = [...meta, ['', ''] as const].slice(0, MOST_META)
  const set = (i: number, pair: MetaPair) => onMeta(Object.assign([...meta], { [i]: pair }))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would have a border and a legend
    <div class="field" role="group" aria-label={t('import.meta')}>
      {t('import.meta')}
      {pairs.map(([name, value], i) => (
        <div class="pairs" key={i}>
          <input
            aria-label={t('import.metaName')}
            placeholder={t('import.metaName')}
            value={name}
            onInput={(event) => set(i, [event.currentTarget.value, value])}
          />
          <input
            aria-label={t('import.metaValue')}
            placeholder={t('import.metaValue')}
            value={value}
            onInput={(event) => set(i, [name, event.currentTarget.value])}
          />
        </div>
      ))}
    </div>
  )
}

function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is among the children
    <label class="field">
      {label}
      {children}
    </label>
  )
}

interface ChoiceProps {
  label: string
  value: string | undefined
  /** The text of the choice that leaves the value out. */
  standard: string
  options: [value: string, text: string][]
  onPick(value: string): void
}

function Choice({ label, value = '', standard, options, onPick }: ChoiceProps) {
  return (
    <Field label={label}>
      <select class="btn" value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        <option value="">{standard}</option>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  )
}
