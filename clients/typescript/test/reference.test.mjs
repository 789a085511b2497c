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
const ENTITIES = { '&#34;': '"', '&#38;': '&', '&#39;': "'", '&#60;': '<', '&#62;': '>' }

/** What examples of the README use without declaring it. */
const NAMES = {
  touchline: "import('touchline').Touchline",
  team: "import('touchline').Team",
  store: "import('touchline/oauth').TokenStore",
  id: 'string',
  baseUrl: 'string',
  clientId: 'string',
  clientSecret: 'string',
  callbackUrl: 'string',
  lastSequence: 'number',
}

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
  return blocks.map(([, html]) => html.replaceAll(/<[^>]*>/g, '').replaceAll(/&#?\w+;/g, (entity) => ENTITIES[entity]))
}

test('the TypeScript examples of the reference, one for each operation, and of the README compile', { timeout }, async () => {
  const all = examples('ts').filter((text) => text.includes('touchline.'))
  for (const { id, names } of await operations()) {
    assert.ok(all.some((text) => text.includes(`touchline.${names.join('.')}(`)), `${id} has no example`)
  }
  const blocks = await readmeExamples()
  assert.ok(blocks.length >= 8, `${blocks.length} examples`)
  const named = (name, texts) => texts.map((text, number) => [`${name}-${number}.ts`, text])
  await compile(project, Object.fromEntries([...named('example', all), ...named('readme', blocks)]))
})

/** The examples of the README, with what they use. */
async function readmeExamples() {
  const readme = await readFile(new URL('README.md', ROOT), 'utf8')
  return [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text]) => {
    const isOwn = (name) => new RegExp(`^const[^=]*\\b${name}\\b`, 'm').test(text)
    const used = Object.entries(NAMES).filter(([name]) => !isOwn(name))
    return text + used.map(([name, type]) => `declare const ${name}: ${type}\n`).join('')
  })
}

test('the Python examples are valid', { timeout }, async () => {
  const all = examples('python')
  assert.equal(all.length, (await operations()).length)
  await writeFile(join(project, 'examples.json'), JSON.stringify(all))
  const program = 'import ast, json\nfor text in json.load(open("examples.json")): ast.parse(text)'
  await run(process.env.TOUCHLINE_PYTHON, ['-c', program], { cwd: project }).catch(({ stderr }) => assert.fail(stderr))
})
