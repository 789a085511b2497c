// What the tests of the client share.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

import { MemoryTokenStore, OAuthApp } from '../dist/oauth.js'
import { signIn, visitor } from '../../../tests/web/browser.mjs'

export const ROOT = new URL('../', import.meta.url)

/** The OpenAPI document. */
export async function document() {
  return JSON.parse(await readFile(new URL('../../openapi.json', ROOT), 'utf8'))
}

/** All operations: id, method, path, and the names by which the client has it (`['dues', 'payments', 'create']`). */
export async function operations() {
  const { paths } = await document()
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      names: operation.operationId.split('.').map(camelCase),
    })),
  )
}

function camelCase(words) {
  return words.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())
}

/** Starts a server that stops at the end of the test. Returns its URL. */
export async function serve(t, handler) {
  const server = createServer(handler)
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${server.address().port}`
}

/** A proxy in front of the service. The handler decides what happens to the request with this number. */
export async function proxy(t, service, handler) {
  let count = 0
  return serve(t, async (request, response) => {
    const number = (count += 1)
    const body = await new Response(request).arrayBuffer()
    const forward = async () => {
      const headers = { ...request.headers }
      for (const name of ['host', 'connection', 'content-length', 'accept-encoding', 'transfer-encoding']) delete headers[name]
      const { method, url } = request
      return fetch(service.url + url, { method, headers, ...(body.byteLength > 0 && { body }) })
    }
    await handler(forward, request, response, number)
  })
}

/** Passes the service's response on. */
export async function send(response, answer) {
  const headers = Object.fromEntries(answer.headers)
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) delete headers[name]
  response.writeHead(answer.status, headers).end(Buffer.from(await answer.arrayBuffer()))
}

/**
 * A proxy that loses the first response to each change, ends CSV files too early, and breaks the first connection of each
 * stream in the second notification.
 */
export async function lossyProxy(t, service) {
  const seen = new Set()
  return proxy(t, service, async (forward, request, response) => {
    const id = request.headers['idempotency-key'] ?? (request.headers.accept === 'text/event-stream' ? request.url : null)
    const isFirst = request.method !== 'OPTIONS' && id !== null && !seen.has(id)
    if (isFirst) seen.add(id)
    const answer = await forward()
    const type = answer.headers.get('content-type') ?? ''
    if (type.startsWith('text/csv')) {
      response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'content-length': '1000' })
      return response.write('member_id,', () => request.socket.destroy())
    }
    if (!type.startsWith('text/event-stream')) {
      return isFirst ? request.socket.destroy() : send(response, answer)
    }
    assert.ok(isFirst || request.headers['last-event-id'], 'the stream does not resume')
    await passStream(request, response, answer, isFirst)
  })
}

/** Passes a stream on. Breaks it in the second notification if it `breaks`. */
async function passStream(request, response, answer, breaks) {
  const reader = answer.body.getReader()
  request.socket.on('close', () => reader.cancel().catch(() => {}))
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return response.end()
    // The tests do not wait for two seconds.
    text += decoder.decode(value, { stream: true }).replace('retry: 2000', 'retry: 100')
    const [part] = (breaks && /^.*?data: .*?\n\nid: .*?data: .{9}/s.exec(text)) || []
    if (part) {
      response.write(part)
      // Chromium drops what it has received just before.
      return setTimeout(() => request.socket.destroy(), 100)
    }
    if (breaks) continue
    response.write(text)
    text = ''
  }
}

/** An app, and its access to a user's data: the user signs in and allows it in a browser. */
export async function connect(t, browser, service, user, scope, options = {}) {
  const redirectUri = `${await serve(t, (_, response) => response.end('You can close this page.'))}/callback`
  const { id, secret } = await service.app('server', redirectUri, { scopes: scope.join(' ') })
  const app = new OAuthApp({ baseUrl: service.url, clientId: id, clientSecret: secret, redirectUri, ...options })
  const request = await app.authorizationUrl({ scope })
  const { page, close } = await visitor(browser, { home: service.url, also: [new URL(redirectUri).origin] })
  await signIn(page, user, request.url)
  await page.getByRole('button', { name: /^Allow/ }).click()
  await page.waitForURL(`${redirectUri}**`)
  const callbackUrl = page.url()
  await close()
  const tokens = await app.exchange(callbackUrl, request)
  return { app, store: new MemoryTokenStore(tokens), callbackUrl, request }
}
