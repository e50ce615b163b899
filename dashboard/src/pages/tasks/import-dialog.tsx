/** Imports a file: choose the job and the file, map the columns, start. The file is read first; nothing runs before the start. */

import type { ApiError } from '../../api/client.ts'
import { at } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { useModal } from '../../components/modal.ts'
import { bytes } from '../../format/number.ts'
import { refusalText } from '../../format/refusal.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { FILE_ENDINGS } from './drop.tsx'
import { LimitFields, ReadingFields } from './import-fields.tsx'
import { type ImportForm, type ReadingName, UNREAD, waysOf } from './import-form.ts'
import { Preview } from './preview.tsx'
import { useImport } from './use-import.ts'

export function ImportDialog({ file: dropped, onClose }: { file: File | null; onClose(): void }) {
  const dialog = useModal()
  const { form, setForm, run, end, isChecked, step, failure, read, start } = useImport(dropped, onClose)
  const readWith = (reading: ImportForm['reading']) => read({ ...form, ...UNREAD, reading })

  return (
    <dialog ref={dialog} class="dialog wide" aria-labelledby="import-title" onClose={onClose}>
      <h2 id="import-title">{t('import.title')}</h2>
      {failure && (
        <Failure
          failure={failure}
          onAllowDuplicate={() => start(true)}
          onWay={(name, value) => readWith({ ...form.reading, [name]: value })}
        />
      )}
      <SourceFields form={form} onSource={(source) => read({ ...form, ...UNREAD, ...source })} />
      {form.file && <ReadingFields form={form} run={run} onReading={readWith} />}
      {form.file && (
        <LimitFields
          form={form}
          onLimits={(limits) => setForm({ ...form, limits })}
          onMeta={(meta) => setForm({ ...form, meta })}
        />
      )}
      {run && (
        <Preview
          {...{ run, end, isChecked, columns: form.columns }}
          onColumns={(columns) => setForm({ ...form, columns })}
        />
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
          {t(step === 'reading' ? 'import.reading' : run ? 'import.previewAgain' : 'import.showPreview')}
        </button>
        {run && (
          <button
            type="button"
            class={isChecked ? 'btn primary' : 'btn'}
            disabled={step !== undefined || !isChecked || run.total === 0}
            onClick={() => start()}
          >
            {step === 'sending' ? t('import.sending') : t('import.start', { n: run.total })}
          </button>
        )}
      </div>
    </dialog>
  )
}

interface FailureProps {
  failure: ApiError
  /** Imports the file again although it was imported before. */
  onAllowDuplicate(): void
  /** Reads the file in a way that the error offers. */
  onWay(name: ReadingName, value: string): void
}

function Failure({ failure, onAllowDuplicate, onWay }: FailureProps) {
  const { code, details } = failure
  if (code === 'ALREADY_IMPORTED') {
    return (
      <div class="note failed" role="alert">
        <p>
          {t('import.already')}{' '}
          <a class="link" href={at(`/tasks/${String(details.task)}`)}>
            {t('import.alreadyAs')}
          </a>
        </p>
        <button type="button" class="btn" onClick={onAllowDuplicate}>
          {t('import.again')}
        </button>
      </div>
    )
  }
  return (
    <div class="err" role="alert">
      <b>{t('import.wrong')}</b>
      <p>
        <bdi>{refusalText(failure)}</bdi>
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
