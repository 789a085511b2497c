/**
 * Receiving webhooks: verifying signatures (Standard Webhooks), and handlers for common servers.
 *
 * @module
 */

import { TouchlineError } from './errors.js'
import type { WebhookEvent } from './generated/types.gen.js'

export type { WebhookEvent }

/** The types of notifications that this version of the package knows. The API may get new ones. */
export type WebhookEventType = WebhookEvent['type']

/** The notification of one type, with the type of `data.object`. */
export type WebhookEventOf<Type extends WebhookEventType> = Extract<WebhookEvent, { type: Type }>

/** Headers of a request: of the Fetch API, or of Node. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>

/** The signature of a request is missing, wrong or too old. Respond with 400, and ignore the request. */
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
  const id = header(headers, 'webhook-id')
  const timestamp = header(headers, 'webhook-timestamp')
  const signatures = header(headers, 'webhook-signature').split(' ')
  const age = Math.abs(Date.now() / 1000 - Number(timestamp))
  if (!/^\d+$/.test(timestamp) || !(age <= tolerance)) {
    throw new WebhookVerificationError('The timestamp is missing or too far from now.')
  }
  const body = typeof payload === 'string' ? new TextEncoder().encode(payload) : new Uint8Array(payload)
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  const secrets = [secret].flat()
  if (secrets.length === 0) throw new TypeError('Give the secret of the webhook.')
  let isValid = false
  // All are tried, so that the time does not tell which one matches.
  for (const one of secrets) {
    const key = await signingKey(one)
    for (const signature of signatures) isValid = (await matches(key, signature, signed)) || isValid
  }
  if (!isValid) throw new WebhookVerificationError('No signature of the request was made with the secret.')
  return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent
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
 * your function is done, and with 400 to requests that are not from Touchline. If your function fails, so does the handler: the server
 * responds with 500, and the notification is sent again later.
 */
export function webhookHandler(options: WebhookOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { Allow: 'POST' } })
    const body = new Uint8Array(await request.arrayBuffer())
    return new Response(null, { status: await handle(body, request.headers, options) })
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
  end(): unknown
}

/**
 * A handler for Express, and for `node:http`. It needs the bytes of the body: put it before `express.json()`, or use
 * `express.raw({ type: '*' + '/*' })` on its path.
 */
export function expressWebhook(
  options: WebhookOptions,
): (request: NodeRequest, response: NodeResponse, next?: (error?: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      response.statusCode = await handle(await nodeBody(request), request.headers, options)
      response.end()
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
    options: { parseAs: 'buffer' },
    parser: (request: unknown, body: Uint8Array, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown
  removeContentTypeParser(type: string): unknown
  post(
    path: string,
    handler: (
      request: { body: unknown; headers: Record<string, string | string[] | undefined> },
      reply: { code(status: number): { send(): unknown } },
    ) => unknown,
  ): unknown
}

/** A Fastify plugin with one route: `fastify.register(fastifyWebhook, { path: '/hook', secret, on: { … } })`. */
export async function fastifyWebhook(fastify: unknown, options: WebhookOptions & { path: string }): Promise<void> {
  const server = fastify as FastifyServer
  // In this plugin only: the bytes of the body are needed.
  server.removeContentTypeParser('application/json')
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
  server.post(options.path, async (request, reply) => {
    const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
    return reply.code(await handle(body, request.headers, options)).send()
  })
}

/** Verifies a request and passes its notification on. Returns the status of the response. */
async function handle(body: Uint8Array, headers: WebhookHeaders, options: WebhookOptions): Promise<number> {
  let event: WebhookEvent
  try {
    event = await verify(body, headers, options.secret, options)
  } catch (error) {
    if (error instanceof WebhookVerificationError) return 400
    throw error
  }
  const isNamed = options.on !== undefined && Object.hasOwn(options.on, event.type)
  const handler = isNamed ? (options.on?.[event.type] as ((event: WebhookEvent) => unknown) | undefined) : undefined
  await (handler ?? options.otherwise)?.(event)
  return 204
}

/** Larger bodies are not from Touchline. */
const MAX_BODY = 1024 * 1024

async function nodeBody(request: NodeRequest): Promise<Uint8Array> {
  if (request.body instanceof Uint8Array) return request.body
  if (typeof request.body === 'string') return new TextEncoder().encode(request.body)
  if (request.body !== undefined && request.body !== null) {
    throw new TypeError('The body was already parsed. Put the webhook before `express.json()`, or use `express.raw()`.')
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY) throw new RangeError('The body is larger than any notification.')
    chunks.push(chunk)
  }
  return concat(...chunks)
}

function header(headers: WebhookHeaders, name: string): string {
  if (isFetchHeaders(headers)) return headers.get(name) ?? ''
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return (Array.isArray(found) ? found[0] : found) ?? ''
}

/** Whether these are headers of the Fetch API, whoever implements it. */
function isFetchHeaders(headers: WebhookHeaders): headers is Headers {
  return typeof headers.get === 'function'
}

async function signingKey(secret: string): Promise<CryptoKey> {
  const bytes = secret.startsWith('whsec_') ? decodeBase64(secret.slice('whsec_'.length)) : null
  if (!bytes || bytes.length === 0) throw new TypeError('The secret must begin with `whsec_`. The service shows it when you create a webhook.')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
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
