/** The texts of the forms of a job in English. */

import type { Phrase } from '../index.ts'

export const form = {
  'form.add': 'Add job…',
  'form.title': 'Add a job',
  'form.cancel': 'Cancel',
  'form.do': 'Add the job',
  'form.added': 'The job was added.',
  'form.existing': 'Job {jid} already has the lock of these arguments: no job was added.',
  'form.default': 'default ({value})',
  'form.when': 'Runs',
  'form.now': 'now',
  'form.tags': 'Tags, one on each line',
  'form.asJson': 'Write the arguments as JSON',
  'form.asFields': 'Fill in the fields',
  'form.example': 'The arguments are those of job {jid}, the newest one found.',
  'form.withheld.redacted': 'The arguments of such jobs have hidden parts, so they are not filled in.',
  'form.withheld.encrypted': 'The last argument is stored encrypted, so the arguments are not filled in.',
  'form.encrypted': 'The last argument is stored encrypted.',
  'form.sealed': '"[encrypted]" as the last argument keeps the one that the job has.',
  'form.fixed.hidden': 'Parts of the arguments are hidden here, so they can not be edited.',
  'form.fixed.activeJob': 'The job belongs to Active Job: change its arguments in Rails.',
  'form.fixed.long': 'The arguments are too long to edit here.',
  'form.fixed.tracked': 'A task keeps a record of this job. Cancel the job, and add it with other arguments.',
  'form.fixed.copied': 'The new job gets them unchanged.',
  'form.wrong.empty': 'A value is missing.',
  'form.wrong.number': 'This is not a number, such as 12.5.',
  'form.wrong.integer': 'This is not a whole number.',
  'form.wrong.json': 'This is not JSON.',
  'form.wrong.queue': 'A queue name has no spaces, braces or control characters.',
  'form.wrong.at': 'Choose a date and a time.',
} satisfies Record<string, Phrase>
