// Lists, errors, retries, time limits and options, against a real service. Where the network must fail, a proxy between
// the client and the service drops or delays requests.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { after, before, test } from 'node:test'

import {
  AbortError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  GoneError,
  isApiError,
  List,
  NotFoundError,
  NotModifiedError,
  PermissionError,
  PreconditionFailedError,
  RateLimitError,
  ServerError,
  TimeoutError,
  Touchline,
  TouchlineError,
  ValidationError,
} from '../dist/index.js'
import { freePort, Network, Service, TIMEOUT, until } from '../../../tests/web/service.mjs'
import { proxy, send, serve } from './support.mjs'

const timeout = TIMEOUT
const MISSING = 'team_01kbm2x5q8f7vr0n3hd9tzc4wy'

let service
let key
let touchline

before(async () => {
  service = await Service.start([], { TOUCHLINE_RATE_LIMITS: 'free=600000,club=600000,league=600000' })
  ;({ key } = await service.club('Harbour'))
  touchline = client()
})

after(() => service?.stop())

function client(options = {}) {
  return new Touchline({ baseUrl: service.url, apiKey: key, ...options })
}

test('a list of 250 teams: all, by page, and with a break', { timeout }, async () => {
  const club = await service.club('Many')
  const many = client({ apiKey: club.key })
  const names = Array.from({ length: 250 }, (_, number) => `Team ${String(number).padStart(3, '0')}`)
  for (const name of names) await many.teams.create({ name })
  const list = many.teams.list({ limit: 40 })
  assert.ok(list instanceof List)
  assert.deepEqual((await list.all()).map(({ name }) => name), names)
  const sizes = []
  for await (const page of list.pages()) sizes.push(page.data.length)
  assert.deepEqual(sizes, [40, 40, 40, 40, 40, 40, 10])
  const first = await list.page()
  assert.deepEqual([first.data.length, first.hasMore], [40, true])
  const second = await first.next()
  assert.equal(second.data[0].name, 'Team 040')
  const resumed = await many.teams.list({ limit: 5, cursor: first.nextCursor }).page()
  assert.equal(resumed.data[0].name, 'Team 040')
  let requests = 0
  const counting = client({ apiKey: club.key, fetch: (...args) => ((requests += 1), fetch(...args)) })
  for await (const { name } of counting.teams.list({ limit: 100 })) if (name === 'Team 120') break
  assert.equal(requests, 2)
  assert.equal((await counting.teams.list({ limit: 100 }).all({ max: 100 })).length, 100)
  assert.equal(requests, 3)
  assert.deepEqual(await many.teams.list({ q: 'nothing' }).all(), [])
})

test('a response with its headers', { timeout }, async () => {
  const created = await touchline.teams.create({ name: 'Headers' }).withResponse()
  assert.deepEqual([created.status, created.data.name], [201, 'Headers'])
  assert.match(created.requestId, /^req_/)
  assert.ok(created.rateLimit.limit > created.rateLimit.remaining && created.rateLimit.reset instanceof Date)
  assert.equal(created.headers.get('location'), `${service.url}/api/public/v1/teams/${created.data.id}`)
  const page = await touchline.teams.list().page().withResponse()
  assert.equal(page.requestId, page.headers.get('request-id'))
})

