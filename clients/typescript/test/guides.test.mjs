// The examples in the guides: each one runs against a service with the demo club. All TypeScript is compiled first.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'

import { transform } from 'esbuild'

import { Service, TIMEOUT } from '../../../tests/web/service.mjs'
import { compile, createProject } from './project.mjs'
import { ROOT } from './support.mjs'

const run = promisify(execFile)
const timeout = TIMEOUT
const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`
const DOCS = new URL('../../docs/', ROOT)
/** The guides for developers. Others have commands for operators, which would change this machine. */
const GUIDES = ['quickstart', 'authentication', 'pagination', 'idempotency', 'errors', 'rate-limits', 'webhooks', 'oauth', 'notifications', 'testing']

const guides = await readGuides()
let service
let project

before(async () => {
  service = await Service.start(['--demo'], { TOUCHLINE_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  project = await createProject(['express', 'fastify', 'hono', '@types/express'])
})

after(async () => {
  await service?.stop()
  if (project) await rm(project, { recursive: true, force: true })
})

test('the guides have examples in both languages', () => {
  for (const [name, blocks] of guides) {
    const languages = new Set(blocks.filter(({ isRun }) => isRun).map(({ language }) => language))
    assert.deepEqual([...languages].sort(), ['sh', 'ts'], name)
  }
})

test('the TypeScript examples compile', { timeout }, async () => {
  const examples = {}
  for (const [name, blocks] of guides) {
    for (const [number, { language, text }] of blocks.entries()) {
      if (language === 'ts') examples[`${name}-${number}.ts`] = text
    }
  }
  await compile(project, examples)
})

for (const [name, blocks] of guides) {
  const examples = blocks.filter(({ isRun }) => isRun)
  const shell = examples.filter(({ language }) => language === 'sh')
  if (shell.length > 0) {
    test(`${name}: the examples for the shell`, { timeout }, async () => {
      const script = shell.map(({ text }) => text).join('\n')
      await run('bash', ['--norc', '-eu', '-c', script], await settings()).catch(failure)
    })
  }
  for (const [number, { text }] of examples.filter(({ language }) => language === 'ts').entries()) {
    test(`${name}: example ${number + 1} in TypeScript`, { timeout }, async () => {
      const { code } = await transform(text, { loader: 'ts', format: 'esm' })
      const file = join(project, `${name}-${number}.mjs`)
      await writeFile(file, code)
      await run(process.execPath, [file], await settings()).catch(failure)
    })
  }
}

/** Where an example runs, with which variables. */
async function settings() {
  const { PATH, HOME } = process.env
  return { cwd: project, timeout: TIMEOUT, env: { PATH, HOME, TOUCHLINE_URL: service.url, TOUCHLINE_API_KEY: service.key, WEBHOOK_SECRET } }
}

function failure({ message, stdout, stderr }) {
  assert.fail(`${message}\n${stdout}\n${stderr}`)
}

/** The examples of each guide. Those with `norun` are compiled, but cannot run alone. */
async function readGuides() {
  const found = new Map()
  for (const name of GUIDES) {
    const guide = await readFile(new URL(`${name}.md`, DOCS), 'utf8')
    const blocks = [...guide.matchAll(/^```(sh|ts)( norun)?\n(.*?)^```$/gms)]
    found.set(name, blocks.map(([, language, norun, text]) => ({ language, isRun: !norun, text })))
  }
  return found
}
