// Webhooks: signatures by other libraries, and real deliveries to Express, Fastify, Hono and `node:http`.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import { runInNewContext } from 'node:vm'

import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'

import { Touchline } from '../dist/index.js'
import {
  expressWebhook,
  fastifyWebhook,
  sign,
  verify,
  webhookHandler,
  WebhookVerificationError,
} from '../dist/webhooks.js'
import { Service, TIMEOUT, until } from '../../../tests/web/service.mjs'
import { serve } from './support.mjs'

const timeout = TIMEOUT
const SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`
const OTHER = `whsec_${Buffer.from('another secret of many characters').toString('base64')}`
const BODY = JSON.stringify({ type: 'team.created', data: { object: { name: 'Inês “Nini”' }, previous: null } })

/** A request that another library has signed. */
function signed(Library, { secret = SECRET, body = BODY, at = new Date() } = {}) {
  const signature = new Library(secret).sign('ntf_1', at, body)
  return {
    'webhook-id': 'ntf_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signature,
  }
}

for (const [name, Library] of [['standardwebhooks', StandardWebhook], ['svix', SvixWebhook]]) {
  test(`accepts what ${name} has signed, and nothing else`, async () => {
    const headers = signed(Library)
    assert.equal((await verify(BODY, headers, SECRET)).type, 'team.created')
    assert.equal((await verify(Buffer.from(BODY), new Headers(headers), [OTHER, SECRET])).data.object.name, 'Inês “Nini”')
    // During a rotation there are two signatures.
    const both = `${signed(Library, { secret: OTHER })['webhook-signature']} ${headers['webhook-signature']}`
    assert.ok(await verify(BODY, { ...headers, 'webhook-signature': both }, SECRET))
    const old = signed(Library, { at: new Date(Date.now() - 301_000) })
    assert.ok(await verify(BODY, old, SECRET, { tolerance: 600 }))
    const rejected = [
      [BODY, headers, OTHER],
      [BODY.replace('Nini', 'Mini'), headers, SECRET],
      [BODY, { ...headers, 'webhook-id': 'ntf_2' }, SECRET],
      [BODY, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }, SECRET],
      [BODY, { ...headers, 'webhook-timestamp': 'NaN' }, SECRET],
      [BODY, { ...headers, 'webhook-signature': 'v1,' }, SECRET],
      [BODY, { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') }, SECRET],
      [BODY, {}, SECRET],
      [BODY, old, SECRET],
      [BODY, signed(Library, { at: new Date(Date.now() + 301_000) }), SECRET],
    ]
    for (const [body, other, secret] of rejected) {
      await assert.rejects(verify(body, other, secret), WebhookVerificationError, JSON.stringify(other))
    }
    await assert.rejects(verify(BODY, headers, []), TypeError)
    await assert.rejects(verify(BODY, headers, ''), TypeError)
    await assert.rejects(verify(BODY, headers, SECRET.slice('whsec_'.length)), TypeError)
  })
}

test('other libraries accept what `sign` has signed', async () => {
  const headers = await sign(BODY, SECRET)
  for (const Library of [StandardWebhook, SvixWebhook]) new Library(SECRET).verify(BODY, headers)
  const time = new Date(1_614_265_330_000)
  const known = await sign('{"test": 2432232314}', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', time })
  assert.equal(known['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  assert.equal((await verify(BODY, headers, SECRET)).type, 'team.created')
  await assert.rejects(verify(BODY, await sign(BODY, OTHER), SECRET), WebhookVerificationError)
  await assert.rejects(sign(BODY, ''), TypeError)
})

test('a body of any kind, and headers of Node.js', async () => {
  const headers = signed(StandardWebhook)
  const bytes = new TextEncoder().encode(`..${BODY}`)
  const view = bytes.subarray(2)
  const foreign = runInNewContext('(bytes) => { const own = new Uint8Array(bytes); return [own, own.buffer] }')(view)
  for (const body of [BODY, Buffer.from(BODY), view, view.slice().buffer, ...foreign]) {
    assert.equal((await verify(body, headers, SECRET)).type, 'team.created')
  }
  const lines = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
  lines['WEBHOOK-SIGNATURE'].unshift('v1,AAAA', 'v1a,x', 'v1', '')
  assert.ok(await verify(BODY, lines, SECRET))
})

test('errors say what is wrong', async () => {
  const headers = signed(StandardWebhook)
  for (const body of [JSON.parse(BODY), null, undefined, 1, new Request('https://scores.example/')]) {
    await assert.rejects(verify(body, headers, SECRET), (error) => error instanceof TypeError && /not an object that was parsed/.test(error.message))
  }
  for (const name of Object.keys(headers)) {
    const { [name]: _, ...others } = headers
    await assert.rejects(verify(BODY, others, SECRET), { name: 'WebhookVerificationError', message: `The header \`${name}\` is missing.` })
  }
  const old = signed(StandardWebhook, { at: new Date(Date.now() - 400_000) })
  await assert.rejects(verify(BODY, old, SECRET), /signed 40\d seconds in the past/)
  const recent = signed(StandardWebhook, { at: new Date(Math.ceil(Date.now() / 1000 + 1) * 1000) })
  await assert.rejects(verify(BODY, recent, SECRET, { tolerance: 0.01 }), /signed (1 second|2 seconds) in the future/)
  for (const tolerance of [NaN, 0, -1]) {
    await assert.rejects(verify(BODY, headers, SECRET, { tolerance }), /^TypeError: `tolerance` must be/)
    assert.throws(() => webhookHandler({ secret: SECRET, tolerance }), /`tolerance` must be/)
  }
  await assert.rejects(verify(BODY, undefined, SECRET), /^TypeError: Give the headers/)
  for (const body of ['', 'null', '[]', '{', 'hello', '1']) {
    await assert.rejects(verify(body, signed(StandardWebhook, { body }), SECRET), { name: 'WebhookVerificationError', message: /not a JSON object/ })
  }
  await assert.rejects(verify(BODY, { ...headers, 'webhook-timestamp': '1e9' }, SECRET), /not a number/)
  await assert.rejects(verify(BODY, headers, 'whsec_'), TypeError)
  await assert.rejects(verify(BODY, headers, [SECRET, 'whsec_?']), TypeError)
  for (const secret of [undefined, '', [], [undefined], 'tl_live_x']) {
    assert.throws(() => webhookHandler({ secret }), /begins with `whsec_`/)
    assert.throws(() => expressWebhook({ secret }), /begins with `whsec_`/)
  }
  const response = await webhookHandler({ secret: SECRET })(new Request('https://scores.example/', { method: 'POST', body: BODY }))
  assert.deepEqual([response.status, await response.text()], [400, 'The header `webhook-id` is missing.'])
})

