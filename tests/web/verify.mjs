// Verifies webhook deliveries with the packages standardwebhooks and svix. Standard input is a list of
// {secret, headers, body}; it prints for each package whether it accepts each delivery.

import { text } from 'node:stream/consumers'
import { Webhook as Standard } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'

const deliveries = JSON.parse(await text(process.stdin))

function accepts(Webhook, { secret, headers, body }) {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

const results = (Webhook) => deliveries.map((delivery) => accepts(Webhook, delivery))
console.log(JSON.stringify({ standardwebhooks: results(Standard), svix: results(Svix) }))
