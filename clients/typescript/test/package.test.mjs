// The package as developers get it: packed, installed into a new project, and used by several runtimes.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'

import { build } from 'esbuild'

import { Service, TIMEOUT } from '../../../tests/web/service.mjs'
import { lossyProxy, ROOT } from './support.mjs'

const run = promisify(execFile)
const timeout = TIMEOUT
const folder = fileURLToPath(ROOT)
const EXPECTED = ['true', '2,1', '/name', true, 'not_found', '2027', 'image/png', 'member_id', 'NAMES', true, 'ping', 204]
/** The size that the client may have in an app, minified and compressed. */
const MAX_SIZE = 8_000

let service
let club
let project
let archive

before(async () => {
  service = await Service.start([])
  club = await service.club('Harbour')
  project = await mkdtemp(join(tmpdir(), 'touchline-project-'))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: folder })
  const [{ filename, files }] = JSON.parse(stdout)
  archive = filename
  const folders = new Set(files.map(({ path }) => path.split('/')[0]))
  assert.deepEqual([...folders].sort(), ['LICENSE', 'README.md', 'dist', 'package.json'])
  await writeFile(join(project, 'package.json'), '{"name": "project", "private": true, "type": "module"}')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(project, filename)], { cwd: project })
  await cp(join(folder, 'test/smoke.mjs'), join(project, 'smoke.mjs'))
})

after(async () => {
  await service?.stop()
  if (project) await rm(project, { recursive: true, force: true })
})

/** Runs the program in the new project. */
async function smoke(t, program, args, { to = service, key = club.key, ...settings } = {}) {
  const tag = t.name
  const urls = { TOUCHLINE_URL: to.url, TOUCHLINE_LOSSY_URL: await lossyProxy(t, to) }
  const env = { ...process.env, ...urls, TOUCHLINE_API_KEY: key, TOUCHLINE_TAG: tag, ...settings }
  const { stdout } = await run(program, [...args, 'smoke.mjs'], { cwd: project, env, timeout: TIMEOUT })
  const names = `${tag},${tag} again,${tag} at last`
  assert.deepEqual(JSON.parse(stdout), EXPECTED.map((value) => (value === 'NAMES' ? names : value)))
}

test('the quickstart installs this version', async () => {
  const quickstart = await readFile(join(folder, '../../docs/quickstart.md'), 'utf8')
  assert.ok(quickstart.includes(`npm install touchline/clients/typescript/${archive}\n`), archive)
})

test('has no dependencies', async () => {
  assert.deepEqual((await readdir(join(project, 'node_modules'))).filter((name) => !name.startsWith('.')), ['touchline'])
})

// They mostly wait, so they run at the same time.
describe('runtimes', { concurrency: 5 }, () => {
  test(`Node.js ${process.version}`, { timeout }, async (t) => {
    await smoke(t, process.execPath, [])
  })

  test('Node.js 22 or newer', { timeout }, async (t) => {
    await smoke(t, process.env.TOUCHLINE_NODE_22, [])
  })

  test('a service on PostgreSQL', { timeout }, async (t) => {
    const other = await Service.start([], { TOUCHLINE_DATABASE: process.env.TOUCHLINE_TEST_POSTGRES })
    t.after(() => other.stop())
    const { key } = await other.club('Harbour')
    await smoke(t, process.execPath, [], { to: other, key })
  })

  test('Deno', { timeout }, async (t) => {
    const cache = await mkdtemp(join(tmpdir(), 'touchline-deno-'))
    t.after(() => rm(cache, { recursive: true, force: true }))
    const args = ['run', '--allow-net', '--allow-env', '--allow-read', '--no-remote']
    await smoke(t, process.env.TOUCHLINE_DENO, args, { DENO_DIR: cache, DENO_NO_UPDATE_CHECK: '1' })
  })

  test('Bun', { timeout }, async (t) => {
    await smoke(t, process.env.TOUCHLINE_BUN, [], { DO_NOT_TRACK: '1' })
  })
})

test('workers: the bundle needs nothing but web standards', { timeout }, async () => {
  const text = await bundle("export { Touchline } from 'touchline'; export * from 'touchline/oauth'; export * from 'touchline/webhooks'")
  assert.doesNotMatch(text, /^\s*import[\s{*]/m)
  assert.doesNotMatch(text, /\brequire\(|\bBuffer\b|node:/)
})

test('the size in an app', { timeout }, async (t) => {
  const text = await bundle("import { Touchline } from 'touchline'; const t = new Touchline({ apiKey: 'x' }); export default [t.teams.list(), t.events.get('x')]")
  const { length } = gzipSync(text, { level: 9 })
  t.diagnostic(`new Touchline with two resources: ${text.length} bytes, ${length} with gzip`)
  assert.ok(length < MAX_SIZE, `${length} bytes`)
})

test('CommonJS', async () => {
  const program = "const { Touchline } = require('touchline'); console.log(typeof Touchline, typeof require('touchline/webhooks').verify)"
  const { stdout } = await run(process.execPath, ['--input-type=commonjs', '-e', program], { cwd: project })
  assert.equal(stdout, 'function function\n')
})

test('types: the compiler accepts what is right, and rejects what is wrong', { timeout }, async () => {
  await cp(join(folder, 'test/types.test-d.ts'), join(project, 'types.ts'))
  const { resolve } = createRequire(import.meta.url)
  for (const name of ['expect-type', '@types/node', 'undici-types']) {
    await cp(dirname(resolve(`${name}/package.json`)), join(project, 'node_modules', name), { recursive: true })
  }
  // Compiled without the types of browsers, as on a server. The examples of the guides are compiled with them.
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'ES2022',
    module: 'NodeNext',
    lib: ['ES2022'],
    types: ['node'],
    isolatedModules: true,
    verbatimModuleSyntax: true,
    exactOptionalPropertyTypes: true,
  }
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['types.ts'] }))
  await run(join(folder, 'node_modules/.bin/tsc'), ['-p', project]).catch(({ stdout }) => assert.fail(stdout))
})

/** A minified bundle of a program that uses the installed package. */
async function bundle(contents) {
  const options = { stdin: { contents, resolveDir: project }, bundle: true, minify: true, platform: 'neutral', format: 'esm', write: false }
  return (await build(options)).outputFiles[0].text
}
