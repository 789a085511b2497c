/**
 * Receiving webhooks: verifying signatures (Standard Webhooks), and handlers for common servers.
 *
 * @module
 */

import { TouchlineError } from './errors.js'
import type { WebhookEvent } from './generated/types.gen.js'
import { parseObject } from './http.js'

export type { WebhookEvent }

/** The types of notifications that this version of the package knows. The API may get new ones. */
export type WebhookEventType = WebhookEvent['type']

/** The notification of one type, with the type of `data.object`. */
export type WebhookEventOf<Type extends WebhookEventType> = Extract<WebhookEvent, { type: Type }>

/** Headers of a request: of the Fetch API, or of Node. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>

/**
 * A request is not a notification: its signature is missing, wrong or too old, or its body is not a JSON object. Respond
 * with 400, and ignore the request.
 */
export class WebhookVerificationError extends TouchlineError {}
WebhookVerificationError.prototype.name = 'WebhookVerificationError'

/** How requests are verified. */
export interface VerifyOptions {
  /** How many seconds the clocks may differ. Older requests are rejected, so nobody can send one again. Default: 300. */
  tolerance?: number
}

/**
 * Verifies a request, and returns its notification. Throws a {@link WebhookVerificationError} if it is not from Touchline.
 *
 * @param payload The body, exactly as it was received: not parsed as JSON and written again.
 * @param secret The secret of the webhook, which begins with `whsec_`, or several of them.
 */
export async function verify(
  payload: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | string[],
  { tolerance = 300 }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const body = bytesOf(payload)
  checkTolerance(tolerance)
  if (!headers) throw new TypeError('Give the headers of the request.')
  const keys = await Promise.all(secretsOf(secret).map(signingKey))
  const id = requiredHeader(headers, 'webhook-id')
  const timestamp = requiredHeader(headers, 'webhook-timestamp')
  const signatures = requiredHeader(headers, 'webhook-signature').split(' ')
  const age = Date.now() / 1000 - Number(timestamp)
  if (!/^\d+$/.test(timestamp)) throw new WebhookVerificationError('The header `webhook-timestamp` is not a number.')
  if (!(Math.abs(age) <= tolerance)) {
    const seconds = Math.round(Math.abs(age))
    const time = `${seconds} ${seconds === 1 ? 'second' : 'seconds'} in the ${age > 0 ? 'past' : 'future'}`
    throw new WebhookVerificationError(`The request was signed ${time}. Is the clock of this server correct?`)
  }
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  let isValid = false
  // All are tried, so that the time does not tell which one matches.
  for (const key of keys) {
    for (const signature of signatures) isValid = (await matches(key, signature, signed)) || isValid
  }
  if (!isValid) {
    throw new WebhookVerificationError(
      'No signature of the request was made with the secret. Is it the secret of this webhook, and the body as it was received?',
    )
  }
  const event = parseObject(new TextDecoder().decode(body))
  if (!event) throw new WebhookVerificationError('The body is not a JSON object.')
  return event as unknown as WebhookEvent
}

/** The headers of a signed request. */
export type SignedHeaders = Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>

/** Signs a body as Touchline does, to test your receiver. Returns the headers of the request. */
export async function sign(
  body: string,
  secret: string,
  { id = 'ntf_test', time = new Date() }: { id?: string; time?: Date } = {},
): Promise<SignedHeaders> {
  secretsOf(secret)
  const key = await signingKey(secret)
  const timestamp = String(Math.floor(time.getTime() / 1000))
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${id}.${timestamp}.${body}`))
  const text = btoa(String.fromCharCode(...new Uint8Array(signature)))
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${text}` }
}

/** What is done with each notification. */
export interface WebhookOptions extends VerifyOptions {
  /** The secret of the webhook. During a rotation, the new and the old one. */
  secret: string | string[]
  /** What is done with notifications of these types. */
  on?: { [Type in WebhookEventType]?: (event: WebhookEventOf<Type>) => unknown }
  /** What is done with all other types. */
  otherwise?: (event: WebhookEvent) => unknown
  /** What {@link expressWebhook} does with errors of your functions if there is no `next`. Default: `console.error`. */
  onError?: (error: unknown) => void
}

/**
 * A handler for servers that use the Fetch API: Hono, Cloudflare Workers, Deno, Bun and Next.js. Responds with 204 when
 * your function is done, with 400 to requests that are not from Touchline, and with 413 to bodies of more than 1 MB. If your
 * function fails, so does the handler: the server responds with 500, and the notification is sent again later.
 */
export function webhookHandler(options: WebhookOptions): (request: Request) => Promise<Response> {
  checkOptions(options)
  return async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { Allow: 'POST' } })
    if (request.bodyUsed) throw new TypeError('The body was already read. Pass the request on before anything reads it.')
    const { status, text } = await handle(request.body && chunksOf(request.body), request.headers, options)
    return new Response(text, { status })
  }
}

/** What {@link expressWebhook} needs of a request. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  headers: Record<string, string | string[] | undefined>
  body?: unknown
}

/** What {@link expressWebhook} needs of a response. */
export interface NodeResponse {
  statusCode: number
  end(text?: string): unknown
}

/**
 * A handler for Express, and for `node:http`. It needs the bytes of the body: put it before `express.json()`, or use
 * `express.raw({ type: 'application/json', limit: '1mb' })` on its path.
 */
export function expressWebhook(
  options: WebhookOptions,
): (request: NodeRequest, response: NodeResponse, next?: (error?: unknown) => void) => Promise<void> {
  checkOptions(options)
  return async (request, response, next) => {
    try {
      const { status, text } = await handle(request.body ?? request, request.headers, options)
      response.statusCode = status
      response.end(text ?? undefined)
    } catch (error) {
      if (next) return next(error)
      // With `node:http` nobody else handles the error, and the process would exit.
      response.statusCode = 500
      response.end()
      ;(options.onError ?? console.error)(error)
    }
  }
}

