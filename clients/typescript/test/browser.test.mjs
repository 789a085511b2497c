// An app in a page of another origin, in Chromium.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { build } from 'esbuild'

import { Touchline } from '../dist/index.js'
import { launch, signIn, visitor } from '../../../tests/web/browser.mjs'
import { Service, TIMEOUT } from '../../../tests/web/service.mjs'
import { lossyProxy, serve } from './support.mjs'

const SCOPES = 'teams:read teams:write roster:read webhooks:write'
const PAGE = '<!doctype html><html lang="en"><title>Scores</title><link rel="icon" href="data:,"><button>Connect</button><p id="result"></p><p id="key"></p><script type="module" src="/page.js"></script></html>'
/** What the page reports: see `browser-page.mjs`. */
const EXPECTED = {
  user: 'Olga Owner',
  pages: [['Falcons', 'Hawks'], ['Herons']],
  response: [200, true, true],
  written: ['2027', 'Owls', 'true'],
  unchanged: [true, true],
  missing: ['NotFoundError', 'not_found', true],
  invalid: ['ValidationError', '/name'],
  broken: ['ConnectionError', true],
  cancelled: 'AbortError',
  stream: ['Falcons', 'Hawks', 'Herons', 'Owls'],
}

let service
let browser
let user

before(async () => {
  service = await Service.start([])
  const { account, key } = await service.club('Harbour')
  user = await service.user('owner', 'olga@people.example', 'Olga Owner', account)
  service.startup = { demo: { account: { id: account } } }
  browser = await launch()
  const touchline = new Touchline({ baseUrl: service.url, apiKey: key })
  for (const name of ['Falcons', 'Hawks', 'Herons']) await touchline.teams.create({ name })
})

after(async () => {
  await browser?.close()
  await service?.stop()
})

test('an app in a page of another origin', { timeout: TIMEOUT }, async (t) => {
  const lossy = await lossyProxy(t, service)
  const script = await pageScript()
  const origin = await serve(t, (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    const [type, text] = pathname === '/page.js' ? ['text/javascript', script] : ['text/html', PAGE]
    response.writeHead(200, { 'Content-Type': type }).end(text)
  })
  const { id } = await service.app('spa', `${origin}/`, { scopes: SCOPES })
  const { page: tab, faults, close } = await visitor(browser, { home: service.url, also: [origin, lossy] })
  t.after(close)
  await tab.goto(`${origin}/?${new URLSearchParams({ service: service.url, lossy, client: id, scopes: SCOPES })}`)
  await tab.getByText('An API key in a browser').waitFor()
  await tab.getByRole('button', { name: 'Connect' }).click()
  await tab.waitForURL((url) => url.pathname.startsWith('/sign-in'))
  await signIn(tab, user, tab.url())
  await tab.getByRole('button', { name: /^Allow/ }).click()
  await tab.waitForFunction(() => document.querySelector('#result')?.textContent)
  assert.deepEqual(JSON.parse(await tab.locator('#result').textContent()), EXPECTED)
  // The requests that fail on purpose. A browser reports each of them.
  const isExpected = (fault) => /^(404|422) for|^console: Failed to load resource/.test(fault)
  assert.deepEqual(faults.filter((fault) => !isExpected(fault)), [])
})

/** The script of the page, with the client in it. */
async function pageScript() {
  const file = new URL('browser-page.mjs', import.meta.url)
  const contents = await readFile(file, 'utf8')
  const resolveDir = fileURLToPath(new URL('.', import.meta.url))
  const { outputFiles } = await build({ stdin: { contents, resolveDir }, bundle: true, minify: true, format: 'esm', write: false })
  return outputFiles[0].text
}
