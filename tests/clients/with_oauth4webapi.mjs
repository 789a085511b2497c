// A public client, written with oauth4webapi: a native app in Node, or a single-page app in a browser. `oauth` is the
// library, which the two import from different paths.

/** The authorization URL, and what to remember until the callback. */
export async function begin(oauth, { issuer, clientId, redirectUri, scope }) {
  const server = await discover(oauth, issuer)
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = new URL(server.authorization_endpoint)
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  return { authorize: url.href, verifier, state }
}

/** Exchanges the code of the callback URL, calls the API, refreshes and revokes the tokens. */
export async function finish(oauth, { issuer, api, clientId, redirectUri }, { verifier, state }, callbackUrl) {
  const server = await discover(oauth, issuer)
  const client = { client_id: clientId }
  const options = { [oauth.allowInsecureRequests]: true }
  const clientAuth = oauth.None()

  const parameters = oauth.validateAuthResponse(server, client, new URL(callbackUrl), state)
  const first = await oauth
    .authorizationCodeGrantRequest(server, client, clientAuth, parameters, redirectUri, verifier, options)
    .then((response) => oauth.processAuthorizationCodeResponse(server, client, response))
  const call = async (token) => {
    const request = [token, 'GET', new URL(`${api}/teams`), new Headers(), null, options]
    return (await oauth.protectedResourceRequest(...request)).status
  }
  const calls = [await call(first.access_token)]

  const second = await oauth
    .refreshTokenGrantRequest(server, client, clientAuth, first.refresh_token, options)
    .then((response) => oauth.processRefreshTokenResponse(server, client, response))
  calls.push(await call(second.access_token))

  await oauth
    .revocationRequest(server, client, clientAuth, second.refresh_token, options)
    .then((response) => oauth.processRevocationResponse(response))
  let challenge
  try {
    calls.push(await call(second.access_token))
  } catch (error) {
    // The library sees the challenge only if CORS exposes the header to scripts of another origin.
    if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error
    calls.push(error.status)
    challenge = error.cause[0].parameters.error
  }
  const rotated = first.refresh_token !== second.refresh_token
  return { calls, rotated, scope: second.scope, challenge }
}

async function discover(oauth, issuer) {
  const url = new URL(issuer)
  const options = { algorithm: 'oauth2', [oauth.allowInsecureRequests]: true }
  return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, options))
}
