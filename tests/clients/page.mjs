// The script of a single-page app on another origin. It loads its settings, starts the authorization, and shows the
// result.

import * as oauth from './oauth4webapi.mjs'
import { begin, finish } from './with_oauth4webapi.mjs'

const settings = await (await fetch('/settings.json')).json()
const result = document.querySelector('#result')

try {
  if (new URLSearchParams(location.search).has('code')) {
    const pending = JSON.parse(sessionStorage.getItem('pending'))
    result.textContent = JSON.stringify(await finish(oauth, settings, pending, location.href))
  } else {
    const pending = await begin(oauth, settings)
    sessionStorage.setItem('pending', JSON.stringify(pending))
    location.assign(pending.authorize)
  }
} catch (error) {
  result.textContent = JSON.stringify({ failed: `${error} ${error.cause ?? ''}` })
}