test('a handler of the Fetch API', async () => {
  const seen = []
  const handler = webhookHandler({
    secret: SECRET,
    on: { 'team.created': ({ data }) => seen.push(data.object.name) },
    otherwise: ({ type }) => seen.push(type),
  })
  const post = (body, headers) => handler(new Request('https://scores.example/hook', { method: 'POST', body, headers }))
  assert.equal((await post(BODY, signed(StandardWebhook))).status, 204)
  const ping = JSON.stringify({ type: 'ping' })
  assert.equal((await post(ping, signed(StandardWebhook, { body: ping }))).status, 204)
  assert.equal((await post(BODY, {})).status, 400)
  assert.equal((await handler(new Request('https://scores.example/hook'))).status, 405)
  assert.deepEqual(seen, ['Inês “Nini”', 'ping'])
  const failing = webhookHandler({ secret: SECRET, otherwise: () => Promise.reject(new Error('the database is gone')) })
  const request = new Request('https://scores.example/', { method: 'POST', body: BODY, headers: signed(StandardWebhook) })
  await assert.rejects(failing(request), /database is gone/)
  await assert.rejects(failing(request), /^TypeError: The body was already read/)
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
  const incomplete = await handler(new Request('https://scores.example/', { method: 'POST', body: broken, duplex: 'half' }))
  assert.deepEqual([incomplete.status, await incomplete.text()], [400, 'The body is not complete.'])
})

let service
let touchline

