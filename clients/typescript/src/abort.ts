import { AbortError, TouchlineError } from './errors.js'

/** What happens when a signal is aborted. */
interface Listener {
  actions: Set<() => void>
  run: () => void
}

/** One listener for each signal, however many requests use it: Node.js warns about more than ten. */
const listeners = new WeakMap<AbortSignal, Listener>()

/** Calls `action` when the signal is aborted, or now if it is already. Returns a function that prevents the call. */
export function onAbort(signal: AbortSignal | undefined, action: () => void): () => void {
  if (!signal) return () => {}
  if (signal.aborted) {
    action()
    return () => {}
  }
  const { actions, run } = listeners.get(signal) ?? listen(signal)
  actions.add(action)
  return () => {
    actions.delete(action)
    if (actions.size > 0 || listeners.get(signal)?.actions !== actions) return
    signal.removeEventListener('abort', run)
    listeners.delete(signal)
  }
}

function listen(signal: AbortSignal): Listener {
  const actions = new Set<() => void>()
  const run = () => actions.forEach((action) => action())
  signal.addEventListener('abort', run, { once: true })
  const listener = { actions, run }
  listeners.set(signal, listener)
  return listener
}

/** The error of a call whose signal is aborted: an `AbortError`, unless the client itself aborts it with another error. */
export function abortError(signal: AbortSignal | undefined): TouchlineError {
  const reason: unknown = signal?.reason
  return reason instanceof TouchlineError ? reason : new AbortError('The `signal` of the call was aborted.', { cause: reason })
}

/** Fails if the signal is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal)
}

/** The result of `work`. If the signal is aborted first, fails at once with an `AbortError`; the work continues. */
export function abortable<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  return new Promise((done, failed) => {
    const stop = onAbort(signal, () => failed(abortError(signal)))
    work.then(done, failed).finally(stop)
  })
}

/** Waits. If the signal is aborted first, fails at once with an `AbortError`. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, failed) => {
    const timer = setTimeout(() => {
      stop()
      done()
    }, milliseconds)
    const stop = onAbort(signal, () => {
      clearTimeout(timer)
      failed(abortError(signal))
    })
  })
}
