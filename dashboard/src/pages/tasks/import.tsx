/** Imports a file: choose the job and the file, map the columns, start. The file is read first; nothing runs before the start. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { ApiError, sendFile } from '../../api/client.ts'
import type { DryRun, TaskImported } from '../../api/types.ts'
import { useKey } from '../../api/use-key.ts'
import { at } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toast.tsx'
import { bytes } from '../../format/number.ts'
import { language, t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { FILE_ENDINGS } from './drop.tsx'
import { LimitFields, ReadingFields } from './import-fields.tsx'
import {
  type ImportForm,
  importQuery,
  type ReadingName,
  readingQuery,
  UNREAD,
  waysOf,
  withColumns,
} from './import-form.ts'
import { Preview } from './preview.tsx'

/** The result of a dry run, and the query that it answered. */
interface Found {
  run: DryRun
  query: string
}

export function ImportDialog({ file: dropped, onClose }: { file: File | null; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { form, setForm, found, step, failure, read, start } = useImport(dropped, onClose)
  useEffect(() => dialog.current?.showModal(), [])
  const isChecked = found?.query === textOf(form)
  const readWith = (reading: ImportForm['reading']) => read({ ...form, ...UNREAD, reading })

  return (
    <dialog ref={dialog} class="dialog wide" aria-labelledby="import-title" onClose={onClose}>
      <h2 id="import-title">{t('import.title')}</h2>
      {failure && (
        <Failure
          failure={failure}
          onAgain={() => start(true)}
          onWay={(name, value) => readWith({ ...form.reading, [name]: value })}
        />
      )}
      <SourceFields form={form} onSource={(source) => read({ ...form, ...UNREAD, ...source })} />
      {form.file && <ReadingFields form={form} run={found?.run} onReading={readWith} />}
      {form.file && (
        <LimitFields
          form={form}
          onLimits={(limits) => setForm({ ...form, limits })}
          onMeta={(meta) => setForm({ ...form, meta })}
        />
      )}
      {found && (
        <Preview run={found.run} columns={form.columns} onColumns={(columns) => setForm({ ...form, columns })} />
      )}
      <div class="actions">
        <button type="button" class="btn" onClick={onClose}>
          {t(step === 'sending' ? 'drawer.close' : 'import.leave')}
        </button>
        <button
          type="button"
          class={isChecked ? 'btn' : 'btn primary'}
          disabled={!form.file || form.job === '' || step !== undefined}
          onClick={() => read(form)}
        >
          {t(step === 'reading' ? 'import.reading' : found ? 'import.previewAgain' : 'import.showPreview')}
        </button>
        {found && (
          <button
            type="button"
            class={isChecked ? 'btn primary' : 'btn'}
            disabled={step !== undefined || !isChecked || found.run.total === 0}
            onClick={() => start()}
          >
            {step === 'sending' ? t('import.sending') : t('import.start', { n: found.run.total })}
          </button>
        )}
      </div>
    </dialog>
  )
}

/** The form of an import, the last dry run, and what the dialog does at the moment. */
function useImport(dropped: File | null, onClose: () => void) {
  const { route } = useLocation()
  const jobs = about.value?.jobs ?? []
  const [form, setForm] = useState<ImportForm>({
    ...{ file: dropped, job: jobs.length === 1 ? (jobs[0]?.name ?? '') : '', reading: {}, limits: {}, meta: [] },
    ...UNREAD,
  })
  const [found, setFound] = useState<Found>()
  const [step, setStep] = useState<'reading' | 'sending'>()
  const [failure, setFailure] = useState<ApiError>()
  const keyOf = useKey()
  /** The number of the newest dry run; the answers of earlier ones are ignored, and all once the dialog is closed. */
  const newest = useRef(0)
  const isClosed = () => Number.isNaN(newest.current)

  /** Reads and checks the file. The columns of a file that was not read before become those of the form. */
  const read = async (next: ImportForm) => {
    newest.current++
    const turn = newest.current
    if (next.file !== form.file) setFound(undefined)
    setForm(next)
    setFailure(undefined)
    if (!next.file || next.job === '') {
      setStep(undefined)
      return
    }
    setStep('reading')
    try {
      const query = { ...readingQuery(next), dryRun: true, lang: language.value }
      const run = await sendFile<DryRun>(IMPORT, query, next.file)
      if (turn !== newest.current) return
      const isFirst = next.headers.length === 0
      const known = isFirst ? withColumns(next, run) : next
      setFound({ run, query: textOf(known) })
      if (isFirst) setForm((now) => ({ ...withColumns(now, run), columns: { ...known.columns, ...run.suggested } }))
    } catch (thrown) {
      if (turn === newest.current) setFailure(asError(thrown))
    } finally {
      if (turn === newest.current) setStep(undefined)
    }
  }

  const start = async (allowDuplicate?: true) => {
    if (!form.file) return
    setFailure(undefined)
    setStep('sending')
    const query = { ...importQuery(form), allowDuplicate }
    try {
      const headers = { 'idempotency-key': keyOf(JSON.stringify(query), form.file) }
      const { id, total, error } = await sendFile<TaskImported>(IMPORT, query, form.file, headers)
      // The rows before the error are stored and run; the page of the task shows the rest.
      if (error) showToast({ text: `${t('import.wrong')}: ${error.message}`, isRefusal: true })
      if (isClosed()) {
        if (!error) showToast(t('import.sent', { file: form.file.name, n: total }))
        return
      }
      onClose()
      route(at(`/tasks/${id}`))
    } catch (thrown) {
      const error = asError(thrown)
      if (isClosed()) showToast({ text: `${t('import.wrong')}: ${error.message}`, isRefusal: true })
      setFailure(error)
      setStep(undefined)
    }
  }

  useEffect(() => {
    void read(form)
    return () => {
      newest.current = Number.NaN
    }
  }, [])
  return {
    ...{ form, setForm, found, step, failure },
    read: (next: ImportForm) => void read(next),
    start: (allowDuplicate?: true) => void start(allowDuplicate),
  }
}

interface FailureProps {
  failure: ApiError
  /** Imports the file again although it was imported before. */
  onAgain(): void
  /** Reads the file in a way that the error offers. */
  onWay(name: ReadingName, value: string): void
}

function Failure({ failure: { code, message, details }, onAgain, onWay }: FailureProps) {
  if (code === 'ALREADY_IMPORTED') {
    return (
      <div class="note failed" role="alert">
        <p>
          {t('import.already')}{' '}
          <a class="link" href={at(`/tasks/${String(details.task)}`)}>
            {t('import.alreadyAs')}
          </a>
        </p>
        <button type="button" class="btn" onClick={onAgain}>
          {t('import.again')}
        </button>
      </div>
    )
  }
  return (
    <div class="err" role="alert">
      <b>{t('import.wrong')}</b>
      <p>
        <bdi>{message}</bdi>
      </p>
      {waysOf(details).map(([name, value]) => (
        <button type="button" class="btn s" key={value} onClick={() => onWay(name, value)}>
          {t(`import.${name}`)}: <bdi>{value}</bdi>
        </button>
      ))}
    </div>
  )
}

interface SourceFieldsProps {
  form: ImportForm
  onSource(source: Partial<ImportForm>): void
}

/** The job and the file. */
function SourceFields({ form, onSource }: SourceFieldsProps) {
  return (
    <div class="fields">
      <label class="field">
        {t('import.job')}
        <select class="btn" value={form.job} onChange={(event) => onSource({ job: event.currentTarget.value })}>
          <option value="">{t('import.chooseJob')}</option>
          {about.value?.jobs.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="btn">
        <Icon name="upload" />
        {form.file ? <bdi class="cut">{`${form.file.name}, ${bytes(form.file.size)}`}</bdi> : t('import.choose')}
        <input
          type="file"
          class="vh"
          accept={FILE_ENDINGS}
          onChange={(event) => onSource({ reading: {}, file: event.currentTarget.files?.[0] ?? null })}
        />
      </label>
    </div>
  )
}

const IMPORT = '/tasks/import'

const textOf = (form: ImportForm) => JSON.stringify(readingQuery(form))

function asError(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError('FAILED', String(thrown), 0)
}
