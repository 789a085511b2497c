import { abortable, sleep, throwIfAborted } from './abort.js'
import { apiError, ApiError, NotModifiedError } from './errors.js'
import { checkLimits, notOurs, parseObject, send, type Fetch, type HttpRequest } from './http.js'
import { List, type PageBody } from './list.js'
import { ApiPromise, apiResponse, type ApiResponse } from './response.js'
import { pauseBefore } from './retry.js'
import { follow } from './stream.js'
import { VERSION } from './version.js'

/** Where the credentials of an app come from. `OAuthSession` implements it. */
export interface Auth {
  /** A token that is valid now. All requests may share one refresh: a request that is cancelled stops waiting for it. */
  token(): Promise<string>
  /** Called when the API has rejected a token. Returns another one, or `null` if there is none. */
  renew?(rejected: string): Promise<string | null>
}

/** Options of all requests. */
export interface ClientOptions {
  /**
   * Address of the service. Default: the environment variable `TOUCHLINE_URL`, or `http://localhost:8080`, where
   * `touchline serve` listens.
   */
  baseUrl?: string | undefined
  /** An API key. Default: the environment variable `TOUCHLINE_API_KEY`. Keep it on your server. */
  apiKey?: string | undefined
  /** Credentials of an app that acts for a user, instead of an API key. */
  auth?: Auth | undefined
  /** How many milliseconds an attempt may take; `Infinity` for no limit. Default: 60,000. */
  timeout?: number | undefined
  /** How often a failed request is repeated. Default: 3. */
  maxRetries?: number | undefined
  /** A function to use instead of the global `fetch`. */
  fetch?: Fetch | undefined
  /** Headers of every request. A browser blocks requests to another origin that have headers of your own (CORS). */
  headers?: Record<string, string> | undefined
  /** Allows an API key in a browser. Anybody who opens the page can read the key and use it. */
  dangerouslyAllowBrowser?: boolean | undefined
}

/** Options of one request. */
export interface RequestOptions {
  /** Cancels the request, which then fails with an `AbortError`. */
  signal?: AbortSignal | undefined
  /** How many milliseconds an attempt may take. After the last one, the request fails with a `TimeoutError`. */
  timeout?: number | undefined
  /** How often a failed request is repeated. */
  maxRetries?: number | undefined
  /** Headers of this request. */
  headers?: Record<string, string> | undefined
  /**
   * The key by which the service recognizes a repeated change. Default: a new one for each call. Choose your own if your
   * program may make the same change again later, for example after a crash.
   */
  idempotencyKey?: string | undefined
  /** Make the change only if the object still has this `version`. */
  ifMatch?: number | undefined
  /** Get the object only if it no longer has this `version`. Otherwise, the request fails with a `NotModifiedError`. */
  ifNoneMatch?: number | undefined
}

/** Query parameters. Lists are joined with commas. */
export type Query = { [name: string]: unknown }

/** A request of an operation. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Query | undefined
  body?: unknown
  /** How the response is read. `raw` is the response itself. Default: the `data` of a JSON object. */
  as?: 'data' | 'body' | 'raw'
}

const API = '/api/public/v1'
/** How often a failed request is repeated. */
const RETRIES = 3

/** Sends requests, repeats failed ones, and reads responses. */
export class Transport {
  readonly #base: string
  readonly #auth: Auth
  readonly #options: ClientOptions

  constructor(options: ClientOptions = {}) {
    const apiKey = options.apiKey ?? (options.auth ? undefined : environment('TOUCHLINE_API_KEY'))
    if (apiKey === '') throw new TypeError('`apiKey` is empty.')
    if (apiKey !== undefined && options.auth) throw new TypeError('Give either `apiKey` or `auth`, not both.')
    if (apiKey !== undefined && isBrowser() && !options.dangerouslyAllowBrowser) {
      throw new TypeError(
        'An API key in a browser can be read by everybody. Call the API from your server, or let users sign in with ' +
          '`auth`. If this page is for you alone, set `dangerouslyAllowBrowser`.',
      )
    }
    const auth = apiKey === undefined ? options.auth : { token: async () => apiKey }
    if (!auth) throw new TypeError('Give an `apiKey` (or set TOUCHLINE_API_KEY), or `auth`.')
    checkLimits(options)
    this.#auth = auth
    this.#base = apiBase(options.baseUrl)
    this.#options = options
  }

