/**
 * Access for apps that act for a user: OAuth 2.0 with PKCE.
 *
 * @module
 */

import { sleep } from './abort.js'
import { isRetryable, retryAfter, TouchlineError } from './errors.js'
import { checkLimits, notOurs, parseObject, send, type Fetch } from './http.js'
import { pauseBefore } from './retry.js'
import { apiBase, type Auth } from './transport.js'

/** What identifies an app. An admin of the club registers it under *OAuth apps*. */
export interface OAuthAppOptions {
  /** Address of the service. Default: the environment variable `TOUCHLINE_URL`, or `http://localhost:8080`. */
  baseUrl?: string | undefined
  clientId: string
  /** The secret of an app that runs on a server. Apps in browsers and on phones have none. */
  clientSecret?: string | undefined
  /** One of the app's redirect URIs. */
  redirectUri: string
  /** How many milliseconds an attempt may take. Default: 30,000. */
  timeout?: number | undefined
  /** How often a failed request for tokens is repeated. Default: 3. */
  maxRetries?: number | undefined
  /** A function to use instead of the global `fetch`. */
  fetch?: Fetch | undefined
}

/** What the user is asked for. */
export interface AuthorizationOptions {
  /** The scopes, as a list or separated by spaces. Default: `teams:read`. */
  scope?: string | string[] | undefined
  /** Whether the user is asked again, or not at all. */
  prompt?: 'none' | 'login' | 'consent' | undefined
  /** A value that comes back with the user. Default: a random one. */
  state?: string | undefined
}

/** A URL to which the app sends the user, and what it needs when the user comes back. */
export interface AuthorizationRequest {
  url: string
  /** Keep both until the user comes back, for example in the user's session. */
  state: string
  codeVerifier: string
}

/** The tokens of a user. */
export interface Tokens {
  accessToken: string
  refreshToken: string | null
  /** When the access token expires, in milliseconds since 1970. */
  expiresAt: number
  /** What the user has allowed. */
  scope: string[]
}

/**
 * Where the tokens of a user are kept, such as a row of your database. A token works only until it is refreshed, so
 * `save` must not lose any.
 */
export interface TokenStore {
  load(): Promise<Tokens | null>
  /** Called with `null` when the user has to be asked again. */
  save(tokens: Tokens | null): Promise<void>
  /**
   * Runs `work` while no other process or tab does the same. Without it, processes that refresh at the same time get the
   * same new tokens for 60 seconds.
   */
  lock?<T>(work: () => Promise<T>): Promise<T>
}

/** Keeps tokens in memory. */
export class MemoryTokenStore implements TokenStore {
  constructor(private tokens: Tokens | null = null) {}

  async load(): Promise<Tokens | null> {
    return this.tokens
  }

  async save(tokens: Tokens | null): Promise<void> {
    this.tokens = tokens
  }
}

/** The authorization server rejected a request. `code` is an error code of RFC 6749, such as `invalid_grant`. */
export class OAuthError extends TouchlineError {
  override readonly retryable: boolean
  override readonly retryAfter: number | null

  constructor(
    readonly code: string,
    description: string,
    /** The HTTP status; `null` if the error came with the user's browser. */
    readonly status: number | null = null,
    headers?: Headers,
  ) {
    super(description ? `${code}: ${description}` : code)
    this.retryable = status !== null && isRetryable(status)
    this.retryAfter = headers ? retryAfter(headers) : null
  }
}

OAuthError.prototype.name = 'OAuthError'

/** An app, and how it asks users for access. */
export class OAuthApp {
  readonly #base: string
  readonly #options: OAuthAppOptions

  constructor(options: OAuthAppOptions) {
    const { clientId, redirectUri } = options
    if (typeof clientId !== 'string' || clientId === '') throw new TypeError('Give the `clientId` of the app, which begins with `app_`.')
    if (!/^[a-z][a-z0-9+.-]*:/i.test(redirectUri)) {
      throw new TypeError(`\`redirectUri\` must be one of the app's redirect URIs, not ${JSON.stringify(redirectUri)}.`)
    }
    checkLimits(options)
    this.#base = apiBase(options.baseUrl)
    this.#options = options
  }

