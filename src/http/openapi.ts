/** The OpenAPI document, made from the routes. */

import { VERSION } from '../index.ts'
import { SCHEMAS } from './schemas.ts'
import type { Answer, Route, SchemaOf } from './server/route.ts'

const ref = (name: string) => `#/components/schemas/${name}`
const schemaOf = (schema: SchemaOf) => (typeof schema === 'string' ? { $ref: ref(schema) } : schema)

export async function openApiOf(routes: readonly Route[], base: string): Promise<object> {
  // Loaded for the first document only.
  const { toJsonSchemaDefs } = await import('@valibot/to-json-schema')
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    if (route.page) continue
    paths[route.path] ??= {}
    ;(paths[route.path] as Record<string, object>)[route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Highkiq', version: VERSION, description: 'Background jobs and tracked tasks.' },
    servers: [{ url: base === '' ? '/' : base }],
    security: [{ bearer: [] }, { basic: [] }, {}],
    paths,
    components: {
      schemas: toJsonSchemaDefs(SCHEMAS, {
        target: 'draft-2020-12',
        overrideRef: ({ referenceId }) => ref(referenceId),
        ignoreActions: ['check'],
      }),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic' },
        link: { type: 'apiKey', in: 'query', name: 'token', description: 'token of a link, which opens one task' },
      },
    },
  }
}

function operationOf(route: Route): object {
  const { summary, body, query = {}, headers = {}, answers, path, access } = route
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
      return { name, in: 'path', required: true, schema: { type: 'string' } }
    }),
    ...Object.entries(query).map(([name, { description, schema, required = false, readMembers }]) => {
      return { name: readMembers ? `${name}.NAME` : name, in: 'query', required, description, schema }
    }),
    ...Object.entries(headers).map(([name, description]) => {
      return { name, in: 'header', description, schema: { type: 'string' } }
    }),
  ]
  return {
    summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: !body.optional, content: contentOf(body.content) } } : {}),
    ...(access === 'task' ? { security: [{ bearer: [] }, { basic: [] }, { link: [] }, {}] } : {}),
    ...(access === 'all' ? { security: [] } : {}),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)])),
      default: { description: 'The error', content: contentOf({ 'application/json': 'Error' }) },
    },
  }
}

function answerOf({ description, content, headers }: Answer): object {
  const described = Object.entries(headers ?? {}).map(([name, description]) => {
    return [name, { description, schema: { type: 'string' } }]
  })
  return {
    description,
    ...(content ? { content: contentOf(content) } : {}),
    ...(described.length > 0 ? { headers: Object.fromEntries(described) } : {}),
  }
}

function contentOf(content: Record<string, SchemaOf>): object {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema: schemaOf(schema) }]))
}
