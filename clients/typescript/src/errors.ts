import type { DuplicateCandidate, ErrorCode, FieldError, Problem } from './generated/types.gen.js'

/** The base class of the errors of this package. Only wrong arguments and options are a `TypeError` instead. */
export class TouchlineError extends Error {
  /** Whether the same request may succeed later. */
  readonly retryable: boolean = false
  /** Seconds to wait before the next request; `null` if the response does not say. */
  readonly retryAfter: number | null = null
}

/** The connection failed, or the response does not come from Touchline. */
export class ConnectionError extends TouchlineError {
  override readonly retryable: boolean = true
}

/** An attempt took longer than the option `timeout`. When your own `signal` ends a call, that is an {@link AbortError}. */
export class TimeoutError extends ConnectionError {}

/** Your `signal` ended the call, for example one of `AbortSignal.timeout()`. `cause` is the signal's `reason`. */
export class AbortError extends TouchlineError {}

/** You have the current version of the object: it still has the `version` in `ifNoneMatch`. */
export class NotModifiedError extends TouchlineError {
  /** The `ETag` of the object, such as `"3"`. */
  readonly etag: string

  constructor(headers: Headers) {
    super('304: You have the current version of the object.')
    this.etag = headers.get('ETag') ?? ''
  }
}

/** The known error codes. The API may get new ones. */
export type KnownErrorCode = Extract<ErrorCode, keyof typeof CLASSES>

/** The API rejected a request. `code` says why. */
export class ApiError<Code extends string = string> extends TouchlineError {
  /** The stable code of the error. */
  readonly code: Code
  /** The HTTP status. */
  readonly status: number
  /** A short description of the code, the same for every occurrence. */
  readonly title: string
  /** A description of this occurrence. */
  readonly detail: string
  /** The problems with single fields (`pointer`) and query parameters (`parameter`). */
  readonly errors: FieldError[]
  /** ID of the request. Include it when you report a problem. */
  readonly requestId: string
  override readonly retryable: boolean
  override readonly retryAfter: number | null
  /** Existing people who may be the person you are adding. */
  readonly candidates: DuplicateCandidate[]
  readonly headers: Headers

  constructor(problem: Problem, headers: Headers) {
    const detail = problem.detail || problem.title
    super(`${problem.status} ${problem.code}: ${detail}${problem.request_id ? ` (${problem.request_id})` : ''}`)
    this.code = problem.code as Code
    this.status = problem.status
    this.title = problem.title
    this.detail = detail
    this.errors = problem.errors ?? []
    this.requestId = problem.request_id
    this.retryable = problem.retryable
    this.retryAfter = retryAfter(headers)
    this.candidates = problem.candidates ?? []
    this.headers = headers
  }
}

/** The request is malformed, or a parameter or field is unknown or invalid. */
export class BadRequestError extends ApiError<
  'invalid_json' | 'invalid_parameter' | 'invalid_cursor' | 'invalid_request' | 'method_not_allowed'
> {}
/** The credentials are missing or not valid. */
export class AuthenticationError extends ApiError<'missing_credentials' | 'invalid_credentials'> {}
/** The credentials lack a scope, or the user may not do this. */
export class PermissionError extends ApiError<'insufficient_scope' | 'forbidden'> {}
/** The object does not exist, or the credentials have no access to it. */
export class NotFoundError extends ApiError<'not_found'> {}
/** The change conflicts with the state of the object or with another object. */
export class ConflictError extends ApiError<'conflict' | 'taken' | 'invalid_state'> {}
/** What was requested has been deleted. */
export class GoneError extends ApiError<'gone'> {}
/** The object has changed since the version in `ifMatch`. */
export class PreconditionFailedError extends ApiError<'precondition_failed'> {}
/** The body is too large. */
export class PayloadTooLargeError extends ApiError<'payload_too_large'> {}
/** The content type of the body is not supported. */
export class UnsupportedMediaTypeError extends ApiError<'unsupported_media_type'> {}
/** Some fields are not valid: see `errors`. */
export class ValidationError extends ApiError<'validation_failed'> {}
/** The idempotency key was used for another request, or by a request that is still in progress. */
export class IdempotencyError extends ApiError<'idempotency_key_reused' | 'idempotency_key_in_use'> {}
/** Too many requests: wait for `retryAfter` seconds. */
export class RateLimitError extends ApiError<'rate_limited' | 'too_many_concurrent'> {}
/** The service failed, is overloaded or not available, or the body did not arrive in time. */
export class ServerError extends ApiError<'request_timeout' | 'internal_error' | 'overloaded'> {}