/** What {@link fastifyWebhook} needs of Fastify. */
export interface FastifyServer {
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown
  removeContentTypeParser(type: string): unknown
  post(
    path: string,
    handler: (
      request: { body: unknown; headers: Record<string, string | string[] | undefined> },
      reply: { code(status: number): { send(text?: string): unknown } },
    ) => unknown,
  ): unknown
}

/** A Fastify plugin with one route: `fastify.register(fastifyWebhook, { path: '/hook', secret, on: { … } })`. */
export async function fastifyWebhook(fastify: unknown, options: WebhookOptions & { path: string }): Promise<void> {
  checkOptions(options)
  const server = fastify as FastifyServer
  // In this plugin only: the body is the stream of its bytes.
  server.removeContentTypeParser('application/json')
  server.addContentTypeParser('application/json', (_, payload, done) => done(null, payload))
  server.post(options.path, async (request, reply) => {
    const { status, text } = await handle(request.body, request.headers, options)
    return reply.code(status).send(text ?? undefined)
  })
}

/** Verifies a request and passes its notification on. Returns the response. Touchline shows its text to admins. */
async function handle(
  body: unknown,
  headers: WebhookHeaders,
  options: WebhookOptions,
): Promise<{ status: number; text: string | null }> {
  let event: WebhookEvent
  try {
    const bytes = isChunked(body) ? await readChunks(body) : wholeBody(body)
    if (bytes.length > MAX_BODY) return { status: 413, text: 'The body is larger than any notification.' }
    event = await verify(bytes, headers, options.secret, options)
  } catch (error) {
    if (error instanceof WebhookVerificationError) return { status: 400, text: error.message }
    throw error
  }
  const isNamed = options.on !== undefined && Object.hasOwn(options.on, event.type)
  const handler = isNamed ? (options.on?.[event.type] as ((event: WebhookEvent) => unknown) | undefined) : undefined
  await (handler ?? options.otherwise)?.(event)
  return { status: 204, text: null }
}

/** Larger bodies are not from Touchline. */
const MAX_BODY = 1024 * 1024

function isChunked(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

/** The bytes of a body; the first ones, but more than `MAX_BODY`, if it is too large. */
async function readChunks(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const kept: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of chunks) {
      // The rest is read and dropped: if the connection closed now, the sender would not get the response.
      if (size <= MAX_BODY) kept.push(chunk)
      size += chunk.length
    }
  } catch {
    throw new WebhookVerificationError('The body is not complete.')
  }
  return concat(...kept)
}

/** The bytes of a body that a server has already read. */
function wholeBody(body: unknown): Uint8Array {
  if (body === undefined || body === null) return new Uint8Array()
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return bytesOf(body)
  throw new TypeError('The body was already parsed. Put the webhook before `express.json()`, or use `express.raw()`.')
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}

/** The bytes of a body. `instanceof` would reject those of another realm, as in Jest. */
function bytesOf(payload: string | ArrayBufferView | ArrayBuffer): Uint8Array {
  if (typeof payload === 'string') return new TextEncoder().encode(payload)
  if (ArrayBuffer.isView(payload)) return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
  if (Object.prototype.toString.call(payload) === '[object ArrayBuffer]') return new Uint8Array(payload)
  throw new TypeError('The payload must be the body of the request as text or bytes, and not an object that was parsed from it.')
}

/** The secrets as a list. Fails if there is none, for example because a variable of the environment is not set. */
function secretsOf(secret: string | string[]): string[] {
  const secrets = [secret].flat()
  if (secrets.length === 0 || !secrets.every((one) => typeof one === 'string' && one.startsWith('whsec_'))) {
    throw new TypeError('Give the secret of the webhook, which begins with `whsec_`. The service shows it when you create a webhook.')
  }
  return secrets
}

/** Fails if an option of a handler is missing or wrong, so that the server does not start. */
function checkOptions({ secret, tolerance }: WebhookOptions): void {
  secretsOf(secret)
  checkTolerance(tolerance)
}

function checkTolerance(tolerance: number | undefined): void {
  if (tolerance !== undefined && !(tolerance > 0)) throw new TypeError(`\`tolerance\` must be a number of seconds above 0, not ${tolerance}.`)
}

function requiredHeader(headers: WebhookHeaders, name: string): string {
  const value = header(headers, name)
  if (!value) throw new WebhookVerificationError(`The header \`${name}\` is missing.`)
  return value
}

function header(headers: WebhookHeaders, name: string): string {
  if (isFetchHeaders(headers)) return headers.get(name) ?? ''
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return [found ?? ''].flat().join(' ')
}

/** Whether these are headers of the Fetch API, whoever implements it. */
function isFetchHeaders(headers: WebhookHeaders): headers is Headers {
  return typeof headers.get === 'function'
}

async function signingKey(secret: string): Promise<CryptoKey> {
  const bytes = decodeBase64(secret.slice('whsec_'.length))
  if (!bytes || bytes.length === 0) throw new TypeError('The secret is not complete: after `whsec_` it is Base64.')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}

/** Whether this is a signature of the bytes. Takes the same time whatever the signature is. */
async function matches(key: CryptoKey, signature: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const [version, text = ''] = signature.split(',')
  const bytes = version === 'v1' ? decodeBase64(text) : null
  return bytes !== null && crypto.subtle.verify('HMAC', key, bytes, signed)
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

function concat(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
