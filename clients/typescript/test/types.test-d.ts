// What the compiler knows about the client. `cargo xtask test` compiles this file with `--strict`.

import { expectTypeOf } from 'expect-type'
import {
  isApiError,
  NotFoundError,
  Touchline,
  ValidationError,
  type ApiPromise,
  type ErrorCode,
  type List,
  type Member,
  type Order,
  type Page,
  type RateLimit,
  type Team,
  type TeamEvent,
  type TeamList,
  type Webhook,
} from 'touchline'
import { OAuthApp, type TokenStore } from 'touchline/oauth'
import { verify, webhookHandler, type WebhookEvent, type WebhookEventOf } from 'touchline/webhooks'

const touchline = new Touchline({ apiKey: 'tl_live_x' })
new Touchline({ apiKey: 'tl_live_x', fetch })
new Touchline({ apiKey: 'tl_live_x', fetch: async (url, { method }) => new Response(`${method} ${url.length}`) })

// Responses
expectTypeOf(touchline.teams.get('x')).toEqualTypeOf<ApiPromise<Team>>()
expectTypeOf(await touchline.teams.get('x')).toEqualTypeOf<Team>()
expectTypeOf(await touchline.roster.addBatch({ members: [] })).toEqualTypeOf<Member[]>()
expectTypeOf((await touchline.teams.get('x').withResponse()).rateLimit).toEqualTypeOf<RateLimit | null>()
expectTypeOf(await touchline.exports.roster()).toEqualTypeOf<Response>()
expectTypeOf(await touchline.files.download('x')).toEqualTypeOf<Response>()

// Lists
expectTypeOf(touchline.teams.list()).toEqualTypeOf<List<Team, TeamList>>()
expectTypeOf(await touchline.teams.list().page()).toEqualTypeOf<Page<Team, TeamList>>()
expectTypeOf(await touchline.orders.list().all()).toEqualTypeOf<Order[]>()
for await (const event of touchline.events.list({ team_id: ['x'] })) expectTypeOf(event).toEqualTypeOf<TeamEvent>()

// Fields: always there, nullable, or only there with private data
declare const team: Team
declare const member: Member
expectTypeOf(team.object).toEqualTypeOf<'team'>()
expectTypeOf(team.season).toEqualTypeOf<string | null>()
expectTypeOf(team.version).toEqualTypeOf<number>()
expectTypeOf(team.metadata).toEqualTypeOf<{ [key: string]: string }>()
expectTypeOf(member.birth_date).toEqualTypeOf<string | null | undefined>()

// Open enums: the known values and any text
declare const event: TeamEvent
expectTypeOf(event.status).toEqualTypeOf<'scheduled' | 'cancelled' | 'completed' | 'postponed' | (string & {})>()
expectTypeOf<'not_found'>().toExtend<ErrorCode>()

// Objects are told apart by `object`
function nameOf(object: Team | Webhook): string {
  return object.object === 'team' ? object.name : object.url
}
expectTypeOf(nameOf).returns.toBeString()

// Requests
touchline.teams.create({ name: 'Hawks', season: null })
touchline.events.cancel('x', { reason: 'Rain' }, { idempotencyKey: 'k', timeout: 1000 })
touchline.dues.payments.create('x', { amount: 100, method: 'cash' })
// @ts-expect-error The name is required.
touchline.teams.create({})
// @ts-expect-error There is no such field.
touchline.teams.create({ name: 'Hawks', colour: '#000000' })
// @ts-expect-error A limit is a number.
touchline.teams.list({ limit: '10' })
// @ts-expect-error An id is required.
touchline.teams.get()
// @ts-expect-error A discount is an amount or a percentage.
touchline.discounts.create({ code: 'X' })
// @ts-expect-error An answer is `yes`, `no` or `maybe`.
touchline.rsvps.answer('x', 'y', { answer: 'perhaps' })
// @ts-expect-error A file has a purpose.
touchline.files.create({ file: new Blob([]) })

// Errors
try {
  await touchline.me.get()
} catch (error) {
  if (error instanceof ValidationError) expectTypeOf(error.errors[0]!.pointer).toEqualTypeOf<string | null>()
  if (error instanceof NotFoundError) expectTypeOf(error.code).toEqualTypeOf<'not_found'>()
  if (isApiError(error) && error.code === 'not_found') expectTypeOf(error).toEqualTypeOf<NotFoundError>()
}

// Webhooks: `type` decides about `data.object`
const notification = await verify('', new Headers(), 'whsec_x')
expectTypeOf(notification).toEqualTypeOf<WebhookEvent>()
if (notification.type === 'team.created') expectTypeOf(notification.data.object).toEqualTypeOf<Team>()
expectTypeOf<WebhookEventOf<'team.created'>['data']['object']>().toEqualTypeOf<Team>()
webhookHandler({
  secret: 'whsec_x',
  on: {
    'event.cancelled': ({ data }) => expectTypeOf(data.object).toExtend<TeamEvent>(),
    // @ts-expect-error There is no such type.
    'team.exploded': () => {},
  },
})
for await (const { sequence } of touchline.notifications.follow({ after: 0 })) expectTypeOf(sequence).toEqualTypeOf<number | null>()

// OAuth
declare const store: TokenStore
const app = new OAuthApp({ clientId: 'x', redirectUri: 'y' })
new Touchline({ auth: app.session(store) })
// @ts-expect-error A prompt is one of three words.
await app.authorizationUrl({ prompt: 'always' })