test('each error has its class and code', { timeout }, async () => {
  const taken = await touchline.teams.create({ name: 'Taken' })
  const rejections = [
    [() => touchline.teams.get(MISSING), NotFoundError, 'not_found'],
    [() => touchline.teams.create({ name: '' }), ValidationError, 'validation_failed'],
    [() => touchline.teams.create({ name: 'Taken' }), ConflictError, 'taken'],
    [() => touchline.teams.list({ limit: 1000 }).page(), BadRequestError, 'invalid_parameter'],
    [() => touchline.teams.list({ cursor: 'x' }).page(), BadRequestError, 'invalid_cursor'],
    [() => touchline.teams.update(taken.id, { name: 'Other' }, { ifMatch: 99 }), PreconditionFailedError, 'precondition_failed'],
    [() => client({ apiKey: 'tl_live_wrong' }).me.get(), AuthenticationError, 'invalid_credentials'],
    [() => touchline.notificationSettings.get(), PermissionError, 'forbidden'],
  ]
  for (const [call, Class, code] of rejections) {
    const error = await call().then(() => assert.fail(`no error ${code}`), (error) => error)
    assert.ok(error instanceof Class && error instanceof ApiError && isApiError(error), `${error}`)
    assert.equal(error.code, code)
    assert.match(error.requestId, /^req_/)
    assert.match(error.message, new RegExp(code))
    assert.equal(error.name, Class.name)
  }
  const invalid = await touchline.teams.create({ name: '' }).catch((error) => error)
  assert.equal(invalid.errors[0].pointer, '/name')
})

test('an object is sent only if it has changed', { timeout }, async () => {
  const team = await touchline.teams.create({ name: 'Version' })
  const isCurrent = (etag) => (error) =>
    error instanceof NotModifiedError && !(error instanceof ApiError) && error.etag === etag && !error.retryable
  await assert.rejects(touchline.teams.get(team.id, { ifNoneMatch: team.version }), isCurrent(`"${team.version}"`))
  const { version } = await touchline.teams.update(team.id, { season: '2027' })
  assert.equal((await touchline.teams.get(team.id, { ifNoneMatch: team.version })).season, '2027')
  const headers = { 'If-None-Match': `"0", "${version}"` }
  await assert.rejects(touchline.teams.get(team.id, { headers }).withResponse(), isCurrent(`"${version}"`))
})

test('an id that is empty is an error of the caller, and no request', async () => {
  assert.throws(() => touchline.teams.get(''), TypeError)
  assert.throws(() => touchline.teams.get(undefined), TypeError)
  assert.throws(() => touchline.dues.payments.list('..'), TypeError)
  await assert.rejects(touchline.teams.get('../me'), NotFoundError)
})

test('a change is made once, however often its response is lost', { timeout }, async (t) => {
  const keys = []
  // The service gets the first two attempts, but their responses are lost.
  const lossy = await proxy(t, service, async (forward, request, response, count) => {
    keys.push(request.headers['idempotency-key'])
    const answer = await forward()
    if (count <= 2) return request.socket.destroy()
    send(response, answer)
  })
  const created = await client({ baseUrl: lossy }).teams.create({ name: 'Once' }).withResponse()
  assert.equal(created.headers.get('idempotent-replayed'), 'true')
  assert.equal(new Set(keys).size, 1)
  assert.equal(keys.length, 3)
  assert.equal((await touchline.teams.list({ q: 'Once' }).all()).length, 1)
  await client({ baseUrl: lossy }).teams.create({ name: 'Another' })
  assert.equal(new Set(keys).size, 2)
})

test('a secret is not lost with the response that shows it', { timeout }, async (t) => {
  const lossy = () => proxy(t, service, async (forward, request, response, count) => {
    const answer = await forward()
    if (count === 1) return request.socket.destroy()
    send(response, answer)
  })
  const unlucky = async () => client({ baseUrl: await lossy() })
  const webhook = await (await unlucky()).webhooks.create({ url: 'https://hooks.example.org/once', events: ['team.*'] })
  const rotated = await (await unlucky()).webhooks.rotateSecret(webhook.id)
  const team = await touchline.teams.create({ name: 'Calendar' })
  const feed = await (await unlucky()).calendarFeeds.create({ team_id: team.id })
  assert.match(webhook.secret, /^whsec_/)
  assert.match(rotated.secret, /^whsec_/)
  assert.notEqual(rotated.secret, webhook.secret)
  assert.equal((await fetch(feed.url)).status, 200)
})

test('an idempotency key of the caller repeats a change after a crash', { timeout }, async () => {
  const options = { idempotencyKey: 'import-row-17' }
  const one = await touchline.teams.create({ name: 'Row 17' }, options)
  const two = await touchline.teams.create({ name: 'Row 17' }, options)
  assert.equal(one.id, two.id)
})

