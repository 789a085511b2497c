// Generates the files in `src/generated`, or in the folder that is given, from the OpenAPI document: the types with
// @hey-api/openapi-ts, and a class with methods for each resource.

import { createClient } from '@hey-api/openapi-ts'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const input = fileURLToPath(new URL('../../openapi.json', root))
const output = process.argv[2] ?? fileURLToPath(new URL('src/generated', root))
const document = JSON.parse(await readFile(input, 'utf8'))
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

await createClient({
  input,
  logs: { level: 'error' },
  output: { path: output, entryFile: false },
  plugins: ['@hey-api/typescript'],
})
await correctTypes()
await writeFile(`${output}/resources.ts`, resourceFile())

/**
 * Corrects what the generator cannot know. Without `& {}`, the compiler would forget the known values of the open enum
 * `'a' | 'b' | string`. A file to upload is a `Blob`, and not the API's object `File`.
 */
async function correctTypes() {
  const path = `${output}/types.gen.ts`
  const types = await readFile(path, 'utf8')
  const open = types.replaceAll(/('\w[^'\n]*') \| string\b/g, '$1 | (string & {})')
  await writeFile(path, open.replaceAll('Blob | File', 'Blob'))
}

/** The file with the classes of all resources. */
function resourceFile() {
  const resources = resourceTree()
  const classes = [...resources].map(([name, resource]) => classText(pascalCase(name), resource)).flat()
  const fields = [...resources.keys()].map((name) => `  readonly ${camelCase(name)}: ${pascalCase(name)}Resource`)
  const values = [...resources.keys()].map((name) => `    this.${camelCase(name)} = new ${pascalCase(name)}Resource(transport)`)
  return `// Generated from openapi.json by scripts/generate.mjs. Do not edit.

import type { List } from '../list.js'
import type { ApiPromise } from '../response.js'
import { formData, segment, type RequestOptions, type Transport } from '../transport.js'
import type * as t from './types.gen.js'

${classes.join('\n\n')}

/** All resources of the API. */
export class Resources {
${fields.join('\n')}

  constructor(transport: Transport) {
${values.join('\n')}
  }
}
`
}

/** The operations by resource: \`dues.payments.create\` is in \`payments\` of \`dues\`. */
function resourceTree() {
  const tree = new Map()
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS.filter((method) => item[method])) {
      const operation = item[method]
      const segments = operation.operationId.split('.')
      const action = segments.pop()
      let resource = { children: tree }
      for (const segment of segments) {
        if (!resource.children.has(segment)) resource.children.set(segment, { children: new Map(), methods: [] })
        resource = resource.children.get(segment)
      }
      resource.methods.push(methodText(action, method, path, operation))
    }
  }
  return tree
}

/** The classes of a resource and of the resources in it. */
function classText(name, { children, methods }) {
  const inner = [...children].flatMap(([child, resource]) => classText(name + pascalCase(child), resource))
  const fields = [...children.keys()].map((child) => `  readonly ${camelCase(child)}: ${name + pascalCase(child)}Resource\n`)
  const values = [...children.keys()].map(
    (child) => `\n    this.${camelCase(child)} = new ${name + pascalCase(child)}Resource(transport)`,
  )
  const set = values.length > 0 ? `{${values.join('')}\n  }` : '{}'
  const body = `export class ${name}Resource {\n${fields.join('')}  constructor(private readonly transport: Transport) ${set}\n\n${methods.join('\n\n')}\n}`
  return [...inner, body]
}

/** The method of an operation: its ids, then its body, then its query parameters, then options. */
function methodText(action, method, path, operation) {
  const type = typeName(operation.operationId)
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const form = operation.requestBody?.content['multipart/form-data']
  const parameters = ids.map((id) => `${camelCase(id)}: string`)
  if (operation.requestBody) {
    const optional = operation.requestBody.required ? '' : '?'
    parameters.push(`body${optional}: t.${type}Data['body']`)
  }
  if (query.length > 0) parameters.push(queryParameter(type, query))
  parameters.push('options?: RequestOptions')
  const url = path.replaceAll(/\{(\w+)\}/g, (_, id) => `\${segment('${camelCase(id)}', ${camelCase(id)})}`)
  const literal = ids.length > 0 ? `\`${url}\`` : `'${url}'`
  const [result, call] = resultOf(operation, method, literal, { query: query.length > 0, form })
  const name = camelCase(action)
  return `${comment(operation)}\n  ${name}(${parameters.join(', ')}): ${result} {\n    return this.transport.${call}\n  }`
}

function queryParameter(type, query) {
  const isRequired = query.some((parameter) => parameter.required)
  return `query${isRequired ? '' : '?'}: NonNullable<t.${type}Data['query']>`
}

/** What a method returns, and how it calls the transport. */
function resultOf(operation, method, path, { query, form }) {
  const [, success] = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))
  const [mediaType, { schema }] = Object.entries(success.content)[0]
  const queryArgument = query ? 'query' : 'undefined'
  if (mediaType === 'text/event-stream') {
    return ['AsyncGenerator<t.WebhookEvent, void, undefined>', `follow<t.WebhookEvent>(${path}, ${queryArgument}, options)`]
  }
  const body = !operation.requestBody ? '' : form ? ', body: formData(body)' : ', body'
  const call = `{ method: '${method.toUpperCase()}', path: ${path}${query ? ', query' : ''}${body}`
  if (mediaType !== 'application/json') return ['ApiPromise<Response>', `request<Response>(${call}, as: 'raw' }, options)`]
  const envelope = schema.$ref.split('/').at(-1)
  const data = document.components.schemas[envelope].properties.data
  const item = data.type === 'array' ? `t.${data.items.$ref.split('/').at(-1)}` : null
  if (item && method === 'get') {
    const types = `<${item}, t.${envelope}>`
    return [`List${types}`, `list${types}(${path}, ${queryArgument}, options)`]
  }
  const type = data.$ref ? `t.${data.$ref.split('/').at(-1)}` : `t.${envelope}['data']`
  return [`ApiPromise<${type}>`, `request<${type}>(${call} }, options)`]
}

/** The documentation comment of a method. */
function comment({ summary, description, deprecated }) {
  const links = description.replaceAll(/\]\(\//g, '](https://club.example.org/')
  const lines = [`${summary}.`, '', ...links.split('\n'), ...(deprecated ? ['', '@deprecated'] : [])]
  const text = lines.map((line) => `   * ${line.replaceAll('*/', '*\\/')}`.trimEnd())
  return `  /**\n${text.join('\n')}\n   */`
}

/** The name that @hey-api/openapi-ts gives to the types of an operation. */
function typeName(operationId) {
  return operationId.split('.').map(pascalCase).join('')
}

function camelCase(words) {
  return words.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())
}

function pascalCase(words) {
  const name = camelCase(words)
  return name[0].toUpperCase() + name.slice(1)
}
