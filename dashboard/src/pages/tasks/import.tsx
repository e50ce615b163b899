/** Imports a file: choose the job and the file, check the preview, start. Nothing runs before the start. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { ApiError, sendFile } from '../../api/client.ts'
import type { DryRun, TaskImported } from '../../api/types.ts'
import { at } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { say } from '../../components/toast.tsx'
import { bytes } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { Preview } from './preview.tsx'

type Step = 'choose' | 'reading' | 'preview' | 'sending'

/** The result of a dry run, and the mapping that it used. */
interface Previewed {
  found: DryRun
  columns: Record<string, string>
}

export function ImportDialog({ file: dropped, onClose }: { file: File | null; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { route } = useLocation()
  const jobs = about.value?.jobs ?? []
  const [file, setFile] = useState(dropped)
  const [job, setJob] = useState(jobs.length === 1 ? (jobs[0]?.name ?? '') : '')
  /** The headers of the file, as the first dry run found them. */
  const [headers, setHeaders] = useState<string[]>([])
  const [columns, setColumns] = useState<Record<string, string>>({})
  const [headerRow, setHeaderRow] = useState('')
  const [step, setStep] = useState<Step>('choose')
  const [preview, setPreview] = useState<Previewed>()
  const [wrong, setWrong] = useState('')
  /** The task that has imported this file before. */
  const [before, setBefore] = useState('')
  const keyOf = useKey()
  const isOpen = useRef(true)
  useEffect(() => {
    dialog.current?.showModal()
    return () => {
      isOpen.current = false
    }
  }, [])

  const send = async (dryRun: boolean, allowDuplicate?: true) => {
    if (!file || job === '') return
    setWrong('')
    setBefore('')
    setStep(dryRun ? 'reading' : 'sending')
    const about = {
      job,
      name: file.name,
      columns: mapping(headers, columns),
      headerRow: headerRow || undefined,
      allowDuplicate,
    }
    try {
      if (dryRun) {
        const found = await sendFile<DryRun>(IMPORT, { ...about, dryRun }, file)
        if (headers.length === 0) setHeaders(found.columns ?? [])
        setPreview({ found, columns })
        setStep('preview')
        return
      }
      const { id, error } = await sendFile<TaskImported>(IMPORT, about, file, { 'idempotency-key': keyOf(file, about) })
      // The rows before the error are stored and run; the page of the task shows the rest.
      if (error) say({ text: `${t('import.wrong')}: ${error.message}`, isRefusal: true })
      if (!isOpen.current) return
      onClose()
      route(at(`/tasks/${id}`))
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.code === 'ALREADY_IMPORTED') setBefore(String(thrown.details.task))
      else setWrong(thrown instanceof Error ? thrown.message : String(thrown))
      // The last preview stays, so that you can correct its mapping.
      setStep(dryRun ? 'choose' : 'preview')
    }
  }
  const isBusy = step === 'reading' || step === 'sending'
  const isPreviewed = preview !== undefined && mapping(headers, preview.columns) === mapping(headers, columns)

  return (
    <dialog ref={dialog} class="dialog wide" aria-labelledby="import-title" onClose={onClose}>
      <h2 id="import-title">{t('import.title')}</h2>
      {wrong !== '' && (
        <div class="err" role="alert">
          <b>{t('import.wrong')}</b>
          <p>
            <bdi>{wrong}</bdi>
          </p>
        </div>
      )}
      {before !== '' && (
        <div class="note failed" role="alert">
          <p>
            {t('import.already')}{' '}
            <a class="link" href={at(`/tasks/${before}`)}>
              {t('import.alreadyAs')}
            </a>
          </p>
          <button type="button" class="btn" onClick={() => void send(false, true)}>
            {t('import.again')}
          </button>
        </div>
      )}
      <div class="fields">
        <label class="field">
          {t('import.job')}
          <select
            class="btn"
            value={job}
            onChange={(event) => {
              setJob(event.currentTarget.value)
              setStep('choose')
              setPreview(undefined)
              setBefore('')
            }}
          >
            <option value="">{t('import.chooseJob')}</option>
            {jobs.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="btn">
          <Icon name="upload" />
          {file ? <bdi class="cut">{`${file.name}, ${bytes(file.size)}`}</bdi> : t('import.choose')}
          <input
            type="file"
            class="vh"
            accept=".csv,.tsv,.txt,.xlsx,.xlsm,.ndjson,.jsonl,.json"
            onChange={(event) => {
              setFile(event.currentTarget.files?.[0] ?? null)
              setHeaders([])
              setColumns({})
              setStep('choose')
              setPreview(undefined)
              setBefore('')
            }}
          />
        </label>
        <label class="field">
          {t('import.headerRow')}
          <input
            class="btn"
            type="number"
            min="1"
            value={headerRow}
            onInput={(event) => {
              setHeaderRow(event.currentTarget.value)
              setHeaders([])
              setColumns({})
              setStep('choose')
              setPreview(undefined)
            }}
          />
        </label>
      </div>
      {preview && <Preview {...preview} headers={headers} renamed={columns} onRenamed={setColumns} />}
      <div class="acts">
        <button type="button" class="btn" onClick={onClose}>
          {t('import.leave')}
        </button>
        {preview ? (
          <>
            <button
              type="button"
              class={isPreviewed ? 'btn' : 'btn primary'}
              disabled={isBusy}
              onClick={() => void send(true)}
            >
              {t(step === 'reading' ? 'import.reading' : 'import.previewAgain')}
            </button>
            <button
              type="button"
              class={isPreviewed ? 'btn primary' : 'btn'}
              disabled={isBusy || !isPreviewed || preview.found.total === 0}
              onClick={() => void send(false)}
            >
              {step === 'sending' ? t('import.sending') : t('import.start', { n: preview.found.total })}
            </button>
          </>
        ) : (
          <button
            type="button"
            class="btn primary"
            disabled={!file || job === '' || isBusy}
            onClick={() => void send(true)}
          >
            {t(step === 'reading' ? 'import.reading' : 'import.showPreview')}
          </button>
        )}
      </div>
    </dialog>
  )
}

/** Returns the mapping as JSON. Once one column is renamed all are named, since the server leaves out the others. */
function mapping(headers: readonly string[], columns: Record<string, string>): string | undefined {
  if (Object.keys(columns).length === 0) return undefined
  return JSON.stringify(Object.fromEntries(headers.map((header) => [header, columns[header] ?? header])))
}

const IMPORT = '/tasks/import'

/** Makes an Idempotency-Key: a double click, or a second try after a lost answer, makes one task. */
function useKey(): (file: File, about: object) => string {
  const last = useRef<{ file: File; about: string; key: string }>(undefined)
  return (file, how) => {
    const about = JSON.stringify(how)
    if (last.current?.file !== file || last.current.about !== about) {
      // Browsers have no `randomUUID` over plain HTTP from another machine.
      last.current = { file, about, key: crypto.getRandomValues(new Uint32Array(4)).join('-') }
    }
    return last.current.key
  }
}
