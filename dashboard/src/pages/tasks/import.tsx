/** From a file to a task: what it is for, what is in it, and then the start. Nothing runs before that. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { ApiError, urlOf } from '../../api/client.ts'
import { at } from '../../base.ts'
import { bytes, number } from '../../format/number.ts'
import { about } from '../../live/pulse.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../words/index.ts'
import { type DryRun, Preview } from './preview.tsx'

type Step = { at: 'choose' } | { at: 'reading' } | { at: 'look'; found: DryRun } | { at: 'sending' }

export function ImportDialog({ file: dropped, onClose }: { file: File | null; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { route } = useLocation()
  const jobs = about.value?.jobs ?? []
  const [file, setFile] = useState(dropped)
  const [job, setJob] = useState(jobs.length === 1 ? (jobs[0]?.name ?? '') : '')
  /** Of the file, as the first look found them. */
  const [headers, setHeaders] = useState<string[]>([])
  const [columns, setColumns] = useState<Record<string, string>>({})
  const [step, setStep] = useState<Step>({ at: 'choose' })
  const [wrong, setWrong] = useState('')
  const key = useRef(crypto.randomUUID())
  useEffect(() => dialog.current?.showModal(), [])

  const send = async (dryRun: boolean) => {
    if (!file || job === '') return
    setWrong('')
    setStep({ at: dryRun ? 'reading' : 'sending' })
    try {
      const answer = await upload(file, { job, columns: mapping(headers, columns), dryRun, key: key.current })
      if (dryRun) {
        if (headers.length === 0) setHeaders((answer as DryRun).columns ?? [])
        setStep({ at: 'look', found: answer as DryRun })
      } else {
        onClose()
        route(at(`/tasks/${(answer as { id: string }).id}`))
      }
    } catch (thrown) {
      setWrong(thrown instanceof Error ? thrown.message : String(thrown))
      setStep({ at: 'choose' })
    }
  }

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
      <div class="fields">
        <label class="field">
          {t('import.job')}
          <select
            class="btn"
            value={job}
            onChange={(event) => {
              setJob(event.currentTarget.value)
              setStep({ at: 'choose' })
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
            accept=".csv,.tsv,.txt,.xlsx,.xlsm,.ndjson,.jsonl"
            onChange={(event) => {
              setFile(event.currentTarget.files?.[0] ?? null)
              setHeaders([])
              setColumns({})
              setStep({ at: 'choose' })
            }}
          />
        </label>
      </div>
      {step.at === 'look' && <Preview found={step.found} headers={headers} columns={columns} onColumns={setColumns} />}
      <div class="acts">
        <button type="button" class="btn" onClick={onClose}>
          {t('import.leave')}
        </button>
        {step.at === 'look' ? (
          <>
            <button type="button" class="btn" onClick={() => void send(true)}>
              {t('import.lookAgain')}
            </button>
            <button
              type="button"
              class="btn primary"
              disabled={step.found.total === 0}
              onClick={() => void send(false)}
            >
              {t('import.start', { n: step.found.total })}
            </button>
          </>
        ) : (
          <button
            type="button"
            class="btn primary"
            disabled={!file || job === '' || step.at !== 'choose'}
            onClick={() => void send(true)}
          >
            {step.at === 'choose' ? t('import.look') : t(`import.${step.at}`, { n: number(file?.size ?? 0) })}
          </button>
        )}
      </div>
    </dialog>
  )
}

/** What is not named would be left out: all are, once one is renamed. */
function mapping(headers: readonly string[], columns: Record<string, string>): string | undefined {
  if (Object.keys(columns).length === 0) return undefined
  return JSON.stringify(Object.fromEntries(headers.map((header) => [header, columns[header] ?? header])))
}

interface Sending {
  job: string
  columns: string | undefined
  dryRun: boolean
  key: string
}

/** @throws ApiError */
async function upload(file: File, { job, columns, dryRun, key }: Sending): Promise<unknown> {
  const url = urlOf('/tasks/import', { job, name: file.name, dryRun: dryRun || undefined, columns })
  const form = new FormData()
  form.set('file', file)
  // A click that comes twice makes one task.
  const headers: Record<string, string> = dryRun ? {} : { 'idempotency-key': key }
  const answer = await fetch(url, { method: 'POST', body: form, headers })
  const told = (await answer.json()) as { error?: { code: string; message: string } }
  if (told.error) throw new ApiError(told.error.code, told.error.message, answer.status)
  return told
}
