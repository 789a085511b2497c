import { ApiPromise, type ApiResponse } from './response.js'

/** The body of a list's page, as the API sends it. */
export interface PageBody<T> {
  data: T[]
  has_more: boolean
  next_cursor: string | null
}

/** One page of a list. */
export class Page<T, Body extends PageBody<T> = PageBody<T>> {
  /** The objects of this page. */
  readonly data: T[]
  /** Whether there are more pages. */
  readonly hasMore: boolean
  /** The `cursor` of the next page; `null` on the last one. */
  readonly nextCursor: string | null

  constructor(
    /** The whole body. The log of notifications has more fields than other lists. */
    readonly body: Body,
    private readonly fetchPage: (cursor: string) => ApiPromise<Page<T, Body>>,
  ) {
    this.data = body.data
    this.hasMore = body.has_more
    this.nextCursor = body.next_cursor ?? null
  }

  /** The next page; `null` on the last one. */
  async next(): Promise<Page<T, Body> | null> {
    return this.nextCursor === null ? null : this.fetchPage(this.nextCursor)
  }
}

/**
 * A list. Iterate over it to get the objects of all pages; each page is requested when it is needed:
 *
 * ```ts
 * for await (const team of touchline.teams.list()) console.log(team.name)
 * ```
 */
export class List<T, Body extends PageBody<T> = PageBody<T>> implements AsyncIterable<T> {
  readonly #fetch: (cursor?: string) => Promise<ApiResponse<Body>>

  constructor(fetch: (cursor?: string) => Promise<ApiResponse<Body>>) {
    this.#fetch = fetch
  }

  /** One page: the first one, or the one that begins at the `cursor` of the call. */
  page(): ApiPromise<Page<T, Body>> {
    return this.#page()
  }

  /** All pages, one after the other. */
  async *pages(): AsyncGenerator<Page<T, Body>, void, undefined> {
    for (let page: Page<T, Body> | null = await this.page(); page; page = await page.next()) yield page
  }

  /** All objects in an array, or the first `max` of them. */
  async all({ max = Infinity }: { max?: number } = {}): Promise<T[]> {
    const all: T[] = []
    if (max <= 0) return all
    for await (const object of this) {
      all.push(object)
      if (all.length >= max) break
    }
    return all
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }

  #page(cursor?: string): ApiPromise<Page<T, Body>> {
    const page = (body: Body) => new Page<T, Body>(body, (next) => this.#page(next))
    return new ApiPromise(this.#fetch(cursor).then((response) => ({ ...response, data: page(response.data) })))
  }
}