before(async () => {
  service = await Service.start([], { TOUCHLINE_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  const { key } = await service.club('Harbour')
  touchline = new Touchline({ baseUrl: service.url, apiKey: key })
})

after(() => service?.stop())

/** Each starts a server with a webhook at `/hook`, and returns its URL. */
const SERVERS = {
  'node:http': (t, options) => serve(t, expressWebhook(options)),
  Express: (t, options) => serve(t, express().post('/hook', expressWebhook(options)).use(express.json())),
  // Express itself logs bodies that `express.raw()` could not read, unless its environment is `test`.
  'Express with express.raw()': (t, options) =>
    serve(t, express().set('env', 'test').post('/hook', express.raw({ type: 'application/json', limit: '20mb' }), expressWebhook(options))),
  async Fastify(t, options) {
    const server = fastify()
    server.register(fastifyWebhook, Object.assign(options, { path: '/hook' }))
    server.post('/json', async (request) => request.body)
    t.after(() => server.close())
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    // Other routes still get JSON.
    const echo = await fetch(`${url}/json`, { method: 'POST', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } })
    assert.deepEqual(await echo.json(), { a: 1 })
    return url
  },
  Hono: (t, options) => {
    const handler = webhookHandler(options)
    const app = new Hono().post('/hook', (context) => handler(context.req.raw))
    return serve(t, async (request, response) => {
      const init = { method: 'POST', headers: request.headers, body: Readable.toWeb(request), duplex: 'half' }
      const answer = await app.fetch(new Request(`http://localhost${request.url}`, init))
      response.writeHead(answer.status).end()
    })
  },
}

/** A receiver rejects bodies that are too large, incomplete or not JSON, and logs nothing about them. */
async function rejectsOtherBodies(t, url) {
  const log = ['error', 'warn', 'log'].map((name) => t.mock.method(console, name, () => {}))
  const post = async (body, headers) => {
    const init = { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } }
    return (await fetch(url, { ...init, ...(body instanceof ReadableStream && { duplex: 'half' }) })).status
  }
  assert.equal(await post('hello', signed(StandardWebhook, { body: 'hello' })), 400)
  assert.equal(await post('x'.repeat(2 ** 20), {}), 400)
  for (const size of [2 ** 20 + 1, 2 ** 24]) {
    assert.equal(await post('x'.repeat(size), {}), 413)
    assert.equal(await post(new Blob(['x'.repeat(size)]).stream(), {}), 413)
  }
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\nab`)
  await new Promise((done) => setTimeout(done, 50))
  socket.destroy()
  await new Promise((done) => setTimeout(done, 50))
  for (const { mock } of log) {
    assert.deepEqual(mock.calls.map((call) => call.arguments), [])
    mock.restore()
  }
}

for (const [name, start] of Object.entries(SERVERS)) {
  test(`deliveries to ${name}, before and after the secret changes`, { timeout }, async (t) => {
    const seen = []
    const options = { secret: SECRET, on: { 'team.created': ({ data }) => seen.push(data.object.name) } }
    const url = `${await start(t, options)}/hook`
    await rejectsOtherBodies(t, url)
    const webhook = await touchline.webhooks.create({ url, events: ['team.*'] })
    options.secret = webhook.secret
    await touchline.teams.create({ name: `${name} 1` })
    await until('the first one arrives', () => seen.length === 1)
    await touchline.webhooks.rotateSecret(webhook.id)
    await touchline.teams.create({ name: `${name} 2` })
    await until('the second one arrives', () => seen.length === 2)
    assert.deepEqual(seen, [`${name} 1`, `${name} 2`])
    assert.equal((await fetch(url, { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } })).status, 400)
    await touchline.webhooks.delete(webhook.id)
  })
}

test('with `node:http`, a failing function does not end the process', async (t) => {
  const errors = []
  const options = { secret: SECRET, otherwise: () => { throw new Error('the database is gone') }, onError: (error) => errors.push(error) }
  const url = await serve(t, expressWebhook(options))
  const post = (body, headers) => fetch(url, { method: 'POST', body, headers })
  assert.equal((await post(BODY, signed(StandardWebhook))).status, 500)
  assert.match(errors[0].message, /database is gone/)
  assert.equal(errors.length, 1)
})

test('a body that was parsed already is an error that says what to do', async (t) => {
  const app = express().use(express.json()).post('/hook', expressWebhook({ secret: SECRET }))
  const errors = []
  app.use((error, _request, response, _next) => {
    errors.push(error.message)
    response.sendStatus(500)
  })
  const url = await serve(t, app)
  const headers = { 'Content-Type': 'application/json', ...signed(StandardWebhook) }
  assert.equal((await fetch(`${url}/hook`, { method: 'POST', body: BODY, headers })).status, 500)
  assert.match(errors[0], /before `express.json\(\)`/)
})
