// The examples in the guides: each one runs against a service with the demo club. All TypeScript is compiled first. Those
// with `norun` cannot run like the others, so they run separately.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'

import { build, transform } from 'esbuild'
import { Webhook } from 'standardwebhooks'

import { freePort, Service, TIMEOUT, until } from '../../../tests/web/service.mjs'
import { OAuthApp } from '../dist/oauth.js'
import { launch, signIn, visitor } from '../../../tests/web/browser.mjs'
import { compile, createProject } from './project.mjs'
import { failure, Shell } from './shell.mjs'
import { ROOT, serve } from './support.mjs'

const run = promisify(execFile)
const timeout = TIMEOUT
const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`
const DOCS = new URL('../../docs/', ROOT)
/** The guides for developers. Others have commands for operators, which would change this machine. */
const GUIDES = ['quickstart', 'authentication', 'pagination', 'idempotency', 'errors', 'rate-limits', 'webhooks', 'oauth', 'notifications', 'testing']

/** The errors that the examples for the shell show on purpose. */
const ERRORS = { authentication: [401], idempotency: [412, 304], errors: [422], testing: [404] }
/** The examples that do not run, by their first line. */
const REASONS = {
  'export TOUCHLINE_URL=https://club.example.org': 'It has the address and the key of the reader.',
  'npx tsx first.mts     # Node 20 or later': 'tsx is not installed.',
  '(cd touchline/clients/typescript && npm ci && npm run build && npm pack)': 'package.test.mjs packs and installs the package.',
}
/** How the other examples with `norun` run. */
const SEPARATE = [
  [/^touchline serve/, (text) => shell.run(text, settings())],
  [/expressWebhook|fastifyWebhook/, receive],
  [/export async function finish/, finish],
  [/localStorage/, connectInBrowser],
]
const REDIRECT_URI = 'https://scores.example/callback'

const guides = await readGuides()
let service
let project
let shell
let browser

before(async () => {
  service = await Service.start(['--demo'], { TOUCHLINE_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  project = await createProject(['express', 'fastify', 'hono', '@types/express'])
  shell = await Shell.create(project, service)
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await service?.stop()
  if (project) await rm(project, { recursive: true, force: true })
})

test('the guides have examples in both languages', () => {
  for (const [name, blocks] of guides) {
    const languages = new Set(blocks.filter(({ isRun }) => isRun).map(({ language }) => language))
    assert.deepEqual([...languages].sort(), ['sh', 'ts'], name)
  }
})

test('the examples that do not run are in the guides', () => {
  const titles = [...guides.values()].flat().map(({ text }) => text.split('\n')[0])
  for (const title of Object.keys(REASONS)) assert.ok(titles.includes(title), title)
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
  const scripts = examples.filter(({ language }) => language === 'sh')
  if (scripts.length > 0) {
    test(`${name}: the examples for the shell`, { timeout }, async () => {
      const script = scripts.map(({ text }) => text.replaceAll('acc_…', service.account)).join('\n')
      const app = name === 'oauth' ? await authorizedApp() : {}
      await shell.run(script, { ...settings(), ...app }, ERRORS[name])
    })
  }
  for (const [number, { text }] of examples.filter(({ language }) => language === 'ts').entries()) {
    test(`${name}: example ${number + 1} in TypeScript`, { timeout }, async () => {
      const file = await javascript(`${name}-${number}`, text)
      await run(process.execPath, [file], { cwd: project, timeout: TIMEOUT, env: settings() }).catch(failure)
    })
  }
  for (const [number, { text }] of blocks.filter(({ isRun }) => !isRun).entries()) {
    const title = text.split('\n')[0]
    if (Object.hasOwn(REASONS, title)) continue
    test(`${name}: ${title}`, { timeout }, async (t) => {
      const [, start] = SEPARATE.find(([pattern]) => pattern.test(text)) ?? assert.fail('How does it run?')
      await start(text, `${name}-separate-${number}`, t)
    })
  }
}

/** The variables of an example. */
function settings() {
  const { PATH, HOME } = process.env
  return { PATH, HOME, TOUCHLINE_URL: service.url, TOUCHLINE_API_KEY: service.key, WEBHOOK_SECRET }
}

/** The file of an example as JavaScript. */
async function javascript(name, text) {
  const { code } = await transform(text, { loader: 'ts', format: 'esm' })
  const file = join(project, `${name}.mjs`)
  await writeFile(file, code)
  return file
}

/** Runs a receiver of webhooks, and sends a notification to it. */
async function receive(text, name) {
  const port = await freePort()
  const file = await javascript(name, text.replace('8000', port))
  const child = spawn(process.execPath, [file], { cwd: project, env: settings(), stdio: ['ignore', 'pipe', 'inherit'] })
  const output = child.stdout.setEncoding('utf8').toArray()
  const body = JSON.stringify({ id: 'ntf_1', type: 'ping' })
  const at = new Date()
  const signature = new Webhook(WEBHOOK_SECRET).sign('ntf_1', at, body)
  const headers = { 'webhook-id': 'ntf_1', 'webhook-timestamp': String(Math.floor(at / 1000)), 'webhook-signature': signature }
  const post = async (extra) => {
    const init = { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...extra } }
    return (await fetch(`http://127.0.0.1:${port}/hook`, init).catch(() => ({}))).status
  }
  try {
    await until('it accepts the notification', async () => (await post(headers)) === 204)
    assert.equal(await post({}), 400)
  } finally {
    child.kill()
  }
  assert.match((await output).join(''), /ntf_1 ping/)
}

