import { abortable, abortError, onAbort, sleep } from './abort.js'
import { ConnectionError, TouchlineError } from './errors.js'
import { backoff, MAX_PAUSE } from './retry.js'

/** The service sends something at least every 15 seconds. Without anything for so long, the connection is dead. */
const IDLE_TIMEOUT = 45_000

/** Opens the stream, with these headers. */
type Open = (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>

/** One event of a stream. */
interface StreamEvent {
  id: string
  data: string
  /** How many milliseconds to wait before connecting again, if the event says so. */
  retry: number | null
}

/**
 * Follows a stream of server-sent events. The first connection is tried as often as any request. When it breaks later, it
 * is opened again after the last event, with growing pauses while that fails. `return()` ends the stream at once.
 */
export function follow<T>(open: Open, maxRetries: number, signal?: AbortSignal): AsyncGenerator<T, void, undefined> {
  const stop = new AbortController()
  const stream = untilStopped<T>(open, maxRetries, stop, signal)
  const end = stream.return.bind(stream)
  stream.return = (value) => {
    // A generator settles `return` after the `next` before it, so this ends the wait for the next event.
    stop.abort()
    return end(value)
  }
  return stream
}

/** The events until `stop` is aborted. Fails if `signal` is. */
async function* untilStopped<T>(
  open: Open,
  maxRetries: number,
  stop: AbortController,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const release = onAbort(signal, () => stop.abort(signal?.reason))
  try {
    yield* connections<T>(open, maxRetries, stop.signal)
  } catch (error) {
    if (signal?.aborted || !stop.signal.aborted) throw error
  } finally {
    release()
  }
}

/** The events of one connection after the other. */
async function* connections<T>(open: Open, maxRetries: number, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  let last: string | undefined
  let failures = 0
  let minimum = 0
  let wasOpen = false
  for (;;) {
    const controller = new AbortController()
    const release = onAbort(signal, () => controller.abort(signal.reason))
    let wanted = 0
    try {
      const resume: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': last }
      const response = await open(resume, controller.signal)
      for await (const event of events(response, controller)) {
        failures = 0
        wasOpen = true
        minimum = event.retry ?? minimum
        if (event.id) last = event.id
        if (event.data) yield parse<T>(event.data)
      }
      // The service ended the stream, for example because it restarts.
    } catch (error) {
      if (signal.aborted) throw abortError(signal)
      const isTemporary = error instanceof TouchlineError && error.retryable
      if (!isTemporary || !(wasOpen || failures < maxRetries)) throw error
      wanted = error.retryAfter ?? 0
    } finally {
      release()
      controller.abort()
    }
    const pause = Math.max(wanted * 1000, minimum * (1 + Math.random() / 4), backoff(failures) * 1000)
    await sleep(Math.min(pause, MAX_PAUSE * 1000), signal)
    failures += 1
  }
}

/** The events of a response. Fails with a `ConnectionError` if it breaks or stays silent. */
async function* events(response: Response, controller: AbortController): AsyncGenerator<StreamEvent, void, undefined> {
  const type = response.headers.get('Content-Type') ?? ''
  if (!response.body || !type.startsWith('text/event-stream')) {
    throw new ConnectionError(`The response is not a stream of events. Is ${response.url} an address of Touchline?`)
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const silence = () => controller.abort(new ConnectionError(`The stream sent nothing for ${IDLE_TIMEOUT / 1000} seconds.`))
  let rest = ''
  try {
    for (;;) {
      const timer = setTimeout(silence, IDLE_TIMEOUT)
      const { done, value } = await abortable(reader.read(), controller.signal).finally(() => clearTimeout(timer))
      // An event without its end is incomplete.
      if (done) return
      rest += value
      // Lines end with LF, CRLF or CR. The LF after a CR may still be on its way.
      const end = rest.endsWith('\r') ? rest.length - 1 : rest.length
      const blocks = rest.slice(0, end).replaceAll(/\r\n?/g, '\n').split('\n\n')
      rest = blocks.pop() + rest.slice(end)
      for (const block of blocks) yield parseEvent(block)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** The fields of an event. Comments and other fields are ignored. */
function parseEvent(block: string): StreamEvent {
  const event: StreamEvent = { id: '', data: '', retry: null }
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^([^:]+)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'id' && !value.includes('\0')) event.id = value
    if (name === 'data') data.push(value)
    if (name === 'retry' && /^\d+$/.test(value)) event.retry = Number(value)
  }
  return { ...event, data: data.join('\n') }
}

function parse<T>(data: string): T {
  try {
    return JSON.parse(data) as T
  } catch (error) {
    throw new TouchlineError('The stream has an event that is not JSON.', { cause: error })
  }
}
