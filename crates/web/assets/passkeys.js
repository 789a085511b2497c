// Passkeys: asks the browser to make or to use one, and sends what it says. A form with `data-passkey` is
// shown only where that can work.

const bytes = (text) => {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0))
}

const words = (buffer) => {
  const plain = String.fromCharCode(...new Uint8Array(buffer))
  return btoa(plain).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

const keys = (list) => (list ?? []).map((key) => ({ ...key, id: bytes(key.id) }))

// Browsers of today read and write the standard's JSON themselves; for the others it is done by hand.
function creation(options) {
  if (PublicKeyCredential.parseCreationOptionsFromJSON) {
    return PublicKeyCredential.parseCreationOptionsFromJSON(options)
  }
  return {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: keys(options.excludeCredentials),
  }
}

function request(options) {
  if (PublicKeyCredential.parseRequestOptionsFromJSON) {
    return PublicKeyCredential.parseRequestOptionsFromJSON(options)
  }
  return {
    ...options,
    challenge: bytes(options.challenge),
    allowCredentials: keys(options.allowCredentials),
  }
}

function written(key) {
  if (key.toJSON) return key.toJSON()
  const response = {}
  for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
    if (key.response[name]) response[name] = words(key.response[name])
  }
  if (key.response.getTransports) response.transports = key.response.getTransports()
  return {
    id: key.id,
    rawId: words(key.rawId),
    type: key.type,
    authenticatorAttachment: key.authenticatorAttachment,
    clientExtensionResults: key.getClientExtensionResults(),
    response,
  }
}

/** Something that can be told to a person as it is. */
class Said extends Error {}

async function send(form, step, credential) {
  const body = new URLSearchParams(new FormData(form))
  if (credential) body.set('credential', JSON.stringify(written(credential)))
  const answer = await fetch(`${form.dataset.path}/${step}`, {
    method: 'POST',
    body,
    headers: { Accept: 'application/json' },
  })
  // Signed out meanwhile: the page itself leads to where one signs in.
  if (answer.redirected) return { next: location.pathname }
  const told = await answer.json()
  if (!answer.ok) throw new Said(told.detail)
  return told
}

async function go(form) {
  const asked = await send(form, 'begin')
  if (asked.next) return location.assign(asked.next)
  const credential = form.dataset.passkey === 'create'
    ? await navigator.credentials.create({ publicKey: creation(asked.options) })
    : await navigator.credentials.get({ publicKey: request(asked.options) })
  const done = await send(form, 'finish', credential)
  location.assign(done.next)
}

// What to tell the user. The page has the texts in the language of the user.
function reason(error, texts) {
  if (error instanceof Said) return error.message
  switch (error.name) {
    case 'NotAllowedError':
    case 'AbortError':
      return texts.cancelled
    case 'InvalidStateError':
      return texts.exists
    case 'SecurityError':
      return texts.address
    default:
      return texts.failed
  }
}

function dressForm(form) {
  const said = form.querySelector('[data-said]')
  const button = form.querySelector('button')
  form.hidden = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    said.hidden = true
    button.disabled = true
    try {
      await go(form)
    } catch (error) {
      said.textContent = reason(error, said.dataset)
      said.hidden = false
    }
    button.disabled = false
  })
}

if (window.PublicKeyCredential && navigator.credentials) {
  for (const form of document.querySelectorAll('form[data-passkey]')) dressForm(form)
  for (const line of document.querySelectorAll('[data-passkey-none]')) line.hidden = true
}
