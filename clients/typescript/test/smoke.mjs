// A short program that uses every part of the package. Each runtime runs it, with the same result.
// Environment: TOUCHLINE_URL, TOUCHLINE_API_KEY, TOUCHLINE_TAG, which makes names unique, and TOUCHLINE_LOSSY_URL, where
// responses are lost and streams break.

import { ConnectionError, NotFoundError, Touchline, ValidationError } from 'touchline'
import { codeChallenge, OAuthApp } from 'touchline/oauth'
import { sign, verify, webhookHandler } from 'touchline/webhooks'

const { TOUCHLINE_TAG: tag, TOUCHLINE_LOSSY_URL: lossyUrl } = process.env
const results = []
const touchline = new Touchline()
const lossy = new Touchline({ baseUrl: lossyUrl })

const team = await touchline.teams.create({ name: `Smoke ${tag}` })
const repeated = await lossy.teams.create({ name: `Smoke ${tag} again` }).withResponse()
results.push(repeated.headers.get('idempotent-replayed'))
await touchline.teams.create({ name: `Smoke ${tag} at last` })
const pages = []
for await (const { data } of touchline.teams.list({ q: `Smoke ${tag}`, limit: 2 }).pages()) pages.push(data.length)
results.push(pages.join())
const invalid = await touchline.teams.create({ name: '' }).catch((error) => error)
results.push(invalid instanceof ValidationError && invalid.errors[0].pointer)
const unreachable = new Touchline({ baseUrl: 'http://127.0.0.1:1', maxRetries: 0 })
results.push((await unreachable.me.get().catch((error) => error)) instanceof ConnectionError)
const missing = await touchline.teams.get('team_01kbm2x5q8f7vr0n3hd9tzc4wy').catch((error) => error)
results.push(missing instanceof NotFoundError && missing.code)
const { data } = await touchline.teams.update(team.id, { season: '2027' }, { ifMatch: team.version }).withResponse()
results.push(data.season)
const file = await touchline.files.create({ file: new Blob([image()], { type: 'image/png' }), purpose: 'logo' })
results.push(file.content_type)
results.push((await (await touchline.exports.roster({ team_id: team.id })).text()).split(',')[0])

const names = []
for await (const { type, data } of lossy.notifications.follow({ after: 0, type: ['team.created'] })) {
  if (data.object.name.startsWith(`Smoke ${tag}`)) names.push(data.object.name.slice('Smoke '.length))
  if (names.length === 3) break
}
results.push(names.join())

const app = new OAuthApp({ clientId: 'app_x', redirectUri: 'https://scores.example/' })
const request = await app.authorizationUrl()
results.push(new URL(request.url).searchParams.get('code_challenge') === (await codeChallenge(request.codeVerifier)))

const secret = `whsec_${btoa('a secret of thirty-two characters')}`
const headers = await sign('{"type":"ping"}', secret)
results.push((await verify('{"type":"ping"}', headers, secret)).type)
const handler = webhookHandler({ secret, otherwise: () => {} })
const hook = new Request('https://scores.example/', { method: 'POST', body: '{"type":"ping"}', headers })
results.push((await handler(hook)).status)

console.log(JSON.stringify(results))

/** A PNG image with one pixel. */
function image() {
  const text = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}
