// Apps on servers that act for a user. The user signs in with Chromium.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { AuthenticationError, ConnectionError, PermissionError, Touchline } from '../dist/index.js'
import { codeChallenge, MemoryTokenStore, OAuthApp, OAuthError } from '../dist/oauth.js'
import { launch } from '../../../tests/web/browser.mjs'
import { Service, TIMEOUT, until } from '../../../tests/web/service.mjs'
import { connect, proxy, send, serve } from './support.mjs'

const timeout = TIMEOUT
let service
let browser
let user

before(async () => {
  service = await Service.start([])
  const club = await service.club('Harbour')
  service.startup = { demo: { account: { id: club.account }, key: { value: club.key } } }
  user = await service.user('owner', 'olga@people.example', 'Olga Owner')
  browser = await launch()
  await new Touchline({ baseUrl: service.url, apiKey: club.key }).teams.create({ name: 'Hawks' })
})

after(async () => {
  await browser?.close()
  await service?.stop()
})

test('the example of RFC 7636', async () => {
  const challenge = await codeChallenge('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')
  assert.equal(challenge, 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
})

test('a server app: sign-in, calls, one refresh for many requests, revocation', { timeout }, async (t) => {
  const { app, store, callbackUrl, request } = await connect(t, browser, service, user, ['teams:read'])
  const session = app.session(store)
  let refreshes = 0
  const refresh = app.refresh.bind(app)
  app.refresh = (token) => ((refreshes += 1), refresh(token))
  const touchline = new Touchline({ baseUrl: service.url, auth: session })
  assert.equal((await touchline.me.get()).name, 'Olga Owner')
  await assert.rejects(touchline.teams.create({ name: 'No scope' }), PermissionError)
  // The token is about to expire.
  const first = await store.load()
  await store.save({ ...first, expiresAt: Date.now() + 1000 })
  await Promise.all(Array.from({ length: 20 }, () => touchline.teams.list().page()))
  assert.equal(refreshes, 1)
  // The API rejects the token although it should be valid.
  const second = await store.load()
  assert.notEqual(second.refreshToken, first.refreshToken)
  await store.save({ ...second, accessToken: 'tlat_unknown' })
  await Promise.all(Array.from({ length: 20 }, () => touchline.teams.list().page()))
  assert.equal(refreshes, 2)
  // A code works once.
  await assert.rejects(app.exchange(callbackUrl, request), (error) => error instanceof OAuthError && error.code === 'invalid_grant')
  await session.revoke()
  assert.equal(await store.load(), null)
  await assert.rejects(touchline.me.get(), (error) => error.code === 'login_required')
})

test('requests for tokens are repeated when that is safe', { timeout }, async (t) => {
  // What happens to each of the next requests.
  let plan = []
  let requests = 0
  const lossy = await proxy(t, service, async (forward, request, response) => {
    requests += 1
    const outcome = plan.shift()
    if (typeof outcome === 'number') return response.writeHead(outcome, { 'Retry-After': '0' }).end('Out of order')
    if (outcome === 'too slow') return response.writeHead(503).end('{"code": "overloaded", "detail": "It may still take effect."}')
    if (outcome === 'never sent') return request.socket.destroy()
    const answer = await forward()
    if (outcome === 'lost') return request.socket.destroy()
    await send(response, answer)
  })
  const during = async (outcomes, work) => {
    plan = outcomes
    requests = 0
    const result = await work().catch((error) => error)
    return [result, requests]
  }
  const options = { fetch: (url, init) => fetch(url.replace(service.url, lossy), init) }
  plan = [429, 503]
  const { app, store, callbackUrl, request } = await connect(t, browser, service, user, ['teams:read'], options)
  const first = await store.load()
  const [second, sent] = await during(['lost', 'never sent'], () => app.refresh(first.refreshToken))
  assert.equal(sent, 3)
  assert.notEqual(second.refreshToken, first.refreshToken)
  // The grant was not revoked.
  const touchline = new Touchline({ baseUrl: service.url, auth: app.session(new MemoryTokenStore(second)) })
  assert.equal((await touchline.me.get()).name, 'Olga Owner')
  const [late, tries] = await during([408, 500, 503, 429], () => app.refresh(second.refreshToken))
  assert.deepEqual([late.code, late.status, late.retryable, late.retryAfter, tries], ['slow_down', 429, true, 0, 4])
  const [unknown, once] = await during([], () => app.refresh('tlrt_unknown'))
  assert.deepEqual([unknown.code, unknown.retryable, once], ['invalid_grant', false, 1])
  assert.deepEqual(await during(['lost'], () => app.revoke(second.refreshToken)), [undefined, 2])
  await assert.rejects(app.refresh(second.refreshToken), { code: 'invalid_grant' })
  // A code works once. Without a response, nobody knows whether it was used.
  for (const outcome of ['lost', 'never sent', 'too slow', 500]) {
    const [error, count] = await during([outcome], () => app.exchange(callbackUrl, request))
    const Class = ['lost', 'never sent'].includes(outcome) ? ConnectionError : OAuthError
    assert.ok(error instanceof Class && error.retryable, `${error}`)
    assert.equal(count, 1)
  }
})

for (const [when, expiresIn] of [['before', 0], ['after', 3_600_000]]) {
  test(`a cancelled call does not wait for a shared refresh ${when} the request`, { timeout }, async (t) => {
    let finish
    let refreshes = 0
    const isFinished = new Promise((done) => (finish = done))
    const baseUrl = await serve(t, async (request, response) => {
      refreshes += 1
      await isFinished
      response.end(JSON.stringify({ access_token: 'tlat_new', refresh_token: 'tlrt_new', expires_in: 3600 }))
    })
    const used = []
    // The API rejects the old token.
    const send = async (url, { headers }) => {
      used.push(headers.get('Authorization').slice('Bearer '.length))
      const body = { code: 'invalid_credentials', status: 401, retryable: false, data: {} }
      return Response.json(body, { status: used.at(-1) === 'tlat_old' ? 401 : 200 })
    }
    const app = new OAuthApp({ baseUrl, clientId: 'app_x', redirectUri: 'https://scores.example/' })
    const tokens = { accessToken: 'tlat_old', refreshToken: 'tlrt_old', expiresAt: Date.now() + expiresIn, scope: [] }
    const touchline = new Touchline({ baseUrl, auth: app.session(new MemoryTokenStore(tokens)), fetch: send })
    const controller = new AbortController()
    const cancelled = touchline.me.get({ signal: controller.signal })
    const patient = touchline.me.get()
    await until('the refresh is under way', () => refreshes === 1)
    controller.abort()
    await assert.rejects(cancelled, { name: 'AbortError' })
    assert.ok(!used.includes('tlat_new'))
    finish()
    await patient
    assert.deepEqual([used.at(-1), refreshes], ['tlat_new', 1])
  })
}

test('two processes that refresh at the same time both keep their access', { timeout }, async (t) => {
  const { app, store } = await connect(t, browser, service, user, ['teams:read'])
  const tokens = await store.load()
  await store.save({ ...tokens, expiresAt: 0 })
  const sessions = [app.session(store), app.session(store)]
  const values = await Promise.all(sessions.map((session) => session.token()))
  assert.equal(new Set(values).size, 1)
  for (const auth of sessions) await new Touchline({ baseUrl: service.url, auth }).me.get()
})

test('a revoked grant ends the session', { timeout }, async (t) => {
  const { app, store } = await connect(t, browser, service, user, ['teams:read'])
  await app.revoke((await store.load()).refreshToken)
  const touchline = new Touchline({ baseUrl: service.url, auth: app.session(store) })
  await assert.rejects(touchline.me.get(), (error) => error instanceof OAuthError && error.code === 'invalid_grant')
  assert.equal(await store.load(), null)
})

test('a token without a refresh token is used until it is rejected', { timeout }, async () => {
  const app = new OAuthApp({ baseUrl: service.url, clientId: 'app_x', redirectUri: 'https://scores.example/' })
  const store = new MemoryTokenStore({ accessToken: 'tlat_x', refreshToken: null, expiresAt: 0, scope: [] })
  await assert.rejects(new Touchline({ baseUrl: service.url, auth: app.session(store) }).me.get(), AuthenticationError)
})

test('options that are missing or wrong', async () => {
  const options = { baseUrl: service.url, clientId: 'app_x', redirectUri: 'https://scores.example/' }
  for (const clientId of [undefined, '']) assert.throws(() => new OAuthApp({ ...options, clientId }), /^TypeError: .*`clientId`/)
  for (const redirectUri of [undefined, '', '/callback']) assert.throws(() => new OAuthApp({ ...options, redirectUri }), /^TypeError: `redirectUri`/)
  for (const one of [{ timeout: NaN }, { maxRetries: -1 }]) assert.throws(() => new OAuthApp({ ...options, ...one }), TypeError)
  assert.ok(new OAuthApp({ ...options, redirectUri: 'org.example.scores:/callback' }))
  const { url } = await new OAuthApp(options).authorizationUrl({ scope: 'teams:read events:read' })
  assert.equal(new URL(url).searchParams.get('scope'), 'teams:read events:read')
})

test('wrong callbacks are rejected before anything is sent', async () => {
  const app = new OAuthApp({ baseUrl: 'http://127.0.0.1:1', clientId: 'app_x', redirectUri: 'https://scores.example/' })
  const { url, state, codeVerifier } = await app.authorizationUrl({ scope: ['teams:read', 'events:read'], prompt: 'login' })
  const sent = new URL(url).searchParams
  assert.deepEqual([sent.get('scope'), sent.get('prompt'), sent.get('state')], ['teams:read events:read', 'login', state])
  const iss = encodeURIComponent('http://127.0.0.1:1')
  for (const [query, code] of [
    [`?code=a&state=other&iss=${iss}`, 'invalid_state'],
    [`?code=a&iss=${iss}`, 'invalid_state'],
    [`?error=access_denied&error_description=No&state=${state}&iss=${iss}`, 'access_denied'],
    [`?code=a&state=${state}&iss=https%3A%2F%2Fevil.example`, 'invalid_issuer'],
    [`?code=a&state=${state}&iss=nothing`, 'invalid_issuer'],
    [`?code=a&state=${state}`, 'invalid_issuer'],
    [`?state=${state}&iss=${iss}`, 'invalid_request'],
  ]) {
    const exchange = app.exchange(`https://scores.example/${query}`, { state, codeVerifier })
    await assert.rejects(exchange, (error) => error instanceof OAuthError && error.code === code, query)
  }
  const messages = []
  for (const query of ['', '&iss=https%3A%2F%2Fclub.example']) {
    messages.push(await app.exchange(`/?code=a&state=${state}${query}`, { state, codeVerifier }).catch(({ message }) => message))
  }
  assert.match(messages[0], /has no `iss`/)
  assert.match(messages[1], /is https:\/\/club\.example, but the option `baseUrl` is http:\/\/127\.0\.0\.1:1\b.*`base_url`/)
  const forgotten = app.exchange(`/?code=a&iss=${iss}`, { state: null, codeVerifier })
  await assert.rejects(forgotten, { code: 'invalid_state' })
})
