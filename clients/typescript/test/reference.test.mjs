// The examples of the reference and of the README: TypeScript is compiled with the client, and Python is parsed.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'

import { Service, TIMEOUT } from '../../../tests/web/service.mjs'
import { compile, createProject } from './project.mjs'
import { operations, ROOT } from './support.mjs'

const run = promisify(execFile)
const timeout = TIMEOUT
const ENTITIES = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&#39;': "'", '&amp;': '&' }

let service
let project
let pages

before(async () => {
  service = await Service.start([])
  project = await createProject()
  const index = await (await fetch(`${service.url}/docs/reference`)).text()
  const paths = new Set([...index.matchAll(/href="(\/docs\/reference\/[\w-]+)/g)].map(([, path]) => path))
  pages = await Promise.all([...paths].map(async (path) => (await fetch(service.url + path)).text()))
})

after(async () => {
  await service?.stop()
  if (project) await rm(project, { recursive: true, force: true })
})

/** The examples in a language. */
function examples(language) {
  const blocks = pages.flatMap((page) => [...page.matchAll(new RegExp(`<pre class="${language}"[^>]*>(.*?)</pre>`, 'gs'))])
  return blocks.map(([, html]) => html.replaceAll(/<[^>]*>/g, '').replaceAll(/&#?\w+;/g, (entity) => ENTITIES[entity] ?? entity))
}

test('the TypeScript examples compile, one for each operation', { timeout }, async () => {
  const all = examples('ts').filter((text) => text.includes('touchline.'))
  for (const { id, names } of await operations()) {
    assert.ok(all.some((text) => text.includes(`touchline.${names.join('.')}(`)), `${id} has no example`)
  }
  await compile(project, Object.fromEntries(all.map((text, number) => [`example-${number}.ts`, text])))
})

/** What the examples of the README use without declaring it. */
const NAMES = `
  export {}
  declare global {
    const touchline: import('touchline').Touchline
    const team: import('touchline').Team
    const store: import('touchline/oauth').TokenStore
    const id: string, baseUrl: string, clientId: string, clientSecret: string, callbackUrl: string
    const lastSequence: number
  }
`

test('the examples of the README compile', { timeout }, async () => {
  const readme = await readFile(new URL('README.md', ROOT), 'utf8')
  const all = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text]) => text)
  assert.ok(all.length >= 8, `${all.length} examples`)
  const examples = Object.fromEntries(all.map((text, number) => [`readme-${number}.ts`, text]))
  await compile(project, { 'names.d.ts': NAMES, ...examples })
})

test('the Python examples are valid', { timeout }, async () => {
  const all = examples('python')
  assert.equal(all.length, (await operations()).length)
  await writeFile(join(project, 'examples.json'), JSON.stringify(all))
  const program = 'import ast, json\nfor text in json.load(open("examples.json")): ast.parse(text)'
  await run(process.env.TOUCHLINE_PYTHON, ['-c', program], { cwd: project }).catch(({ stderr }) => assert.fail(stderr))
})
