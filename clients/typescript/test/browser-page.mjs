// The script of a page with an app. It reports what it did in `#result`.

import { ConnectionError, NotFoundError, NotModifiedError, Touchline, ValidationError } from '../dist/index.js'
import { OAuthApp } from '../dist/oauth.js'

const settings = JSON.parse(sessionStorage.getItem('settings') ?? 'null') ?? Object.fromEntries(new URLSearchParams(location.search))
sessionStorage.setItem('settings', JSON.stringify(settings))
const baseUrl = settings.service
const app = new OAuthApp({ baseUrl, clientId: settings.client, redirectUri: `${location.origin}/` })
const store = {
  load: async () => JSON.parse(sessionStorage.getItem('tokens') ?? 'null'),
  save: async (tokens) => sessionStorage.setItem('tokens', JSON.stringify(tokens)),
  lock: (work) => navigator.locks.request('tokens', work),
}

try {
  new Touchline({ baseUrl, apiKey: 'tl_live_x' })
} catch (error) {
  document.querySelector('#key').textContent = error.message
}
new Touchline({ baseUrl, apiKey: 'tl_live_x', dangerouslyAllowBrowser: true })

document.querySelector('button').addEventListener('click', async () => {
  const request = await app.authorizationUrl({ scope: settings.scopes.split(' ') })
  sessionStorage.setItem('request', JSON.stringify(request))
  location.assign(request.url)
})
if (new URLSearchParams(location.search).has('code')) {
  const result = await useApi().catch((error) => ({ error: String(error.stack) }))
  document.querySelector('#result').textContent = JSON.stringify(result)
}

async function useApi() {
  await store.save(await app.exchange(location.href, JSON.parse(sessionStorage.getItem('request'))))
  // The token is refreshed before the first call.
  await store.save({ ...(await store.load()), expiresAt: 0 })
  const auth = app.session(store)
  const touchline = new Touchline({ baseUrl, auth })
  const lossy = new Touchline({ baseUrl: settings.lossy, auth })
  const caught = (promise) => promise.then(() => null, (error) => error)

  const { data: me, status, requestId, rateLimit } = await touchline.me.get().withResponse()
  const pages = []
  for await (const { data } of touchline.teams.list({ limit: 2 }).pages()) pages.push(data.map(({ name }) => name))
  const [team] = await touchline.teams.list().all({ max: 1 })
  const updated = await touchline.teams.update(team.id, { season: '2027' }, { ifMatch: team.version })
  const unchanged = await caught(touchline.teams.get(team.id, { ifNoneMatch: updated.version }))
  // The first response is lost.
  const created = await lossy.teams.create({ name: 'Owls' }).withResponse()
  const missing = await caught(touchline.teams.get('team_01kbm2x5q8f7vr0n3hd9tzc4wy'))
  const invalid = await caught(touchline.teams.create({ name: '' }))
  // The body of this response ends too early.
  const download = await lossy.exports.roster()
  const broken = await caught(download.text())
  const cancelled = await caught(touchline.me.get({ signal: AbortSignal.abort() }))
  const stream = []
  for await (const { data } of lossy.notifications.follow({ after: 0, type: ['team.created'] })) {
    if (stream.push(data.object.name) === 4) break
  }
  return {
    user: me.name,
    pages,
    response: [status, requestId.startsWith('req_'), rateLimit.reset instanceof Date],
    written: [updated.season, created.data.name, created.headers.get('idempotent-replayed')],
    unchanged: [unchanged instanceof NotModifiedError, unchanged?.etag === `"${updated.version}"`],
    missing: [missing.name, missing.code, missing instanceof NotFoundError],
    invalid: [invalid.name, invalid instanceof ValidationError && invalid.errors[0].pointer],
    broken: [broken?.name, broken instanceof ConnectionError],
    cancelled: cancelled.name,
    stream,
  }
}