  /** Creates the URL to which the app sends the user's browser. */
  async authorizationUrl(options: AuthorizationOptions = {}): Promise<AuthorizationRequest> {
    const { scope = ['teams:read'], prompt, state = randomText() } = options
    const codeVerifier = randomText()
    const url = new URL(`${this.#base}/oauth/authorize`)
    const parameters = {
      response_type: 'code',
      client_id: this.#options.clientId,
      redirect_uri: this.#options.redirectUri,
      scope: [scope].flat().join(' '),
      state,
      code_challenge: await codeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      ...(prompt && { prompt }),
    }
    url.search = new URLSearchParams(parameters).toString()
    return { url: url.href, state, codeVerifier }
  }

  /**
   * Exchanges the URL with which the user came back for tokens. Checks `state` and the issuer. A code works once, so the
   * request is repeated only if the service was too busy for it (429 or `temporarily_unavailable`). After another failure, ask the user again.
   */
  async exchange(callbackUrl: string | URL, expected: { state: string; codeVerifier: string }): Promise<Tokens> {
    const callback = new URL(callbackUrl, this.#options.redirectUri).searchParams
    if (!expected.state || callback.get('state') !== expected.state) {
      throw new OAuthError('invalid_state', 'The `state` is not the one of this user. Ask the user again.')
    }
    const issuer = callback.get('iss')
    if (issuer?.replace(/\/+$/, '') !== this.#base) {
      throw new OAuthError('invalid_issuer', wrongIssuer(issuer, this.#base))
    }
    const error = callback.get('error')
    if (error !== null) throw new OAuthError(error, callback.get('error_description') ?? '')
    const code = callback.get('code')
    if (code === null) throw new OAuthError('invalid_request', 'The URL has no `code`.')
    const grant = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.#options.redirectUri,
      code_verifier: expected.codeVerifier,
    }
    return this.#tokens(grant, isRefused)
  }

  /**
   * Gets new tokens. The refresh token changes each time. {@link OAuthApp.session} does this when it is needed. The
   * request is repeated like any other: the service sends the same tokens again if the response was lost.
   */
  async refresh(refreshToken: string): Promise<Tokens> {
    const tokens = await this.#tokens({ grant_type: 'refresh_token', refresh_token: refreshToken })
    return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
  }

  /** Revokes a token. Revoking the refresh token ends the app's access to the user's data. */
  async revoke(token: string): Promise<void> {
    await this.#post('/oauth/revoke', { token })
  }

  /** The `auth` of a client: takes tokens from the store, and refreshes them in time. */
  session(store: TokenStore): OAuthSession {
    return new OAuthSession(this, store)
  }

  async #tokens(grant: Record<string, string>, mayRepeat?: (error: unknown) => boolean): Promise<Tokens> {
    const sent = Date.now()
    const body = (await this.#post('/oauth/token', grant, mayRepeat)) as {
      access_token: string
      refresh_token?: string
      expires_in: number
      scope?: string
    }
    if (typeof body.access_token !== 'string') throw new OAuthError('server_error', 'The response has no token.')
    return {
      accessToken: body.access_token,
      refreshToken: body.refresh_token ?? null,
      expiresAt: sent + body.expires_in * 1000,
      scope: body.scope?.split(' ') ?? [],
    }
  }

  /** Sends a request until it succeeds or must not be repeated. */
  async #post(path: string, parameters: Record<string, string>, mayRepeat = (_: unknown) => true): Promise<unknown> {
    const { clientId, clientSecret, maxRetries = 3 } = this.#options
    const client = { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) }
    const body = new URLSearchParams({ ...parameters, ...client })
    const end = Date.now() + MAX_REPEAT_TIME
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#attempt(this.#base + path, body)
      } catch (error) {
        const pause = mayRepeat(error) ? pauseBefore(error, attempt) : null
        if (pause === null || !(attempt < maxRetries) || Date.now() + pause * 1000 > end) throw error
        await sleep(pause * 1000)
      }
    }
  }

  #attempt(url: string, body: URLSearchParams): Promise<unknown> {
    const { timeout = TIMEOUT, fetch } = this.#options
    return send({ method: 'POST', url, address: url, body, timeout, fetch }, async (response) => {
      const text = await response.text()
      const answer = parseObject(text)
      if (response.ok && answer) return answer
      if (response.ok) throw notOurs(url)
      // A problem document says that the service was too slow, and that the request may still take effect.
      const code = (answer ? undefined : STATUS_CODES[response.status]) ?? 'server_error'
      const { error = code, error_description, detail } = answer ?? {}
      const description = error_description ?? detail ?? `HTTP status ${response.status}`
      throw new OAuthError(String(error), String(description), response.status, response.headers)
    })
  }
}

