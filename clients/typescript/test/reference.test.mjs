// The example requests of the reference: TypeScript is compiled with the client, and Python is parsed.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'

import { Service, TIMEOUT } from '../../../tests/web/service.mjs'
import { operations, ROOT } from './support.mjs'

const run = promisify(execFile)
const timeout = TIMEOUT
const ENTITIES = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&#39;': "'", '&amp;': '&' }

let service
let project
let pages

before(async () => {
  service = await Service.start([])
  project = await mkdtemp(join(tmpdir(), 'touchline-reference-'))
  await mkdir(join(project, 'node_modules/@types'), { recursive: true })
  await symlink(fileURLToPath(ROOT), join(project, 'node_modules/touchline'))
  await symlink(fileURLToPath(new URL('node_modules/@types/node', ROOT)), join(project, 'node_modules/@types/node'))
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
  const files = all.map((_, number) => `example-${number}.ts`)
  await Promise.all(files.map((file, number) => writeFile(join(project, file), all[number])))
  const compilerOptions = { strict: true, noEmit: true, target: 'ES2022', module: 'NodeNext', lib: ['ES2022', 'DOM', 'DOM.AsyncIterable'], types: ['node'], skipLibCheck: true }
  await writeFile(join(project, 'package.json'), '{"type": "module"}')
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const compiler = fileURLToPath(new URL('node_modules/.bin/tsc', ROOT))
  await run(compiler, ['-p', project]).catch(({ stdout }) => assert.fail(stdout))
})

test('the Python examples are valid', { timeout }, async () => {
  const all = examples('python')
  assert.equal(all.length, (await operations()).length)
  await writeFile(join(project, 'examples.json'), JSON.stringify(all))
  const program = 'import ast, json\nfor text in json.load(open("examples.json")): ast.parse(text)'
  await run(process.env.TOUCHLINE_PYTHON, ['-c', program], { cwd: project }).catch(({ stderr }) => assert.fail(stderr))
})
