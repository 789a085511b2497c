import { onAbort, sleep } from './abort.js'
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
}

/**
 * Follows a stream of server-sent events. When the connection breaks, it is opened again after the last event, with
 * growing pauses while that fails.
 */
export async function* follow<T>(open: Open, signal?: AbortSignal): AsyncGenerator<T, void, undefined> {
  let last: string | undefined
  let failures = 0
  for (;;) {
    const controller = new AbortController()
    const release = onAbort(signal, () => controller.abort(signal?.reason))
    try {
      const resume: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': last }
      const response = await open(resume, controller.signal)
      for await (const event of events(response, controller)) {
        failures = 0
        if (event.id) last = event.id
        if (event.data) yield JSON.parse(event.data) as T
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (!(error instanceof TouchlineError) || !error.retryable) throw error
      await sleep(Math.min(Math.max(error.retryAfter ?? 0, backoff(failures)), MAX_PAUSE) * 1000, signal)
      failures += 1
      continue
    } finally {
      release()
      controller.abort()
    }
    // The service ended the stream, for example because it restarts.
    await sleep(backoff(failures) * 1000, signal)
    failures += 1
  }
}

/** The events of a response. Fails with a `ConnectionError` if it breaks or stays silent. */
async function* events(response: Response, controller: AbortController): AsyncGenerator<StreamEvent, void, undefined> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (!reader) throw new ConnectionError('The response has no body.')
  const silence = new ConnectionError(`The stream sent nothing for ${IDLE_TIMEOUT / 1000} seconds.`)
  let rest = ''
  try {
    for (;;) {
      const timer = setTimeout(() => controller.abort(silence), IDLE_TIMEOUT)
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw controller.signal.aborted ? controller.signal.reason : new ConnectionError('The stream broke.', { cause: error })
      }).finally(() => clearTimeout(timer))
      if (done) return
      rest = (rest + value).replaceAll('\r\n', '\n')
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) yield parseEvent(block)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** The fields of an event. Comments and other fields are ignored. */
function parseEvent(block: string): StreamEvent {
  const values = (name: string) => {
    const lines = block.split('\n').filter((line) => line.startsWith(`${name}:`))
    return lines.map((line) => line.slice(name.length + 1).replace(/^ /, ''))
  }
  return { id: values('id').at(-1) ?? '', data: values('data').join('\n') }
}