/** What is wrong with the issuer: either an attacker has sent the user, or the options are wrong. */
function wrongIssuer(issuer: string | null, base: string): string {
  if (issuer === null) return 'The URL has no `iss`, so it does not come from the service. Ask the user again.'
  return `The \`iss\` of the URL is ${issuer}, but the option \`baseUrl\` is ${base}. They must be the service's setting \`base_url\`.`
}

/** The codes of responses that come from a proxy. */
const STATUS_CODES: Record<number, string> = { 429: 'slow_down', 503: 'temporarily_unavailable' }

/** Whether the service was too busy for a request, and so did nothing. */
function isRefused(error: unknown): boolean {
  return error instanceof OAuthError && (error.status === 429 || error.code === 'temporarily_unavailable')
}

/** How long before its end an access token is refreshed, in milliseconds. */
const REFRESH_MARGIN = 30_000
/** How long a request for tokens may take, in milliseconds. */
const TIMEOUT = 30_000
/**
 * How long after the first attempt a request for tokens is repeated, in milliseconds. It is shorter than the 60 seconds after
 * which a code expires, and in which the service accepts a used refresh token again.
 */
const MAX_REPEAT_TIME = 40_000

/** The access to one user's data. However many requests need a new token at once, it is refreshed once. */
export class OAuthSession implements Auth {
  #refreshing: Promise<Tokens> | null = null

  constructor(
    private readonly app: OAuthApp,
    private readonly store: TokenStore,
  ) {}

  async token(): Promise<string> {
    const tokens = await this.store.load()
    if (!tokens) throw new OAuthError('login_required', 'There are no tokens of this user. Ask the user for access.')
    if (tokens.expiresAt - REFRESH_MARGIN > Date.now() || tokens.refreshToken === null) return tokens.accessToken
    return (await this.#refresh(tokens.accessToken)).accessToken
  }

  async renew(rejected: string): Promise<string | null> {
    const tokens = await this.store.load()
    if (!tokens?.refreshToken) return null
    return (await this.#refresh(rejected)).accessToken
  }

  /** Ends the access, and forgets the tokens. */
  async revoke(): Promise<void> {
    // A refresh that is under way would save its tokens afterwards.
    await this.#refreshing?.catch(() => {})
    const lock = this.store.lock?.bind(this.store) ?? withoutLock
    await lock(async () => {
      const tokens = await this.store.load()
      if (tokens) await this.app.revoke(tokens.refreshToken ?? tokens.accessToken)
      await this.store.save(null)
    })
  }

  #refresh(old: string): Promise<Tokens> {
    const lock = this.store.lock?.bind(this.store) ?? withoutLock
    this.#refreshing ??= lock(() => this.#refreshNow(old)).finally(() => (this.#refreshing = null))
    return this.#refreshing
  }

  async #refreshNow(old: string): Promise<Tokens> {
    const tokens = await this.store.load()
    // Another process or tab was faster.
    if (tokens && tokens.accessToken !== old) return tokens
    if (!tokens?.refreshToken) throw new OAuthError('login_required', 'Ask the user for access again.')
    try {
      const fresh = await this.app.refresh(tokens.refreshToken)
      await this.store.save(fresh)
      return fresh
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_grant') throw error
      const current = await this.store.load()
      if (current && current.accessToken !== old) return current
      await this.store.save(null)
      throw error
    }
  }
}

async function withoutLock<T>(work: () => Promise<T>): Promise<T> {
  return work()
}

/** A random PKCE verifier, or a `state`: 43 characters. */
export function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)))
}

/** The PKCE challenge of a verifier (S256). */
export async function codeChallenge(codeVerifier: string): Promise<string> {
  return base64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))))
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
