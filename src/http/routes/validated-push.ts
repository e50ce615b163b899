import type { Highkiq } from '../../app.ts'
import { HighkiqError } from '../../job/errors.ts'
import { pathOfIssue, runSchema } from '../../tasks/run-schema.ts'
import { invalid } from '../server/answer.ts'

type Push = Parameters<Highkiq['push']>[0]

/**
 * Returns a push whose only argument is the row that the schema of its class makes of the given one.
 * @throws UNKNOWN_JOB; INVALID_REQUEST for a class without a schema; INVALID_ARGS with the `issues` of the row, each with the
 * path of its field; VALIDATE_FAILED
 */
export async function validatedPush(hq: Highkiq, push: Push): Promise<Push> {
  const { class: name, args } = push
  const { validate } = hq.jobNamed(name).definition.options
  if (!validate) throw invalid(`${name} has no schema (validate): leave validate out`, { parameter: 'validate' })
  if (!Array.isArray(args) || args.length !== 1) {
    const message = `${name}: args must have one element, the row that its schema validates`
    throw new HighkiqError('INVALID_ARGS', message, { path: 'args', job: name })
  }
  const checked = await runSchema(validate, args[0], name, { job: name })
  if (!checked.issues) return { ...push, args: [checked.value] }
  const issues = checked.issues.map((issue) => ({ path: pathOfIssue(issue), message: issue.message }))
  const problems = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  throw new HighkiqError('INVALID_ARGS', `${name}: ${problems}`, { path: 'args[0]', job: name, issues })
}