const ALL = {
  TouchlineError,
  ConnectionError,
  TimeoutError,
  AbortError,
  NotModifiedError,
  ApiError,
  BadRequestError,
  AuthenticationError,
  PermissionError,
  NotFoundError,
  ConflictError,
  GoneError,
  PreconditionFailedError,
  PayloadTooLargeError,
  UnsupportedMediaTypeError,
  ValidationError,
  IdempotencyError,
  RateLimitError,
  ServerError,
}
// Minifiers rename classes, but not these keys.
for (const [name, Class] of Object.entries(ALL)) Class.prototype.name = name

const CLASSES = {
  invalid_json: BadRequestError,
  invalid_parameter: BadRequestError,
  invalid_cursor: BadRequestError,
  invalid_request: BadRequestError,
  method_not_allowed: BadRequestError,
  missing_credentials: AuthenticationError,
  invalid_credentials: AuthenticationError,
  insufficient_scope: PermissionError,
  forbidden: PermissionError,
  not_found: NotFoundError,
  conflict: ConflictError,
  taken: ConflictError,
  invalid_state: ConflictError,
  gone: GoneError,
  precondition_failed: PreconditionFailedError,
  payload_too_large: PayloadTooLargeError,
  unsupported_media_type: UnsupportedMediaTypeError,
  validation_failed: ValidationError,
  idempotency_key_reused: IdempotencyError,
  idempotency_key_in_use: IdempotencyError,
  rate_limited: RateLimitError,
  too_many_concurrent: RateLimitError,
  request_timeout: ServerError,
  internal_error: ServerError,
  overloaded: ServerError,
} satisfies Record<Known<ErrorCode>, unknown>

/** The known values of an open enum. */
type Known<Enum> = Enum extends string ? (string extends Enum ? never : Enum) : never

/**
 * The errors of all known codes. After {@link isApiError}, a `switch` over `code` narrows the type:
 *
 * ```ts
 * if (isApiError(error) && error.code === 'validation_failed') console.log(error.errors[0]?.pointer)
 * ```
 */
export type KnownApiError = InstanceType<(typeof CLASSES)[keyof typeof CLASSES]>

/** Whether this is an error of the API with a code that this version of the package knows. */
export function isApiError(error: unknown): error is KnownApiError {
  return error instanceof ApiError && Object.hasOwn(CLASSES, error.code)
}

/** The error of a response with an error status. */
export async function apiError(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '')
  const problem = parseProblem(text, response)
  const Class: new (problem: Problem, headers: Headers) => ApiError =
    Object.hasOwn(CLASSES, problem.code) ? CLASSES[problem.code as keyof typeof CLASSES] : ApiError
  return new Class(problem, response.headers)
}

function parseProblem(text: string, { status, statusText, headers }: Response): Problem {
  try {
    const problem = JSON.parse(text) as Problem
    if (typeof problem?.code === 'string' && typeof problem.status === 'number' && typeof problem.retryable === 'boolean') return problem
  } catch {
    // A proxy in between may respond with something else than JSON.
  }
  const title = statusText || `HTTP status ${status}`
  const code = OTHER_CODES[status] ?? (status >= 500 ? 'internal_error' : 'unknown')
  const retryable = isRetryable(status)
  const request_id = headers.get('Request-Id') ?? ''
  return { type: 'about:blank', title, status, detail: text.slice(0, 200), code, request_id, retryable, errors: [] }
}

/** The codes of responses that come from a proxy. A proxy's 404 does not mean that an object does not exist. */
const OTHER_CODES: Record<number, keyof typeof CLASSES> = {
  408: 'request_timeout',
  413: 'payload_too_large',
  429: 'rate_limited',
  502: 'overloaded',
  503: 'overloaded',
  504: 'overloaded',
}

/** Whether a request may succeed later, going by the status alone. */
export function isRetryable(status: number): boolean {
  return [408, 429, 500, 502, 503, 504].includes(status)
}

/** The seconds in `Retry-After`. */
export function retryAfter(headers: Headers): number | null {
  const text = headers.get('Retry-After')
  if (text === null) return null
  const seconds = Number(text)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const until = Date.parse(text)
  return Number.isNaN(until) ? null : Math.max(0, (until - Date.now()) / 1000)
}
