// Clients written with common OAuth libraries, each through the whole flow in a real browser: sign in, consent,
// exchange the code, call the API, refresh, revoke, and get a 401.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'

import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'

import { begin, finish } from '../clients/with_oauth4webapi.mjs'
import { launch, signIn, visitor } from './browser.mjs'
import { TIMEOUT, Service, spawnLineProgram } from './service.mjs'

const CLIENTS = new URL('../clients/', import.meta.url)
const SCOPE = 'teams:read roster:read'
const EXPECTED = { calls: [200, 200, 401], rotated: true }

const service = Service.shared()
const issuer = service.url
const api = `${service.url}/api/public/v1`
let browser
let person

before(async () => {
  browser = await launch()
  person = await service.user('owner', 'oauth@flows.example', 'Olga Flow')
})

after(() => browser?.close())

test('oauth4webapi as a native app', { timeout: TIMEOUT }, async (t) => {
  const callback = await listen(t)
  // A native app does not know its port when it is registered.
  const app = await service.app('native', 'http://127.0.0.1/callback', { scopes: SCOPE })
  const settings = { issuer, api, clientId: app.id, redirectUri: `${callback.origin}/callback`, scope: SCOPE }
  const pending = await begin(oauth4webapi, settings)
  const callbackUrl = await consent(t, pending.authorize, callback)
  const done = await finish(oauth4webapi, settings, pending, callbackUrl)
  checkResult(done)
  assert.equal(done.challenge, 'invalid_token')
})