  /** Calls an operation that returns one object. */
  request<T>(call: Call, options?: RequestOptions): ApiPromise<T> {
    return new ApiPromise(this.#call<T>(call, options))
  }

  /** Calls an operation that returns a list. */
  list<T, Body extends PageBody<T> = PageBody<T>>(path: string, query?: Query, options?: RequestOptions): List<T, Body> {
    return new List<T, Body>((cursor) => {
      const page = cursor === undefined ? query : { ...query, cursor }
      return this.#call<Body>({ method: 'GET', path, query: page, as: 'body' }, options)
    })
  }

  /** Follows a stream of server-sent events. */
  follow<T>(path: string, query?: Query, options?: RequestOptions): AsyncGenerator<T, void, undefined> {
    checkLimits(options ?? {})
    const open = (headers: Record<string, string>, signal: AbortSignal) => {
      const call: Call = { method: 'GET', path, query, as: 'raw' }
      const all = { ...options, signal, headers: { ...options?.headers, Accept: 'text/event-stream', ...headers } }
      return this.#call<Response>(call, { ...all, maxRetries: 0 }).then(({ data }) => data)
    }
    return follow<T>(open, options?.maxRetries ?? this.#options.maxRetries ?? RETRIES, options?.signal)
  }

  /** Sends a request until it succeeds or must not be repeated. */
  async #call<T>(call: Call, options: RequestOptions = {}): Promise<ApiResponse<T>> {
    checkLimits(options)
    const headers = this.#headers(call, options)
    const retries = options.maxRetries ?? this.#options.maxRetries ?? RETRIES
    throwIfAborted(options.signal)
    let token = await abortable(this.#auth.token(), options.signal)
    let renewed = false
    for (let attempt = 0; ; attempt += 1) {
      try {
        headers.set('Authorization', `Bearer ${token}`)
        return await this.#attempt<T>(call, headers, options)
      } catch (error) {
        const newToken = renewed ? null : await this.#renewedToken(error, token, options.signal)
        if (newToken !== null) {
          token = newToken
          renewed = true
          attempt -= 1
          continue
        }
        const pause = pauseBefore(error, attempt)
        if (pause === null || !(attempt < retries)) throw error
        await sleep(pause * 1000, options.signal)
      }
    }
  }

  #headers({ method, body }: Call, options: RequestOptions): Headers {
    const headers = new Headers({ Accept: 'application/json' })
    for (const source of [this.#options.headers, options.headers]) {
      for (const [name, value] of Object.entries(source ?? {})) headers.set(name, value)
    }
    if (!isBrowser() && !headers.has('User-Agent')) headers.set('User-Agent', `touchline-js/${VERSION}`)
    if (body !== undefined && !(body instanceof FormData)) headers.set('Content-Type', 'application/json')
    // Made once for all attempts, so that the change is made once.
    if (method !== 'GET') headers.set('Idempotency-Key', options.idempotencyKey ?? headers.get('Idempotency-Key') ?? newKey())
    if (options.ifMatch !== undefined) headers.set('If-Match', `"${options.ifMatch}"`)
    if (options.ifNoneMatch !== undefined) headers.set('If-None-Match', `"${options.ifNoneMatch}"`)
    return headers
  }

  async #renewedToken(error: unknown, rejected: string, signal?: AbortSignal): Promise<string | null> {
    const isRejected = error instanceof ApiError && error.code === 'invalid_credentials'
    return isRejected && this.#auth.renew ? abortable(this.#auth.renew(rejected), signal) : null
  }

  #attempt<T>(call: Call, headers: Headers, options: RequestOptions): Promise<ApiResponse<T>> {
    const { method, path, body, as = 'data' } = call
    const request: HttpRequest = {
      method,
      address: this.#base + API + path,
      url: this.#url(call),
      headers,
      body: body === undefined || body instanceof FormData ? body : JSON.stringify(body),
      signal: options.signal,
      timeout: options.timeout ?? this.#options.timeout ?? 60_000,
      fetch: this.#options.fetch,
      isOpen: as === 'raw',
    }
    return send(request, async (response) => {
      if (response.status === 304) throw new NotModifiedError(response.headers)
      if (!response.ok) throw await apiError(response)
      if (as === 'raw') return apiResponse(response as T, response)
      const json = parseObject(await response.text())
      // A proxy or the sign-in page of a network may respond with something else.
      if (!json || (as === 'body' ? !Array.isArray(json.data) : json.data === undefined)) throw notOurs(request.address)
      return apiResponse((as === 'data' ? json.data : json) as T, response)
    })
  }

  #url({ path, query }: Call): string {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined && value !== null) parameters.set(name, [value].flat().map(queryValue).join())
    }
    const text = parameters.toString()
    return this.#base + API + path + (text && `?${text}`)
  }
}

function queryValue(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

/** A random idempotency key. `crypto.randomUUID` is missing in pages without HTTPS. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The address without a slash or the path of the API at its end. */
export function apiBase(baseUrl = environment('TOUCHLINE_URL') ?? 'http://localhost:8080'): string {
  if (!/^https?:\/\/[^/]/i.test(baseUrl)) {
    throw new TypeError(`\`baseUrl\` must begin with https:// or http://, unlike ${JSON.stringify(baseUrl)}.`)
  }
  const url = new URL(baseUrl)
  return (url.origin + url.pathname).replace(/\/+$/, '').replace(/\/api\/public\/v1$/, '')
}

/** One segment of a path. */
export function segment(name: string, value: string): string {
  if (typeof value !== 'string' || ['', '.', '..'].includes(value)) throw new TypeError(`\`${name}\` must be an ID, not ${JSON.stringify(value)}.`)
  return encodeURIComponent(value)
}

/** The body of an operation that takes files. */
export function formData(fields: Record<string, unknown>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue
    if (value instanceof Blob) form.set(name, value)
    else if (typeof value !== 'object') form.set(name, String(value))
    else throw new TypeError(`\`${name}\` must be a Blob, such as \`new Blob([bytes], { type: 'image/png' })\`.`)
  }
  return form
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.[name] || undefined
}

/** Whether this is a page of a browser, or a worker of one. */
function isBrowser(): boolean {
  if (typeof window !== 'undefined' && typeof window.document !== 'undefined') return true
  const { importScripts, Deno, Bun } = globalThis as Record<string, unknown>
  const isServer = Deno !== undefined || Bun !== undefined || globalThis.navigator?.userAgent === 'Cloudflare-Workers'
  return typeof importScripts === 'function' && !isServer
}
