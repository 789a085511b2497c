export { Touchline } from './client.js'
export {
  AbortError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  GoneError,
  IdempotencyError,
  isApiError,
  NotFoundError,
  NotModifiedError,
  PayloadTooLargeError,
  PermissionError,
  PreconditionFailedError,
  RateLimitError,
  ServerError,
  TimeoutError,
  TouchlineError,
  UnsupportedMediaTypeError,
  ValidationError,
  type KnownApiError,
  type KnownErrorCode,
} from './errors.js'
export type { Fetch } from './http.js'
export type * from './generated/types.gen.js'
export type * from './generated/resources.js'
export { List, Page, type PageBody } from './list.js'
export { ApiPromise, type ApiResponse, type RateLimit } from './response.js'
export type { Auth, ClientOptions, RequestOptions } from './transport.js'
export { VERSION } from './version.js'
