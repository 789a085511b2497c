/** The quota of the account after a request. */
export interface RateLimit {
  /** Requests per minute. */
  limit: number
  /** Requests that are left now. */
  remaining: number
  /** When the whole quota is available again. */
  reset: Date
}

/** A response with what is beside its data. */
export interface ApiResponse<T> {
  /** The data, as the call itself returns it. */
  data: T
  status: number
  headers: Headers
  /** ID of the request. Include it when you report a problem. */
  requestId: string
  /** `null` if the response has no rate limit headers. */
  rateLimit: RateLimit | null
}

/**
 * The promise of a call's data. `await` it for the data alone, or call {@link ApiPromise.withResponse} for the status,
 * headers, request id and rate limit too.
 */
export class ApiPromise<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'ApiPromise'
  readonly #response: Promise<ApiResponse<T>>

  constructor(response: Promise<ApiResponse<T>>) {
    this.#response = response
  }

  /** The data together with the status, headers, request id and rate limit. */
  withResponse(): Promise<ApiResponse<T>> {
    return this.#response
  }

  then<Result = T, Failure = never>(
    onfulfilled?: ((data: T) => Result | PromiseLike<Result>) | null,
    onrejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#response.then(({ data }) => data).then(onfulfilled, onrejected)
  }

  catch<Failure = never>(
    onrejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<T | Failure> {
    return this.then(undefined, onrejected)
  }

  finally(onfinally?: (() => void) | null): Promise<T> {
    return this.then().finally(onfinally)
  }
}

/** A response whose data is this. */
export function apiResponse<T>(data: T, { status, headers }: Response): ApiResponse<T> {
  return { data, status, headers, requestId: headers.get('Request-Id') ?? '', rateLimit: rateLimit(headers) }
}

function rateLimit(headers: Headers): RateLimit | null {
  const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) => {
    const value = headers.get(`X-RateLimit-${name}`)
    return value === null ? NaN : Number(value)
  }) as [number, number, number]
  if (Number.isNaN(limit + remaining + reset)) return null
  return { limit, remaining, reset: new Date(reset * 1000) }
}
