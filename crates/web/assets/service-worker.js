// Keeps the shell of the pages, and the last seen Home and Schedule of the signed-in user, to read them without a
// network. A kept page belongs to one session in one club, whose id is in the page. A page with another id, or of somebody
// who is not signed in, and signing out delete everything that was kept before. Only these two pages are kept, without filters.

const ASSETS = 'assets'
const OFFLINE_PAGE = 'offline'
const PAGES = 'pages'
const KEPT = ['/', '/schedule']
const OFFLINE = '/offline'
const MAX_ASSETS = 60
const MAX_AGE = 7 * 86_400_000
// After this time without an answer, a kept page is shown.
const MAX_WAIT = 5_000

// Pages that were requested before the last deletion are not kept. One task at a time changes what is kept.
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

async function asset(request) {
  const kept = await caches.match(request, { cacheName: ASSETS })
  return kept ?? keepAsset(request)
}

/** The URL of an asset contains a hash of its content, so what is kept never changes. */
async function keepAsset(request) {
  const response = await fetch(request)
  if (!response.ok) return response
  const cache = await caches.open(ASSETS)
  await cache.put(request, response.clone())
  const keys = await cache.keys()
  await Promise.all(keys.slice(0, -MAX_ASSETS).map((key) => cache.delete(key)))
  return response
}

/** An uploaded image. Without a network, those of the kept pages are there. */
async function image(request) {
  try {
    return await fetch(request)
  } catch {
    return (await caches.match(request.url, { cacheName: PAGES, ignoreVary: true })) ?? Response.error()
  }
}

/** Deletes what was kept, even if the server cannot be reached. */
function signOut(event) {
  event.waitUntil(inOrder(drop))
  event.respondWith(fetch(event.request).catch(offline))
}

async function page(event, path) {
  const before = deletions
  const answer = fetch(event.request)
  const isPage = (response) => response.headers.get('content-type')?.startsWith('text/html')
  const copy = answer.then((response) => isPage(response) && response.clone())
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

/** Keeps a page if it is one of those to keep. Deletes what belongs to another session. */
async function keep(path, response, before) {
  const html = await response.text()
  const session = /<meta name="session" content="([\w-]*)">/.exec(html)?.[1]
  if (session === undefined) return
  await inOrder(async () => {
    const isOutdated = before !== deletions
    const current = await (await caches.match('/session', { cacheName: PAGES }))?.text()
    // Also if nobody is signed in: pages of the former session can still be on their way.
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
  const urls = [...html.matchAll(/(?:href|src)="(\/assets\/[^"#]+)/g)].map(([, url]) => url.replaceAll('&amp;', '&'))
  await Promise.all([...new Set(urls)].map((url) => asset(new Request(url)).catch(() => {})))
}

/** Keeps the logos of teams with the pages, because only this user may see them. */
async function keepImages(html) {
  const cache = await caches.open(PAGES)
  const urls = [...html.matchAll(/src="(\/files\/\w+\?size=small)"/g)].map(([, url]) => url)
  await Promise.all([...new Set(urls)].map(async (url) => {
    if (await cache.match(url)) return
    const response = await fetch(url, { signal: AbortSignal.timeout(MAX_WAIT) }).catch(() => {})
    if (response?.ok) await cache.put(url, response)
  }))
}

async function keepOffline() {
  const response = await fetch(OFFLINE).catch(() => {})
  if (!response?.ok) return
  const cache = await caches.open(OFFLINE_PAGE)
  await cache.put(OFFLINE, response.clone())
  await keepAssets(await response.text())
}

/** A kept page, marked as offline with the time it was saved. */
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

/** Deletes the kept pages. */
async function drop() {
  deletions += 1
  await caches.delete(PAGES)
}
