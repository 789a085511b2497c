import { TouchlineError } from './errors.js'

/** The longest pause between two attempts, in seconds. */
export const MAX_PAUSE = 60

/** Seconds to wait before the next attempt; `null` if the request must not be repeated. */
export function pauseBefore(error: unknown, attempt: number): number | null {
  if (!(error instanceof TouchlineError) || !error.retryable) return null
  const wanted = error.retryAfter
  if (wanted !== null && wanted > MAX_PAUSE) return null
  // `Retry-After: 0` must not lead to a flood of requests.
  return wanted === null ? backoff(attempt) : Math.max(wanted, backoff(attempt) / 4)
}

/** Seconds to wait after this many failures: 0.5, 1, 2, 4 and at most 8, of which up to a half is random. */
export function backoff(failures: number): number {
  return Math.min(0.5 * 2 ** failures, 8) * (0.5 + Math.random() / 2)
}
