// Keeps the last seen Home and Schedule, without filters, to read them without a network. A kept page belongs to one
// session in one club, whose id is in the page. A page with another id or none, and signing out, delete what was kept.

const ASSETS = 'assets'
const OFFLINE_PAGE = 'offline'
const PAGES = 'pages'
const KEPT = ['/', '/schedule']
const OFFLINE = '/offline'
const MAX_ASSETS = 60
const MAX_AGE = 7 * 86_400_000
// After this time without an answer, a kept page is shown.
const MAX_WAIT = 5_000

// Pages requested before the last deletion are not kept. One task at a time changes what is kept.
let deletions = 0
let tasks = Promise.resolve()
const inOrder = (task) => (tasks = tasks.then(task, task))

addEventListener('install', (event) => {
  event.waitUntil(Promise.all([keepOffline(), skipWaiting()]))
})

addEventListener('activate', (event) => event.waitUntil(clients.claim()))

addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname, search } = new URL(request.url)
  if (origin !== location.origin) return
  if (request.method === 'POST' && pathname === '/sign-out') return signOut(event)
  if (request.method !== 'GET') return
  if (pathname.startsWith('/assets/')) return event.respondWith(asset(request))
  if (pathname.startsWith('/files/') && request.destination === 'image') return event.respondWith(image(request))
  if (request.mode === 'navigate') event.respondWith(page(event, pathname + search))
})

/** The URL of an asset contains a hash of its content, so what is kept never changes. */
async function asset(request) {
  const kept = await caches.match(request, { cacheName: ASSETS })
  if (kept) return kept
  const response = await fetch(request)
  if (!response.ok) return response
  const cache = await caches.open(ASSETS)
  await cache.put(request, response.clone())
  const keys = await cache.keys()
  await Promise.all(keys.slice(0, -MAX_ASSETS).map((key) => cache.delete(key)))
  return response
}

/** An uploaded image, or the kept one. */
function image(request) {
  const kept = async () => (await caches.match(request.url, { cacheName: PAGES, ignoreVary: true })) ?? Response.error()
  return fetch(request).catch(kept)
}

/** Deletes what was kept, also without a network. */
function signOut(event) {
  event.waitUntil(inOrder(drop))
  event.respondWith(fetch(event.request).catch(offline))
}

async function page(event, path) {
  const before = deletions
  const answer = fetch(event.request)
  const copy = answer.then((response) => response.headers.get('content-type')?.startsWith('text/html') && response.clone())
  event.waitUntil(copy.then((response) => response && keep(path, response, before)).catch(() => {}))
  try {
    return (await Promise.race([answer, keptAfterWait(path)])) ?? (await answer)
  } catch {
    return (await kept(path)) ?? (await offline())
  }
}

async function keptAfterWait(path) {
  await new Promise((done) => setTimeout(done, MAX_WAIT))
  return kept(path)
}

/** Keeps Home or Schedule. Deletes what belongs to another session. */
async function keep(path, response, before) {
  const html = await response.text()
  const session = /<meta name="session" content="([\w-]*)">/.exec(html)?.[1]
  if (session === undefined) return
  await inOrder(async () => {
    const isOutdated = before !== deletions
    const current = await (await caches.match('/session', { cacheName: PAGES }))?.text()
    // Also if nobody is signed in: pages of the former session can still arrive.
    if (session !== current) await drop()
    if (!session || isOutdated) return
    if (session !== current) {
      await put('/session', session)
      await keepOffline()
    }
    if (!response.ok || !KEPT.includes(path)) return
    await put(path, html, response.headers)
    await keepAssets(html)
    await keepImages(html)
  })
}

async function put(path, text, headers) {
  const cache = await caches.open(PAGES)
  const copy = new Headers({ 'content-type': 'text/html; charset=utf-8', saved: new Date().toISOString() })
  for (const name of ['content-security-policy', 'referrer-policy', 'x-frame-options', 'cross-origin-opener-policy']) {
    if (headers?.has(name)) copy.set(name, headers.get(name))
  }
  await cache.put(path, new Response(text, { headers: copy }))
}

async function keepAssets(html) {
  const urls = find(html, /(?:href|src)="(\/assets\/[^"#]+)/g)
  await Promise.all(urls.map((url) => asset(new Request(url)).catch(() => {})))
}

/** Only this user may see the logos of teams. */
async function keepImages(html) {
  const cache = await caches.open(PAGES)
  const add = (url) => cache.add(new Request(url, { signal: AbortSignal.timeout(MAX_WAIT) })).catch(() => {})
  await Promise.all(find(html, /src="(\/files\/\w+\?size=small)"/g).map(async (url) => (await cache.match(url)) ?? add(url)))
}

const find = (html, pattern) => [...new Set([...html.matchAll(pattern)].map(([, url]) => url.replaceAll('&amp;', '&')))]

async function keepOffline() {
  const response = await fetch(OFFLINE).catch(() => {})
  if (!response?.ok) return
  const cache = await caches.open(OFFLINE_PAGE)
  await cache.put(OFFLINE, response.clone())
  await keepAssets(await response.text())
}

/** A kept page with the time it was saved. */
async function kept(path) {
  await tasks
  const cache = await caches.open(PAGES)
  const found = KEPT.includes(path) && (await cache.match(path))
  if (!found || !(await cache.match('/session'))) return undefined
  const saved = found.headers.get('saved')
  if (Date.now() - Date.parse(saved) > MAX_AGE) return undefined
  const html = (await found.text()).replace(
    /(<div id="offline"[^>]*?) hidden>([^]*?)<time><\/time>/,
    `$1>$2<time datetime="${saved}" data-local>${saved}</time>`,
  )
  return new Response(html, { headers: found.headers })
}

async function offline() {
  return (await caches.match(OFFLINE, { cacheName: OFFLINE_PAGE })) ?? Response.error()
}

async function drop() {
  deletions += 1
  await caches.delete(PAGES)
}