for (const [status, Class] of [[408, ServerError], [429, RateLimitError], [500, ServerError], [503, ServerError]]) {
  test(`status ${status} is tried again, and thrown in the end`, { timeout }, async (t) => {
    let failures = 1
    const flaky = await proxy(t, service, async (forward, request, response, count) => {
      if (count > failures) return send(response, await forward())
      response.writeHead(status, { 'Retry-After': '0', 'Request-Id': 'req_proxy' }).end('Out of order')
    })
    assert.equal((await client({ baseUrl: flaky }).me.get()).account.name, 'Harbour')
    failures = Infinity
    const error = await client({ baseUrl: flaky, maxRetries: 1 }).me.get().catch((error) => error)
    assert.ok(error instanceof Class, `${error}`)
    assert.deepEqual([error.status, error.requestId, error.detail], [status, 'req_proxy', 'Out of order'])
  })
}

test('waits as long as Retry-After says', { timeout }, async (t) => {
  const times = []
  const busy = await proxy(t, service, async (forward, request, response, count) => {
    times.push(Date.now())
    if (count > 1) return send(response, await forward())
    response.writeHead(429, { 'Retry-After': '1' }).end()
  })
  await client({ baseUrl: busy }).me.get()
  assert.ok(times[1] - times[0] >= 990, `waited ${times[1] - times[0]} ms`)
})

test('does not wait longer than a minute, and does not repeat what cannot succeed', { timeout }, async (t) => {
  let requests = 0
  const closed = await proxy(t, service, async (forward, request, response) => {
    requests += 1
    response.writeHead(request.url.includes('/me') ? 503 : 404, { 'Retry-After': '3600' }).end('<html>')
  })
  const error = await client({ baseUrl: closed }).me.get().catch((error) => error)
  assert.deepEqual([error.code, error.retryAfter], ['overloaded', 3600])
  // A proxy's 404 does not mean that the object does not exist.
  await assert.rejects(client({ baseUrl: closed }).teams.list().page(), { code: 'unknown', status: 404 })
  assert.equal(requests, 2)
})

test('a proxy with errors of its own in JSON', { timeout }, async (t) => {
  const broken = await proxy(t, service, (_, request, response) => response.writeHead(502).end('{"code": "BAD_GATEWAY"}'))
  const error = await client({ baseUrl: broken, maxRetries: 0 }).me.get().catch((error) => error)
  assert.deepEqual([error.status, error.code, error.retryable], [502, 'overloaded', true])
})

test('time limits and signals', { timeout }, async (t) => {
  const slow = await proxy(t, service, async (forward, request, response, count) => {
    if (count === 1) return
    send(response, await forward())
  })
  await client({ baseUrl: slow, timeout: 300 }).me.get()
  const silent = await proxy(t, service, () => {})
  const stopped = client({ baseUrl: silent })
  await assert.rejects(stopped.me.get({ timeout: 50, maxRetries: 0 }), TimeoutError)
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 50)
  const isAborted = (reason) => (error) =>
    error instanceof AbortError && !(error instanceof TimeoutError) && error.name === 'AbortError' && reason.test(error.cause)
  await assert.rejects(stopped.me.get({ signal: controller.signal }), isAborted(/AbortError/))
  await assert.rejects(stopped.me.get({ signal: AbortSignal.abort(new Error('never mind')) }), isAborted(/never mind/))
  // It ends the wait for the next attempt too.
  const nothing = client({ baseUrl: `http://localhost:${await freePort()}`, maxRetries: 20 })
  for (const one of [stopped, nothing]) {
    await assert.rejects(one.me.get({ signal: AbortSignal.timeout(300) }), isAborted(/TimeoutError/))
  }
})

