// The script of a single-page app on an origin of its own. It asks for its settings, sends its user to
// sign in, and writes down what came of it.

import * as oauth from './oauth4webapi.mjs'
import { begin, finish } from './with_oauth4webapi.mjs'

const given = await (await fetch('/settings.json')).json()
const result = document.querySelector('#result')

try {
  if (new URLSearchParams(location.search).has('code')) {
    const kept = JSON.parse(sessionStorage.getItem('kept'))
    result.textContent = JSON.stringify(await finish(oauth, given, kept, location.href))
  } else {
    const kept = await begin(oauth, given)
    sessionStorage.setItem('kept', JSON.stringify(kept))
    location.assign(kept.authorize)
  }
} catch (error) {
  result.textContent = JSON.stringify({ failed: `${error} ${error.cause ?? ''}` })
}