/** Calls the function that exchanges the URL of a callback. */
async function finish(text, name) {
  const { app, callbackUrl, request } = await authorization()
  await javascript(name, text.replace('app_…', app.id))
  const caller = `import { finish } from './${name}.mjs'\nawait finish(...JSON.parse(process.argv[2]))`
  const file = await javascript(`${name}-caller`, caller)
  const env = { ...settings(), TOUCHLINE_CLIENT_SECRET: app.secret }
  const options = { cwd: project, timeout: TIMEOUT, env }
  const { stdout } = await run(process.execPath, [file, JSON.stringify([callbackUrl, request])], options).catch(failure)
  assert.match(stdout, /teams:read/)
}

/** Opens the page of an app, and connects it. It keeps the tokens when the page is opened again. */
async function connectInBrowser(text, name, t) {
  let script
  const origin = await serve(t, (request, response) => {
    const isScript = request.url === '/page.js'
    response.writeHead(200, { 'Content-Type': isScript ? 'text/javascript' : 'text/html' })
    response.end(isScript ? script : '<!doctype html><link rel="icon" href="data:,"><button>Connect</button><script type="module" src="/page.js"></script>')
  })
  const { id } = await service.app('spa', `${origin}/`)
  const file = await javascript(name, text.replace('app_…', id).replace('https://club.example.org', service.url))
  const { outputFiles } = await build({ entryPoints: [file], bundle: true, format: 'esm', write: false })
  script = outputFiles[0].text
  const { page, faults, close } = await visitor(browser, { home: service.url, also: [origin] })
  t.after(close)
  const names = []
  page.on('console', (message) => message.type() === 'log' && names.push(message.text()))
  const { sign_ins: [{ email }], password } = service.startup.demo
  await signIn(page, { email, password })
  await page.goto(`${origin}/`)
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByRole('button', { name: /^Allow/ }).click()
  await until('it lists the teams', () => names.length > 0)
  assert.equal(page.url(), `${origin}/`)
  names.length = 0
  await page.evaluate(() => localStorage.setItem('tokens', JSON.stringify({ ...JSON.parse(localStorage.getItem('tokens')), expiresAt: 0 })))
  await page.reload()
  await until('it refreshes the tokens, and lists the teams again', () => names.length > 0)
  assert.deepEqual(faults, [])
}

/** The variables of an app that a user has just allowed. */
async function authorizedApp() {
  const { app, callbackUrl, request } = await authorization()
  const CODE = new URL(callbackUrl).searchParams.get('code')
  return { CLIENT_ID: app.id, CLIENT_SECRET: app.secret, CODE, VERIFIER: request.codeVerifier }
}

/** A user allows an app in a browser. Returns the URL of the callback, which is not requested. */
async function authorization() {
  const app = await service.app('server', REDIRECT_URI)
  const client = new OAuthApp({ baseUrl: service.url, clientId: app.id, clientSecret: app.secret, redirectUri: REDIRECT_URI })
  const request = await client.authorizationUrl()
  const { page, close } = await visitor(browser, { home: service.url })
  const { sign_ins: [{ email }], password } = service.startup.demo
  await signIn(page, { email, password }, request.url)
  const callback = page.waitForRequest(`${REDIRECT_URI}**`)
  await page.getByRole('button', { name: /^Allow/ }).click()
  const callbackUrl = (await callback).url()
  await close()
  return { app, callbackUrl, request }
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