test('a signal has no listener after its requests, and one during them', { timeout }, async (t) => {
  const warnings = []
  const warn = (warning) => warnings.push(warning.message)
  process.on('warning', warn)
  t.after(() => process.off('warning', warn))
  const { signal } = new AbortController()
  const listeners = () => getEventListeners(signal, 'abort').length
  const seen = new Set()
  const watching = client({ fetch: (...args) => (seen.add(listeners()), fetch(...args)) })
  await Promise.all(Array.from({ length: 20 }, () => watching.me.get({ signal })))
  assert.deepEqual([...seen], [1])
  assert.equal(listeners(), 0)
  const downloads = []
  for (let count = 0; count < 20; count += 1) downloads.push(await touchline.exports.roster({}, { signal }))
  assert.equal(listeners(), 1)
  assert.equal(downloads[0].url, `${service.url}/api/public/v1/exports/roster.csv`)
  const [first, second, third, ...others] = downloads
  assert.match(await first.text(), /^member_id,/)
  await second.body.cancel()
  for await (const chunk of third.body) assert.ok(chunk.length > 0)
  await Promise.all(others.map((response) => response.blob()))
  assert.equal(listeners(), 0)
  assert.deepEqual(warnings, [])
})

test('a download that breaks or is cancelled', { timeout }, async (t) => {
  const broken = await serve(t, (request, response) => {
    response.writeHead(200, { 'Content-Length': '1000' })
    response.write('member_id,')
    setTimeout(() => request.url.includes('break=') && response.destroy(), 20)
  })
  const far = client({ baseUrl: broken })
  const controller = new AbortController()
  const { signal } = controller
  const download = (query) => far.exports.roster(query, { signal })
  const isBroken = (error) => error instanceof ConnectionError && /GET .*roster\.csv failed: /.test(error.message)
  await assert.rejects((await download({ break: 1 })).text(), isBroken)
  await assert.rejects(async () => {
    for await (const chunk of (await download({ break: 1 })).body) assert.ok(chunk)
  }, isBroken)
  const response = await download({})
  const text = response.text()
  controller.abort()
  await assert.rejects(text, AbortError)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a service that is not there, and one that is not ours', { timeout }, async (t) => {
  const baseUrl = `http://localhost:${await freePort()}`
  const nothing = client({ baseUrl, maxRetries: 1 })
  const isRefused = ({ message }) => message.startsWith(`GET ${baseUrl}/api/public/v1/me failed:`) && /ECONNREFUSED/.test(message)
  await assert.rejects(nothing.me.get(), (error) => error instanceof ConnectionError && isRefused(error))
  let body
  const other = await serve(t, (_, response) => response.end(body))
  const foreign = client({ baseUrl: other, maxRetries: 0 })
  const isExplained = (error) => error instanceof ConnectionError && error.message.includes(`Is ${other}/api/public/v1/`)
  for (body of ['<html>Hello</html>', '', 'null', '1', '[]', '{}', '{"status":"ok"}']) {
    await assert.rejects(foreign.me.get(), isExplained, body)
    await assert.rejects(foreign.teams.list().page(), isExplained, body)
  }
  body = '{"data":{}}'
  await assert.rejects(foreign.teams.list().page(), isExplained)
})

test('a redirect is not followed, because the key would be lost', { timeout }, async (t) => {
  let requests = 0
  const moved = await serve(t, (request, response) => {
    requests += 1
    response.writeHead(301, { Location: service.url + request.url }).end()
  })
  const isExplained = (error) => error instanceof TouchlineError && error.message.includes(`redirected to ${service.url}/api`)
  await assert.rejects(client({ baseUrl: moved }).me.get(), isExplained)
  await assert.rejects(client({ baseUrl: moved }).teams.create({ name: 'Moved' }), isExplained)
  assert.equal(requests, 2)
})

