/** The state of an import: the form, the last dry run, and the requests to the server. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { ApiError, apiErrorOf, sendFile } from '../../api/client.ts'
import type { DryRun, TaskImported } from '../../api/types.ts'
import { useKey } from '../../api/use-key.ts'
import { at } from '../../base.ts'
import { showToast } from '../../components/toast.tsx'
import { refusalText } from '../../format/refusal.ts'
import { language, t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { type ImportForm, importQuery, readingQuery, UNREAD, withColumns } from './import-form.ts'

const IMPORT = '/tasks/import'

/** The result of a dry run, and the query that it answered. */
interface Found {
  run: DryRun
  /** The error that ended the reading of the file. */
  end: ApiError | undefined
  query: string
}

/** The form of an import, the last dry run, and what the dialog does at the moment. */
export function useImport(dropped: File | null, onClose: () => void) {
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
  /** The number of the newest dry run, whose answer alone counts; NaN once the dialog is closed. */
  const newest = useRef(0)
  const isClosed = () => Number.isNaN(newest.current)

  /** Reads and checks the file. The columns of a file that was not read before become those of the form. */
  const read = async (next: ImportForm) => {
    const number = ++newest.current
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
      const last = run.complete ? undefined : run.problems.at(-1)
      const end = last && (await apiErrorOf(last))
      if (number !== newest.current) return
      const isFirst = next.headers.length === 0
      const known = isFirst ? withColumns(next, run) : next
      setFound({ run, end, query: textOf(known) })
      if (isFirst) setForm((now) => ({ ...withColumns(now, run), columns: { ...known.columns, ...run.suggested } }))
    } catch (thrown) {
      if (number === newest.current) setFailure(asError(thrown))
    } finally {
      if (number === newest.current) setStep(undefined)
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
      if (error) {
        showToast({ text: `${t('import.wrong')}: ${refusalText(await apiErrorOf(error))}`, isRefusal: true })
      }
      if (isClosed()) {
        if (!error) showToast(t('import.sent', { file: form.file.name, n: total }))
        return
      }
      onClose()
      route(at(`/tasks/${id}`))
    } catch (thrown) {
      const error = asError(thrown)
      if (isClosed()) showToast({ text: `${t('import.wrong')}: ${refusalText(error)}`, isRefusal: true })
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
    ...{ form, setForm, step, failure, run: found?.run, end: found?.end },
    /** Whether the last dry run read the file as the form says now. */
    isChecked: found?.query === textOf(form),
    read: (next: ImportForm) => void read(next),
    start: (allowDuplicate?: true) => void start(allowDuplicate),
  }
}

const textOf = (form: ImportForm) => JSON.stringify(readingQuery(form))

function asError(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError('FAILED', String(thrown), 0)
}
