// Says which deliveries the packages standardwebhooks and svix take. Standard input is a list of
// {secret, headers, body}; it prints one answer of each package for each.

import { text } from 'node:stream/consumers'
import { Webhook as Standard } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'

const all = JSON.parse(await text(process.stdin))

function takes(Webhook, { secret, headers, body }) {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

const answers = (Webhook) => all.map((one) => takes(Webhook, one))
console.log(JSON.stringify({ standardwebhooks: answers(Standard), svix: answers(Svix) }))
