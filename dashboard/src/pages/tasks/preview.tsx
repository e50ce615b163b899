/** The result of a dry run: the problems with their counts, and the first rows below what each column becomes. */

import type { ApiError } from '../../api/client.ts'
import type { DryRun } from '../../api/types.ts'
import { number } from '../../format/number.ts'
import { refusalDetail } from '../../format/refusal.ts'
import { t } from '../../i18n/index.ts'
import type { ImportForm } from './import-form.ts'

type Columns = ImportForm['columns']

interface PreviewProps {
  run: DryRun
  /** The error that ended the reading of the file. */
  end: ApiError | undefined
  /** Whether the rows were checked with the mapping that the form shows now; without that the problems mean nothing. */
  isChecked: boolean
  /** The mapping as the form shows it now. */
  columns: Columns
  onColumns(columns: Columns): void
}

export function Preview({ run, end, isChecked, columns, onColumns }: PreviewProps) {
  const headers = run.columns ?? [...new Set(run.sample.flatMap(({ values }) => Object.keys(Object(values))))]
  const became = headers.flatMap((header) => (columns[header] === null ? [] : columns[header] || header))
  const missing = run.fields.filter((field) => !became.includes(field))
  return (
    <>
      <p>
        {t('import.found', { n: run.total })} {isChecked ? outcomeOf(run) : <b>{t('import.unchecked')}</b>}
      </p>
      {end && (
        <p>
          <b>{t('import.incomplete')}</b> <bdi>{refusalDetail(end) ?? end.message}</bdi>
        </p>
      )}
      {isChecked && run.groups.length > 0 && <Problems groups={run.groups} />}
      {run.columns && <p class="dim">{t('import.map')}</p>}
      {run.columns && missing.length > 0 && (
        <p>
          {t('import.missing')} <bdi class="b">{missing.join(', ')}</bdi>
        </p>
      )}
      {headers.length > 0 && (
        <section class="scroll preview" aria-label={t('import.preview')}>
          <table>
            <thead>
              <tr>
                {headers.map((header) => (
                  <th key={header}>
                    <bdi>{header}</bdi>
                    {run.columns && (
                      <Becomes
                        header={header}
                        field={columns[header]}
                        fields={run.fields}
                        became={became}
                        onField={(field) => onColumns(changed(columns, header, field))}
                      />
                    )}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {run.sample.map(({ row, values }) => (
                <tr key={row}>
                  {headers.map((header) => (
                    <td key={header} class={columns[header] === null ? 'nowrap dim' : 'nowrap'}>
                      <bdi>{cellOf(values, header)}</bdi>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  )
}

function outcomeOf({ invalid }: DryRun) {
  return invalid > 0 ? <b>{t('import.invalid', { n: invalid })}</b> : t('import.allValid')
}

function Problems({ groups }: Pick<DryRun, 'groups'>) {
  return (
    <ul class="problems" aria-label={t('import.problems')}>
      {groups.map(({ code, message, count, rows }, i) => {
        const numbers = `${rows.map((row) => number(row)).join(', ')}${count > rows.length ? ' …' : ''}`
        return (
          <li key={i}>
            <bdi class="cut" title={message}>
              {message}
            </bdi>
            <span class="dim nowrap">{t('import.rowNumbers', { n: count, rows: numbers })}</span>
            <code class="dim">{code}</code>
            <span class="n">{number(count)}</span>
          </li>
        )
      })}
    </ul>
  )
}

/** No column has these names: texts of a file hold no NUL. */
const LEFT_OUT = '\0left out'
const OTHER = '\0other'

interface BecomesProps {
  header: string
  /** undefined: the column keeps its name; null: it is left out. */
  field: string | null | undefined
  /** The fields that the schema takes. */
  fields: readonly string[]
  /** The fields that all columns become now. */
  became: readonly string[]
  onField(field: string | null | undefined): void
}

/** Chooses what a column becomes: a field of the schema, another name, or nothing. */
function Becomes({ header, field, fields, became, onField }: BecomesProps) {
  const isOther = typeof field === 'string' && !fields.includes(field)
  const value = field === undefined ? '' : field === null ? LEFT_OUT : isOther ? OTHER : field
  const pick = (picked: string) =>
    onField(picked === '' ? undefined : picked === LEFT_OUT ? null : picked === OTHER ? '' : picked)
  return (
    <>
      <select
        aria-label={t('import.becomes', { name: header })}
        value={value}
        onChange={(event) => pick(event.currentTarget.value)}
      >
        <option value="">{header}</option>
        {fields.map(
          (one) =>
            one !== header && (
              <option key={one} value={one} disabled={one !== field && became.includes(one)}>
                {one}
              </option>
            ),
        )}
        <option value={OTHER}>{t('import.otherName')}</option>
        <option value={LEFT_OUT}>{t('import.leaveOut')}</option>
      </select>
      {isOther && (
        <input
          aria-label={t('import.as', { name: header })}
          placeholder={header}
          value={field}
          onInput={(event) => onField(event.currentTarget.value)}
        />
      )}
    </>
  )
}

function changed(columns: Columns, header: string, field: string | null | undefined): Columns {
  const { [header]: _, ...others } = columns
  return field === undefined ? others : { ...others, [header]: field }
}

const LONGEST = 80

function cellOf(values: unknown, name: string): string {
  const value = Object(values)[name] as unknown
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
