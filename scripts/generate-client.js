// Writes the types of the client, src/http-client/paths.generated.ts, from the OpenAPI document. It loads the sources of
// the server: node --import tsx scripts/generate-client.js, after scripts/generate.js.
import { writeFileSync } from 'node:fs'

const quoted = (name) => (/^[a-zA-Z_$][\w$]*$/.test(name) ? name : `'${name}'`)
const union = (types) => [...new Set(types)].join(' | ')
const schemaName = (path) => {
  const [name, ...members] = path.replace('#/components/schemas/', '').split('/properties/')
  return `Schemas['${name}']${members.map((member) => `['${member}']`).join('')}`
}

/** Returns a JSON Schema as a type. */
function typeOf(schema) {
  if (schema.$ref) return schemaName(schema.$ref)
  if ('const' in schema) return literal(schema.const)
  if (schema.enum) return union(schema.enum.map(literal))
  const either = schema.anyOf ?? schema.oneOf
  if (either) return union(either.map(typeOf))
  if (schema.type === 'array') return `Array<${typeOf(schema.items ?? {})}>`
  if (schema.type === 'object') return objectOf(schema)
  return (
    { string: 'string', number: 'number', integer: 'number', boolean: 'boolean', null: 'null' }[schema.type] ??
    'unknown'
  )
}

const literal = (value) => (typeof value === 'string' ? `'${value}'` : String(value))

function objectOf({ properties = {}, required = [], additionalProperties }) {
  const members = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description ? `/** ${schema.description} */\n` : ''
    return `${comment}${quoted(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`
  })
  const isOpen = additionalProperties !== undefined && additionalProperties !== false
  if (isOpen) members.push(`[name: string]: ${members.length > 0 ? 'unknown' : typeOf(additionalProperties)}`)
  return members.length > 0 ? `{\n${members.join('\n')}\n}` : 'Record<string, unknown>'
}

/** Returns the options and the answer of an operation as a type. */
function operationOf({ summary, parameters = [], requestBody, responses }) {
  const members = ['path', 'query'].flatMap((place) => {
    const all = parameters.filter((parameter) => parameter.in === place)
    if (all.length === 0) return []
    const isRequired = all.some(({ required }) => required)
    return [`${place}${isRequired ? '' : '?'}: {\n${all.map(parameterOf).join('\n')}\n}`]
  })
  if (requestBody) {
    const { 'application/json': json, ...files } = requestBody.content
    const types = [...(json ? [typeOf(json.schema)] : []), ...(Object.keys(files).length > 0 ? ['FileBody'] : [])]
    members.push(`body${requestBody.required ? '' : '?'}: ${union(types)}`)
  }
  return `/** ${summary} */\nOPERATION: { options: { ${members.join('; ')} }; answer: ${answerOf(responses)} }`
}

function parameterOf({ name, required, schema, in: place, description }) {
  const type = place === 'path' || name.endsWith('.NAME') ? 'string | number' : typeOf(schema)
  if (name.endsWith('.NAME')) return `[name: \`${name.slice(0, -'NAME'.length)}\${string}\`]: ${type} | undefined`
  return `/** ${description} */\n${quoted(name)}${required ? '' : '?'}: ${type}${required ? '' : ' | undefined'}`
}

/** JSON is read; a file or a stream is the Response; an answer without a body is undefined. */
function answerOf(responses) {
  const good = Object.entries(responses).filter(([status]) => /^2/.test(status))
  return union(
    good.map(([, { content }]) => {
      if (!content) return 'undefined'
      const json = content['application/json']
      return json ? typeOf(json.schema) : 'Response'
    }),
  )
}

const { createHandler } = await import('../src/http/index.ts')
const answer = await createHandler({})(new Request('http://localhost/api/v1/openapi.json'))
const { paths, components } = await answer.json()
const schemas = Object.entries(components.schemas).map(([name, schema]) => {
  return `${schema.description ? `/** ${schema.description} */\n` : ''}${name}: ${typeOf(schema)}`
})
const routes = Object.entries(paths).map(([path, methods]) => {
  const operations = Object.entries(methods).map(([method, about]) => operationOf(about).replace('OPERATION', method))
  return `'${path}': {\n${operations.join('\n')}\n}`
})
const text = `/** The types of the HTTP API. Written by scripts/generate-client.js: do not edit. */

/** A file, a form or a text that is sent as it is. */
export type FileBody = NonNullable<RequestInit['body']>

/** The bodies and answers by name. Times are ISO 8601. */
export interface Schemas {
${schemas.join('\n')}
}

/** The options and the answer of each route. */
export interface Paths {
${routes.join('\n')}
}
`
writeFileSync(new URL('../src/http-client/paths.generated.ts', import.meta.url), text)