test('wrong arguments are errors of the caller, and no requests', async () => {
  for (const baseUrl of ['localhost:8080', 'club.example.org', 'https://']) assert.throws(() => client({ baseUrl }), /`baseUrl` must begin/)
  assert.throws(() => client({ apiKey: '' }), /`apiKey` is empty/)
  const offline = client({ fetch: () => assert.fail('a request was sent') })
  await assert.rejects(offline.teams.create({ name: 1n }), TypeError)
  assert.throws(() => offline.files.create({ file: Buffer.from('x'), purpose: 'logo' }), /must be a Blob/)
  for (const options of [{ timeout: NaN }, { timeout: 0 }, { timeout: -1 }, { maxRetries: NaN }, { maxRetries: -1 }]) {
    const explained = { name: 'TypeError', message: new RegExp(`\`${Object.keys(options)[0]}\` must be a number`) }
    assert.throws(() => client(options), explained)
    await assert.rejects(offline.me.get(options), explained)
    assert.throws(() => offline.notifications.follow({}, options), explained)
  }
})

test('options of the client', { timeout }, async (t) => {
  const seen = []
  const echo = await proxy(t, service, async (forward, request, response) => {
    seen.push(request.headers)
    send(response, await forward())
  })
  const named = client({ baseUrl: `${echo}/api/public/v1/`, headers: { 'X-Club': 'a' } })
  await named.me.get({ headers: { 'x-club': 'b' }, timeout: Infinity })
  assert.equal(seen[0]['x-club'], 'b')
  assert.match(seen[0]['user-agent'], /^touchline-js\/\d/)
  await named.teams.create({ name: 'Own key' }, { headers: { 'idempotency-key': 'mine' } })
  assert.equal(seen[1]['idempotency-key'], 'mine')
  const time = new Date('2027-03-06T10:00:00Z')
  const texts = []
  const dated = client({ fetch: (url, init) => (texts.push(new URL(url).searchParams), fetch(url, init)) })
  await dated.events.list({ updated_since: time, team_id: [MISSING, MISSING], limit: 5 }).page()
  assert.equal(texts[0].toString(), `updated_since=${encodeURIComponent('2027-03-06T10:00:00.000Z')}&team_id=${MISSING}%2C${MISSING}&limit=5`)
  assert.throws(() => new Touchline({ baseUrl: service.url }), /apiKey/)
  assert.throws(() => client({ auth: { token: async () => key } }), /not both/)
  const auth = new Touchline({ baseUrl: service.url, auth: { token: async () => key } })
  assert.equal((await auth.me.get()).account.name, 'Harbour')
})

test('follows the log, through a broken connection and from where it stopped', { timeout }, async (t) => {
  const network = await Network.to(service.url)
  t.after(() => network.close())
  const far = client({ baseUrl: network.url })
  const controller = new AbortController()
  const newest = (await touchline.notifications.list({ order: 'desc', limit: 1 }).page()).data[0]
  const names = []
  const following = (async () => {
    const query = { type: ['team.created'], after: newest.sequence }
    for await (const { type, data } of far.notifications.follow(query, { signal: controller.signal })) {
      assert.equal(type, 'team.created')
      names.push(data.object.name)
      if (names.length === 3) break
    }
  })()
  await touchline.teams.create({ name: 'Stream 1' })
  await until('the first one arrives', () => names.includes('Stream 1'))
  network.cut()
  await touchline.teams.create({ name: 'Stream 2' })
  network.restore()
  await until('the missed one arrives', () => names.includes('Stream 2'))
  await touchline.teams.create({ name: 'Stream 3' })
  await following
  assert.deepEqual(names, ['Stream 1', 'Stream 2', 'Stream 3'])
  const aborted = touchline.notifications.follow({}, { signal: controller.signal }).next()
  controller.abort()
  await assert.rejects(aborted, AbortError)
})

test('a stream fails when it cannot succeed', { timeout }, async () => {
  const wrong = client({ apiKey: 'tl_live_wrong' }).notifications.follow()
  await assert.rejects(wrong.next(), AuthenticationError)
  await assert.rejects(touchline.notifications.follow({ after: 10 ** 9 }).next(), (error) =>
    error instanceof BadRequestError || error instanceof GoneError)
})
