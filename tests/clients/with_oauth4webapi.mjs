// An app without a secret, written with oauth4webapi: on somebody's computer under Node, or as a page of
// another origin in a browser. `oauth` is the library, which the two find in different places.

/** Where to send the user, and what to remember until they come back. */
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

/** The life of a token, from the address the user came back to until it is refused. */
export async function finish(oauth, { issuer, api, clientId, redirectUri }, { verifier, state }, back) {
  const server = await discover(oauth, issuer)
  const client = { client_id: clientId }
  const options = { [oauth.allowInsecureRequests]: true }
  const nobody = oauth.None()

  const answer = oauth.validateAuthResponse(server, client, new URL(back), state)
  const first = await oauth
    .authorizationCodeGrantRequest(server, client, nobody, answer, redirectUri, verifier, options)
    .then((response) => oauth.processAuthorizationCodeResponse(server, client, response))
  const call = async (token) => {
    const asked = [token, 'GET', new URL(`${api}/teams`), new Headers(), null, options]
    return (await oauth.protectedResourceRequest(...asked)).status
  }
  const calls = [await call(first.access_token)]

  const second = await oauth
    .refreshTokenGrantRequest(server, client, nobody, first.refresh_token, options)
    .then((response) => oauth.processRefreshTokenResponse(server, client, response))
  calls.push(await call(second.access_token))

  await oauth
    .revocationRequest(server, client, nobody, second.refresh_token, options)
    .then((response) => oauth.processRevocationResponse(response))
  let challenge
  try {
    calls.push(await call(second.access_token))
  } catch (error) {
    // Only a header that scripts of another origin may read becomes a challenge.
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
