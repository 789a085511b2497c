// The notifications stream, from servers that send every form of server-sent events that the standard allows.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import { AbortError, ConnectionError, ServerError, Touchline, TouchlineError } from '../dist/index.js'
import { TIMEOUT, until } from '../../../tests/web/service.mjs'
import { serve } from './support.mjs'

const timeout = TIMEOUT

/** Starts a server whose nth connection gets the nth of these responses, and then the last one. */
async function stream(t, ...responses) {
  const requests = []
  const baseUrl = await serve(t, (request, response) => {
    requests.push(request.headers)
    responses[Math.min(requests.length, responses.length) - 1](response)
  })
  const touchline = new Touchline({ baseUrl, apiKey: 'tl_live_x' })
  return { requests, follow: (options) => touchline.notifications.follow({}, options) }
}

/** A response that sends these chunks one by one, and then ends if it `ends`. */
function chunks(parts, ends = true) {
  return async (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })
    for (const part of parts) {
      response.write(part)
      await new Promise((done) => setTimeout(done, 5))
    }
    if (ends) response.end()
  }
}

/** The first notifications of a stream. */
async function take(count, notifications) {
  const taken = []
  for await (const notification of notifications) if (taken.push(notification) === count) break
  return taken
}

const NAMES = ['Inês', '⚽', 'Zoë']
const events = (newline) => NAMES.map((name, id) => [`: a comment`, `id: ${id}`, 'event: team.created', `data: {"name": "${name}"}`, '', ''].join(newline)).join('')

for (const [name, newline] of [['LF', '\n'], ['CRLF', '\r\n'], ['CR', '\r']]) {
  test(`lines that end with ${name}, cut at each byte`, { timeout }, async (t) => {
    const bytes = Buffer.from(events(newline) + ': end')
    const parts = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
    const cut = async (response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      for (const part of parts) await new Promise((done) => response.write(part, () => setImmediate(done)))
    }
    const { follow } = await stream(t, cut)
    assert.deepEqual((await take(3, follow())).map((one) => one.name), NAMES)
  })
}

test('unusual fields', { timeout }, async (t) => {
  const { requests, follow } = await stream(
    t,
    chunks(['\uFEFFdata:{"one":\ndata: 1}\nid:7\n\n', 'id: a\0b\nunknown: x\ndata\n\nid\n\n\n', 'id: 8\nretry: soon\n\ndata: {"lost": 1}\n']),
    chunks(['data: {"two":2}\n\n'], false),
  )
  assert.deepEqual(await take(2, follow()), [{ one: 1 }, { two: 2 }])
  assert.deepEqual(requests.map((headers) => headers['last-event-id']), [undefined, '8'])
  assert.equal(requests[0].accept, 'text/event-stream')
})

test('waits as long as `retry` says before it connects again', { timeout }, async (t) => {
  const times = []
  const { follow } = await stream(
    t,
    (response) => (times.push(Date.now()), chunks(['retry: 900\ndata: {}\n\n'])(response)),
    (response) => (times.push(Date.now()), chunks(['data: {}\n\n'], false)(response)),
  )
  await take(2, follow())
  assert.ok(times[1] - times[0] >= 890, `waited ${times[1] - times[0]} ms`)
})

test('the first connection is tried as often as any request, later ones until they succeed', { timeout }, async (t) => {
  const busy = (response) => response.writeHead(503, { 'Retry-After': '0' }).end()
  const refused = await stream(t, busy)
  await assert.rejects(refused.follow({ maxRetries: 1 }).next(), ServerError)
  assert.equal(refused.requests.length, 2)
  const started = await stream(t, chunks(['data: 1\n\n']), busy, chunks(['data: 2\n\n'], false))
  assert.deepEqual(await take(2, started.follow({ maxRetries: 0 })), [1, 2])
})

test('what is not a stream of events', { timeout }, async (t) => {
  const page = (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>Hello</html>')
  const { follow } = await stream(t, page)
  const isExplained = (error) => error instanceof ConnectionError && /not a stream of events/.test(error.message)
  await assert.rejects(follow({ maxRetries: 0 }).next(), isExplained)
  const { follow: followText } = await stream(t, chunks(['data: hello\n\n']))
  await assert.rejects(followText().next(), (error) => error instanceof TouchlineError && /not JSON/.test(error.message))
})

test('a connection that sends nothing is replaced', { timeout }, async (t) => {
  const { setTimeout: start } = globalThis
  t.mock.method(globalThis, 'setTimeout', (action, time, ...args) => start(action, time === 45_000 ? 50 : time, ...args))
  const { requests, follow } = await stream(t, chunks(['id: 1\ndata: 1\n\n'], false), chunks(['data: 2\n\n'], false))
  assert.deepEqual(await take(2, follow()), [1, 2])
  assert.equal(requests[1]['last-event-id'], '1')
})

const WAITING = {
  'for the next event': [chunks(['data: 1\n\n'], false)],
  'for a response': [chunks(['data: 1\n\n']), () => {}],
  'before it connects again': [chunks(['retry: 60000\ndata: 1\n\n'])],
}
for (const [when, responses] of Object.entries(WAITING)) {
  test(`a stream that waits ${when} can be stopped`, { timeout: 10_000 }, async (t) => {
    const { follow, requests } = await stream(t, ...responses)
    const { signal } = new AbortController()
    const stopped = follow({ signal })
    assert.equal((await stopped.next()).value, 1)
    const next = stopped.next()
    await until('it waits', () => requests.length === responses.length)
    assert.deepEqual(await stopped.return(), { done: true, value: undefined })
    assert.deepEqual(await next, { done: true, value: undefined })
    assert.deepEqual(await stopped.next(), { done: true, value: undefined })
    assert.equal(getEventListeners(signal, 'abort').length, 0)
    const controller = new AbortController()
    const aborted = (await stream(t, ...responses)).follow(controller)
    await aborted.next()
    setTimeout(() => controller.abort(), 50)
    await assert.rejects(aborted.next(), AbortError)
  })
}

test('a stream that was stopped before it began sends no request', { timeout }, async (t) => {
  const { requests, follow } = await stream(t, chunks(['data: 1\n\n']))
  const notifications = follow()
  await notifications.return()
  assert.deepEqual(await notifications.next(), { done: true, value: undefined })
  assert.equal(requests.length, 0)
})