test('openid-client as a server app', { timeout: TIMEOUT }, async (t) => {
  const callback = await listen(t)
  const redirectUri = `${callback.origin}/callback`
  const app = await service.app('server', redirectUri, { scopes: SCOPE })
  const options = { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] }
  const server = await openid.discovery(new URL(issuer), app.id, app.secret, undefined, options)
  const verifier = openid.randomPKCECodeVerifier()
  const state = openid.randomState()
  const url = openid.buildAuthorizationUrl(server, {
    redirect_uri: redirectUri,
    scope: SCOPE,
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const callbackUrl = new URL(await consent(t, url.href, callback))
  const checks = { pkceCodeVerifier: verifier, expectedState: state }
  const first = await openid.authorizationCodeGrant(server, callbackUrl, checks)
  const teams = new URL(`${api}/teams`)
  const call = async (token) => (await openid.fetchProtectedResource(server, token, teams, 'GET')).status
  const calls = [await call(first.access_token)]
  const second = await openid.refreshTokenGrant(server, first.refresh_token)
  calls.push(await call(second.access_token))
  await openid.tokenRevocation(server, second.refresh_token)
  calls.push(await call(second.access_token).catch((error) => error.status ?? error))
  checkResult({ calls, rotated: first.refresh_token !== second.refresh_token, scope: second.scope })
})

test('oauth4webapi as a single-page app on another origin', { timeout: TIMEOUT }, async (t) => {
  const files = {
    '/': ['text/html', '<!doctype html><html lang="en"><title>Scores</title><pre id="result"></pre><script type="module" src="/page.mjs"></script></html>'],
    '/page.mjs': ['text/javascript', await readFile(new URL('page.mjs', CLIENTS))],
    '/with_oauth4webapi.mjs': ['text/javascript', await readFile(new URL('with_oauth4webapi.mjs', CLIENTS))],
    '/oauth4webapi.mjs': ['text/javascript', await readFile(new URL(import.meta.resolve('oauth4webapi')))],
  }
  const callback = await listen(t, (path) => files[path])
  const app = await service.app('spa', `${callback.origin}/`, { scopes: SCOPE })
  const settings = { issuer, api, clientId: app.id, redirectUri: `${callback.origin}/`, scope: SCOPE }
  files['/settings.json'] = ['application/json', JSON.stringify(settings)]

  const visit = await visitor(browser, { also: [callback.origin] })
  t.after(visit.close)
  await visit.page.goto(`${callback.origin}/`)
  await visit.page.waitForURL(`${issuer}/**`)
  await allow(visit)
  await visit.page.waitForURL(`${callback.origin}/?**`)
  const result = visit.page.locator('#result')
  await result.filter({ hasText: '{' }).waitFor()
  const done = JSON.parse(await result.textContent())
  assert.equal(done.failed, undefined)
  checkResult(done)
  assert.equal(done.challenge, 'invalid_token')
  const unexpected = visit.faults.filter((fault) => !/\b401\b/.test(fault) && !/favicon/.test(fault))
  assert.deepEqual(unexpected, [])
})

for (const [name, kind, program] of [
  ['Authlib as a server app', 'server', python('with_authlib.py')],
  ['requests-oauthlib as a native app', 'native', python('with_requests_oauthlib.py')],
  ['the crate oauth2 as a server app', 'server', [process.env.TOUCHLINE_OAUTH_CLIENT, []]],
]) {
  test(name, { timeout: TIMEOUT }, async (t) => {
    const callback = await listen(t)
    const redirectUri = `${callback.origin}/callback`
    const app = await service.app(kind, redirectUri, { scopes: SCOPE })
    const client = spawnLineProgram(...program, CLIENTS)
    t.after(client.stop)
    const settings = { issuer, api, client_id: app.id, client_secret: app.secret }
    client.send(JSON.stringify({ ...settings, redirect_uri: redirectUri, scope: SCOPE }))
    const { authorize } = await client.receive()
    client.send(await consent(t, authorize, callback))
    checkResult(await client.receive())
  })
}

test('refusing consent returns only an error to the app', { timeout: TIMEOUT }, async (t) => {
  const callback = await listen(t)
  const app = await service.app('native', 'http://127.0.0.1/callback', { scopes: SCOPE })
  const settings = { issuer, api, clientId: app.id, redirectUri: `${callback.origin}/callback`, scope: SCOPE }
  const { authorize, state } = await begin(oauth4webapi, settings)
  const visit = await visitor(browser, { also: [callback.origin] })
  t.after(visit.close)
  await arrive(visit, authorize)
  await visit.page.getByRole('button', { name: REFUSE }).click()
  const callbackUrl = new URL(await callback.waitForCall())
  assert.equal(callbackUrl.searchParams.get('error'), 'access_denied')
  assert.equal(callbackUrl.searchParams.get('state'), state)
  assert.equal(callbackUrl.searchParams.get('iss'), issuer)
  assert.equal(callbackUrl.searchParams.get('code'), null)
})

const ALLOW = /^Allow/
const REFUSE = /^(Do not allow|Don’t allow|Cancel|Refuse)/

function checkResult(done) {
  assert.deepEqual({ calls: done.calls, rotated: done.rotated }, EXPECTED)
  assert.deepEqual(done.scope.split(' ').sort(), SCOPE.split(' ').sort())
}

/** Signs in and consents in a separate browser profile. Returns the callback URL. */
async function consent(t, authorize, callback) {
  const visit = await visitor(browser, { also: [callback.origin] })
  t.after(visit.close)
  await arrive(visit, authorize)
  await allow(visit)
  const callbackUrl = await callback.waitForCall()
  assert.deepEqual(visit.faults, [])
  return callbackUrl
}

/** Opens the authorization URL and signs in. */
async function arrive({ page }, authorize) {
  await signIn(page, person, authorize)
}

async function allow(visit) {
  if (new URL(visit.page.url()).pathname.startsWith('/sign-in')) await signIn(visit.page, person, visit.page.url())
  await visit.page.getByRole('button', { name: ALLOW }).click()
}

/** An app's server: records the callback, or serves files. */
async function listen(t, serve = () => undefined) {
  let arrived
  const call = new Promise((done) => (arrived = done))
  const server = createServer((request, response) => {
    const url = new URL(request.url, `http://${request.headers.host}`)
    const [type, body] = serve(url.pathname) ?? ['text/html', '<!doctype html><title>Done</title>You can close this.']
    if (url.pathname === '/callback') arrived(url.href)
    response.writeHead(200, { 'Content-Type': type }).end(body)
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    async waitForCall() {
      const late = new Promise((_, failed) => setTimeout(failed, 60_000, new Error('the app was not called')).unref())
      return Promise.race([call, late])
    },
  }
}

function python(script) {
  return [process.env.TOUCHLINE_PYTHON ?? 'python3', [script]]
}
