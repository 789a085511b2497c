import { abortError, onAbort, throwIfAborted } from './abort.js'
import { ConnectionError, TimeoutError, TouchlineError } from './errors.js'

/** The longest time of a timer, in milliseconds. Longer ones would end at once. */
const MAX_TIMER = 2 ** 31 - 1

/** A function like the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Fails if an option is not a number that makes sense. */
export function checkLimits({ timeout = 1, maxRetries = 0 }: { timeout?: number | undefined; maxRetries?: number | undefined }): void {
  if (!(timeout > 0)) throw new TypeError(`\`timeout\` must be a number of milliseconds above 0, not ${timeout}.`)
  if (!(maxRetries >= 0)) throw new TypeError(`\`maxRetries\` must be a number, 0 or more, not ${maxRetries}.`)
}

/** One HTTP request. */
export interface HttpRequest {
  method: string
  /** The URL without its query, for error messages. */
  address: string
  url: string
  headers?: Headers
  body?: NonNullable<RequestInit['body']> | undefined
  signal?: AbortSignal | undefined
  /** How many milliseconds it may take; `Infinity` for no limit. */
  timeout: number
  fetch?: Fetch | undefined
  /** Whether the caller reads the body of a successful response. The time limit ends before the body. */
  isOpen?: boolean
}

/**
 * Sends a request, and reads its response. Fails with an `AbortError`, a `TimeoutError`, a `ConnectionError`, or what
 * `read` throws.
 */
export async function send<T>(request: HttpRequest, read: (response: Response) => T | Promise<T>): Promise<T> {
  const { method, url, headers, body, signal, timeout } = request
  const name = `${method} ${request.address}`
  throwIfAborted(signal)
  const controller = new AbortController()
  const release = onAbort(signal, () => controller.abort(abortError(signal)))
  const expire = () => controller.abort(new TimeoutError(`${name} took longer than ${timeout} ms.`))
  const timer = timeout > MAX_TIMER ? undefined : setTimeout(expire, timeout)
  const explain = (error: unknown) => {
    if (controller.signal.aborted) return controller.signal.reason
    if (error instanceof TouchlineError) return error
    return new ConnectionError(`${name} failed: ${describe(error)}`, { cause: error })
  }
  let isOpen = false
  try {
    const init: RequestInit = { method, redirect: 'manual', signal: controller.signal }
    if (headers) init.headers = headers
    if (body) init.body = body
    const response = await (request.fetch ?? fetch)(url, init)
    checkRedirect(name, response)
    isOpen = response.ok && request.isOpen === true
    return await read(isOpen ? openResponse(response, explain, release) : response)
  } catch (error) {
    throw explain(error)
  } finally {
    clearTimeout(timer)
    if (!isOpen) release()
  }
}

/** Redirects are not followed: a POST would become a GET, and the credentials would be left out. */
function checkRedirect(name: string, { type, status, headers }: Response): void {
  if (type !== 'opaqueredirect' && ![301, 302, 303, 307, 308].includes(status)) return
  // A page may not read the target.
  const target = headers.get('Location') ?? 'another address'
  throw new TouchlineError(`${name} was redirected to ${target}. Set \`baseUrl\` to the address of the service itself.`)
}

/** The methods of a response that read its whole body. */
const READERS = ['text', 'json', 'arrayBuffer', 'blob', 'bytes', 'formData'] as const

/**
 * A response that the caller reads. Errors of the body are what `explain` returns. `release` is called when the body has
 * ended, failed or been cancelled.
 */
function openResponse(response: Response, explain: (error: unknown) => unknown, release: () => void): Response {
  // The `fetch` of another library may have another kind of body.
  if (typeof response.body?.getReader !== 'function') {
    release()
    return response
  }
  const reader = response.body.getReader()
  let failure: unknown
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          release()
          controller.close()
        } catch (error) {
          release()
          failure = explain(error)
          controller.error(failure)
        }
      },
      cancel(reason) {
        release()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  const opened = new Response(body, response)
  Object.defineProperty(opened, 'url', { value: response.url })
  // Chromium hides the error of a stream from these methods.
  for (const name of READERS) {
    const read = opened[name] as (() => Promise<unknown>) | undefined
    const value = () => read?.call(opened).catch((error: unknown) => Promise.reject(failure ?? error))
    if (read) Object.defineProperty(opened, name, { value })
  }
  return opened
}

/** The reason of an error. Node.js says only "fetch failed", and has the reason as its cause. */
function describe(error: unknown): string {
  let reason = error
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause
  if (!(reason instanceof Error)) return String(reason)
  // The error of a host with several addresses has only a code.
  return reason.message || (reason as { code?: string }).code || reason.name
}

/** An object in JSON; `null` if the text is something else. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null
  } catch {
    return null
  }
}

/** The error of a successful response that does not come from the service. */
export function notOurs(address: string): ConnectionError {
  return new ConnectionError(`The response is not one of the API. Is ${address} an address of Touchline?`)
}
