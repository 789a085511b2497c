// All pages and how to open them. A test fails if a page of the source code is missing here.

import { follow, signIn } from './browser.mjs'
import { digits, makeWebhook, PASSWORD, path } from './world.mjs'

/** Opens a path. */
const at = (path) => async (page, w) => page.goto(typeof path === 'function' ? path(w) : path)
const press = (page, name) => page.getByRole('button', { name, exact: true }).click()

/** A PNG image of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

/** Opens a page about the player. */
const openPerson = (below) => at((w) => `/people/${w.member.person_id}${below}`)

/**
 * `[name, route, who, go, status]`: the name of its screenshot, its route in the source code, the user whose browser
 * opens it, a function that opens it, and its status if not 200.
 */
export const PAGES = [
  ['sign-in', '/sign-in', 'nobody', at('/sign-in')],
  ['sign-in-wrong', '/sign-in', 'nobody', async (page) => {
    await page.goto('/sign-in')
    await page.getByLabel('Email', { exact: true }).fill('nobody@people.example')
    await page.getByLabel('Password', { exact: true }).fill('not the right one at all')
    await press(page, 'Sign in')
    await page.locator('.field.bad').waitFor()
  }, 422],
  ['forgot', '/forgot', 'nobody', at('/forgot')],
  ['forgot-sent', '/forgot', 'nobody', async (page) => {
    await page.goto('/forgot')
    if (!(await page.getByLabel('Email', { exact: true }).count())) return
    await page.getByLabel('Email', { exact: true }).fill('nobody@people.example')
    await press(page, 'Send link')
    await page.getByText('we have sent a link').waitFor()
  }],
  ['reset', '/reset/{token}', 'nobody', async (page, w) => {
    const { link } = await w.service.run(['user', 'reset', '--email', w.parentUser.email])
    await page.goto(path(link))
  }],
  ['reset-gone', '/reset/{token}', 'nobody', at('/reset/tlrs_nothing'), 410],
  ['not-found', null, 'nobody', at('/there/is/nothing'), 404],
  ['unsubscribe-unknown', '/unsubscribe/{token}', 'nobody', at('/unsubscribe/nothing'), 404],
  ['email-settings-unknown', '/unsubscribe/{token}/settings', 'nobody', at('/unsubscribe/nothing/settings'), 404],
  ['offline', '/offline', 'nobody', at('/offline')],
  ['confirm-address-unknown', '/confirm-address/{token}', 'nobody', at('/confirm-address/nothing'), 404],
  ['checkout-done', '/checkout/done', 'nobody', at('/checkout/done')],
  ['checkout-back', '/checkout/back', 'nobody', at('/checkout/back')],
  ['join-team', '/join/{token}', 'nobody', at((w) => w.teamLink)],
  ['join-account', '/join/{token}', 'nobody', at((w) => `${w.teamLink}?as=guardian`)],
  ['join-invited', '/join/{token}', 'nobody', at((w) => w.invitation)],
  ['join-created', '/join/{token}', 'nobody', at((w) => `${w.invitation}?made=1`)],
  ['join-pick', '/join/{token}', 'owner', at((w) => `${w.teamLink}?as=guardian`)],
  ['join-accept', '/join/{token}', 'parent', at((w) => w.invitation)],
  ['join-gone', '/join/{token}', 'nobody', at('/join/tlin_nothing'), 410],
  ['oauth-unknown-app', '/oauth/authorize', 'nobody', at('/oauth/authorize?client_id=app_nothing'), 400],
  ['consent', '/oauth/consent/{token}', 'owner', at((w) => w.authorize)],
  ['consent-parent', '/oauth/consent/{token}', 'parent', at((w) => w.authorize)],

  ['account', '/account', 'parent', at('/account')],
  ['account-email', '/account/email', 'parent', at('/account/email')],
  ['account-email-gone', '/account/email/{token}', 'parent', at('/account/email/tlem_nothing'), 410],
  ['account-notifications', '/account/notifications', 'parent', at('/account/notifications')],
  ['account-password', '/account/password', 'parent', at('/account/password')],
  ['account-sessions', '/account/sessions', 'parent', at('/account/sessions')],
  ['account-apps-empty', '/account/apps', 'parent', at('/account/apps')],
  ['account-passkeys-empty', '/account/passkeys', 'parent', at('/account/passkeys')],
  ['account-claims', '/account/claims', 'parent', at('/account/claims')],
  ['accounts', '/accounts', 'parent', at('/accounts')],
  ['confirm', '/confirm', 'parent', at('/confirm?next=/account')],
  ['forbidden', '/admin', 'parent', at('/admin'), 403],
  ['home-none', '/', 'parent', at('/')],
  ['home-family', '/', 'family', at('/')],
  ['home-owner', '/', 'owner', at('/')],
  ['more', '/more', 'family', at('/more')],
  ['more-owner', '/more', 'owner', at('/more')],

  ['event-team', '/events/new', 'owner', at('/events/new')],
  ['event-new', '/events/new', 'owner', at((w) => `/events/new?team=${w.team.id}`)],
  ['event-new-wrong', '/events/new', 'owner', async (page, w) => {
    await page.goto(`/events/new?team=${w.team.id}`)
    await page.locator('#ends_at').fill('06:00')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('The event was not saved').waitFor()
  }, 422],
  ['event-new-preview', '/events/new', 'owner', async (page, w) => {
    await page.goto(`/events/new?team=${w.team.id}`)
    await page.getByLabel('Date', { exact: true }).fill('2199-05-04')
    await page.locator('#starts_at').fill('18:00')
    await page.locator('#ends_at').fill('19:30')
    await page.getByLabel('Repeats').selectOption('weekly')
    await page.locator('#until').fill('2199-06-30')
    await press(page, 'Preview')
    await page.getByText('Events to create').waitFor()
  }],
  ['event-copy', '/events/new', 'owner', at((w) => `/events/new?copy=${w.planned.id}`)],
  ['event-edit', '/events/{event}/edit', 'owner', at((w) => `/events/${w.planned.id}/edit`)],
  ['event-edit-stale', '/events/{event}/edit', 'owner', async (page, w) => {
    await page.goto(`/events/${w.planned.id}/edit`)
    await w.service.api('PATCH', `/events/${w.planned.id}`, { uniform: w.names.team }, w.key)
    await page.getByLabel('Opponent').fill('Gulls')
    await press(page, 'Save changes')
    await page.getByText('What changed in the meantime').waitFor()
    await w.service.api('PATCH', `/events/${w.planned.id}`, { uniform: null }, w.key)
  }, 422],
  ['event-cancel', '/events/{event}/cancel', 'owner', at((w) => `/events/${w.planned.id}/cancel`)],
  ['event-postpone', '/events/{event}/postpone', 'owner', at((w) => `/events/${w.planned.id}/postpone`)],
  ['event-delete', '/events/{event}/delete', 'owner', at((w) => `/events/${w.planned.id}/delete`)],
  ['locations', '/locations', 'owner', at('/locations')],
  ['location-new', '/locations/new', 'owner', at('/locations/new')],
  ['location', '/locations/{location}', 'owner', at((w) => `/locations/${w.location.id}`)],
  ['location-archive', '/locations/{location}/archive', 'owner', at((w) => `/locations/${w.location.id}/archive`)],
  ['messages', '/messages', 'family', at('/messages')],
  ['messages-empty', '/messages', 'parent', at('/messages')],
  ['messages-owner', '/messages', 'owner', at('/messages')],
  ['team-messages', '/teams/{team}/messages', 'owner', at((w) => `/teams/${w.team.id}/messages`)],
  ['announcement', '/messages/{message}', 'family', at((w) => `/messages/${w.announcement.id}`)],
  ['announcement-owner', '/messages/{message}', 'owner', at((w) => `/messages/${w.announcement.id}`)],
  ['conversation', '/messages/{message}', 'family', at((w) => `/messages/${w.conversation.id}`)],
  ['message-scheduled', '/messages/{message}', 'owner', at((w) => `/messages/${w.scheduled.id}`)],
  ['message-edit', '/messages/{message}/edit', 'owner', at((w) => `/messages/${w.scheduled.id}/edit`)],
  ['message-receipts', '/messages/{message}/receipts', 'owner', at((w) => `/messages/${w.announcement.id}/receipts`)],
  ['message-retract', '/messages/{message}/retract', 'owner', at((w) => `/messages/${w.announcement.id}/retract`)],
  ['message-new', '/messages/new', 'owner', at((w) => `/messages/new?team=${w.team.id}`)],
  ['message-new-family', '/messages/new', 'family', at('/messages/new')],
  ['message-new-wrong', '/messages/new', 'owner', async (page, w) => {
    await page.goto(`/messages/new?team=${w.team.id}`)
    await page.locator('#body').fill(w.names.note)
    await page.locator('form.form').evaluate((form) => { form.noValidate = true })
    await page.locator('.dock button').click()
    await page.getByText('Nothing was sent', { exact: true }).waitFor()
  }, 422],
  ['message-preview', '/messages/new', 'owner', async (page, w) => {
    await page.goto(`/messages/new?team=${w.team.id}`)
    await page.locator('#subject').fill(w.names.note)
    await page.locator('#body').fill(w.names.note)
    await page.locator('.dock button').click()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  }],
  ['message-attached', '/messages/new', 'owner', async (page, w) => {
    await page.goto(`/messages/new?team=${w.team.id}`)
    await page.locator('#files summary').click()
    await page.locator('#files input[type=file]').setInputFiles([
      { name: `${w.names.person}.pdf`, mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n') },
      { name: 'pitch.png', mimeType: 'image/png', buffer: PIXEL },
    ])
    // Choosing other people does not send the files.
    await page.getByLabel('Parents and guardians').check()
    await page.getByText(/^\d+ guardians?$/).waitFor()
    await page.locator('form.form').evaluate((form) => (form.noValidate = true))
    await page.locator('.dock button').click()
    await page.getByText('Attached files').waitFor()
  }, 422],
  ['message-attached-preview', '/messages/new', 'owner', async (page, w) => {
    await page.goto(`/messages/new?team=${w.team.id}`)
    await page.locator('#subject').fill(w.names.note)
    await page.locator('#body').fill(w.names.note)
    await page.locator('#files summary').click()
    await page.locator('#files input[type=file]').setInputFiles([
      { name: `${w.names.person}.pdf`, mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n') },
      { name: 'pitch.png', mimeType: 'image/png', buffer: PIXEL },
    ])
    await page.locator('.dock button').click()
    await page.locator('.attached img').waitFor()
  }],
  ['templates', '/messages/templates', 'owner', at('/messages/templates')],
  ['template-new', '/messages/templates/new', 'owner', at('/messages/templates/new')],
  ['template', '/messages/templates/{template}', 'owner', at((w) => `/messages/templates/${w.template.id}`)],
  ['template-delete', '/messages/templates/{template}/delete', 'owner', at((w) => `/messages/templates/${w.template.id}/delete`)],

  ['storefront', '/store', 'family', at('/store')],
  ['storefront-wrong', '/store', 'family', async (page) => {
    await page.goto('/store')
    await page.locator('.choice input').first().fill('13')
    await page.getByLabel('Discount code').fill('NOPE')
    await press(page, 'Review order')
    await page.getByText('Nothing was ordered').waitFor()
  }, 422],
  ['storefront-check', '/store', 'family', async (page) => {
    await page.goto('/store')
    await page.locator('.choice input').first().fill('2')
    await press(page, 'Review order')
    await page.getByRole('button', { name: 'Place order' }).waitFor()
  }],
  ['storefront-nobody', '/store', 'owner', at('/store')],
  ['my-orders', '/store/orders', 'family', at('/store/orders')],
  ['my-orders-empty', '/store/orders', 'owner', at('/store/orders')],
  ['my-order', '/store/orders/{id}', 'family', at((w) => `/store/orders/${w.placed.id}`)],
  ['my-order-cancel', '/store/orders/{id}/cancel', 'family', at((w) => `/store/orders/${w.placed.id}/cancel`)],
  ['receipt', '/store/orders/{id}/receipt', 'family', at((w) => `/store/orders/${w.paid.id}/receipt`)],

  ['account-passkeys', '/account/passkeys', 'owner', async (page, w) => {
    await withAuthenticator(page)
    await page.goto('/account/passkeys')
    await page.getByLabel('Name', { exact: true }).fill(w.names.passkey)
    await press(page, 'Add a passkey')
    await page.getByText('The passkey was added').waitFor()
  }],
  ['account-passkey-rename', '/account/passkeys/{id}/rename', 'owner', async (page) => {
    await page.goto('/account/passkeys')
    await follow(page.getByRole('link', { name: /^Rename/ }).first())
  }],
  ['account-passkey-remove', '/account/passkeys/{id}/remove', 'owner', async (page) => {
    await page.goto('/account/passkeys')
    await follow(page.getByRole('link', { name: /^Remove/ }).first())
  }],
  ['account-apps', '/account/apps', 'owner', async (page, w) => {
    await page.goto(w.authorize)
    await page.getByRole('button', { name: /^Allow/ }).click()
    await page.waitForURL('**/back?**')
    await w.service.exchange(w.oauthApp, page.url())
    await page.goto('/account/apps')
  }],
  ['account-app-revoke', '/account/apps/{app}/revoke', 'owner', at((w) => `/account/apps/${w.oauthApp.id}/revoke`)],
  ['two-step-off', '/account/two-step', 'owner', at('/account/two-step')],

  ['admin', '/admin', 'owner', at('/admin')],
  ['admin-events', '/admin/events', 'owner', at('/admin/events')],
  ['admin-failed-emails', '/admin/failed-emails', 'owner', at('/admin/failed-emails')],
  ['teams', '/teams', 'owner', at('/teams')],
  ['team-new', '/teams/new', 'owner', at('/teams/new')],
  ['team-new-wrong', '/teams/new', 'owner', async (page) => {
    await page.goto('/teams/new')
    await page.getByLabel('Name', { exact: true }).fill('Wrong color')
    await page.locator('input[name=palette][value=own]').check()
    await page.getByLabel('Custom color code').fill('blue')
    await press(page, 'Add team')
    await page.getByText('The team was not added').waitFor()
  }, 422],
  ['teams-moved', '/admin/teams', 'owner', at('/admin/teams')],
  ['team-new-moved', '/admin/teams/new', 'owner', at('/admin/teams/new')],
  ['team-edit', '/teams/{team}/edit', 'owner', at((w) => `/teams/${w.team.id}/edit`)],
  ['team-archive', '/teams/{team}/archive', 'owner', at((w) => `/teams/${w.team.id}/archive`)],
  ['team-restore', '/teams/{team}/restore', 'owner', at((w) => `/teams/${w.team.id}/restore`)],
  ['roster', '/teams/{team}/roster', 'owner', at((w) => `/teams/${w.team.id}/roster`)],
  ['roster-family', '/teams/{team}/roster', 'family', at((w) => `/teams/${w.team.id}/roster`)],
  ['roster-new', '/teams/{team}/roster/new', 'owner', at((w) => `/teams/${w.team.id}/roster/new`)],
  ['roster-new-wrong', '/teams/{team}/roster/new', 'owner', async (page, w) => {
    await page.goto(`/teams/${w.team.id}/roster/new`)
    await page.getByLabel('First name', { exact: true }).fill(w.names.person)
    await page.locator('#guardian-1-email').fill(w.mail('new'))
    await press(page, 'Add person')
    await page.getByText('Nobody was added').waitFor()
  }, 422],
  ['roster-paste', '/teams/{team}/roster/paste', 'owner', at((w) => `/teams/${w.team.id}/roster/paste`)],
  ['roster-paste-preview', '/teams/{team}/roster/paste', 'owner', async (page, w) => {
    await page.goto(`/teams/${w.team.id}/roster/paste`)
    await page.getByLabel('Rows from your spreadsheet').fill(`Name\tEmail\tBorn\n${w.names.person}\tx\tsoon\nBo Eriksen\t\t2014-02-27`)
    await press(page, 'Check the list')
    await page.getByText('1 row has an error').waitFor()
  }],
  ['person', '/teams/{team}/roster/{member}', 'owner', at((w) => `/teams/${w.team.id}/roster/${w.member.id}`)],
  ['person-note', '/teams/{team}/roster/{member}/note', 'owner', at((w) => `/teams/${w.team.id}/roster/${w.member.id}/note`)],
  ['person-edit', '/teams/{team}/roster/{member}/edit', 'owner', at((w) => `/teams/${w.team.id}/roster/${w.member.id}/edit`)],
  ['person-move', '/teams/{team}/roster/{member}/move', 'owner', at((w) => `/teams/${w.team.id}/roster/${w.member.id}/move`)],
  ['teams-move', '/teams/move', 'owner', at('/teams/move')],
  ['teams-add-people', '/teams/add-people', 'owner', at('/teams/add-people')],
  ['person-remove', '/teams/{team}/roster/{member}/remove', 'owner', at((w) => `/teams/${w.team.id}/roster/${w.member.id}/remove`)],
  ['emergency', '/teams/{team}/emergency', 'owner', at((w) => `/teams/${w.team.id}/emergency`)],
  ['people', '/people', 'owner', at('/people')],
  ['people-search', '/people', 'owner', at('/people?q=nobody-has-this-name')],
  ['people-duplicates', '/people/duplicates', 'owner', at('/people/duplicates')],
  ['people-person', '/people/{person}', 'owner', openPerson('')],
  ['people-person-edit', '/people/{person}/edit', 'owner', openPerson('/edit')],
  ['people-person-edit-wrong', '/people/{person}/edit', 'owner', async (page, w) => {
    await openPerson('/edit')(page, w)
    await page.getByLabel('Email', { exact: false }).first().fill('no@')
    await page.locator('form.card').evaluate((form) => (form.noValidate = true))
    await press(page, 'Save changes')
    await page.locator('.field.bad').waitFor()
  }, 422],
  ['people-person-medical', '/people/{person}/medical', 'owner', openPerson('/medical')],
  ['people-person-merge', '/people/{person}/merge', 'owner', openPerson('/merge?q=a')],
  ['people-person-merge-compare', '/people/{person}/merge', 'owner', async (page, w) => {
    await openPerson('/merge?q=a')(page, w)
    await page.goto(await page.locator('main a.row').first().getAttribute('href'))
  }],
  ['people-person-export', '/people/{person}/export', 'owner', openPerson('/export')],
  ['people-person-erase', '/people/{person}/erase', 'owner', openPerson('/erase')],
  ['members', '/admin/members', 'owner', at('/admin/members')],
  ['member', '/admin/members/{user}', 'owner', at((w) => `/admin/members/${w.parentUser.id}`)],
  ['member-remove', '/admin/members/{user}/remove', 'owner', at((w) => `/admin/members/${w.parentUser.id}/remove`)],
  ['invite', '/admin/members/invite', 'owner', at('/admin/members/invite')],
  ['invite-link', '/admin/members/invite', 'owner', async (page, w) => {
    await page.goto('/admin/members/invite')
    await page.getByLabel('Email', { exact: true }).fill(w.mail('another'))
    await press(page, 'Create invitation')
    await page.locator('#link').waitFor()
  }],
  ['invitations', '/admin/members/invitations', 'owner', at('/admin/members/invitations')],
  ['claims', '/admin/members/claims', 'owner', at('/admin/members/claims')],
  ['adults', '/admin/members/adults', 'owner', at('/admin/members/adults')],
  ['keys', '/admin/keys', 'owner', at('/admin/keys')],
  ['key-new', '/admin/keys/new', 'owner', at('/admin/keys/new')],
  ['key-new-wrong', '/admin/keys/new', 'owner', async (page) => {
    await page.goto('/admin/keys/new')
    await page.getByLabel('Name', { exact: true }).fill('No rights')
    await press(page, 'Create key')
    await page.getByText('The key was not created').waitFor()
  }, 422],
  ['key-created', '/admin/keys/new', 'owner', async (page, w) => {
    await page.goto('/admin/keys/new')
    await page.getByLabel('Name', { exact: true }).fill(w.names.key)
    await page.locator('input[name=scopes][value="teams:read"]').check()
    await press(page, 'Create key')
    await page.locator('#key').waitFor()
  }],
  ['key', '/admin/keys/{id}', 'owner', at((w) => `/admin/keys/${w.apiKey.id}`)],
  ['key-requests', '/admin/keys/{id}/requests', 'owner', at((w) => `/admin/keys/${w.apiKey.id}/requests`)],
  ['key-revoke', '/admin/keys/{id}/revoke', 'owner', at((w) => `/admin/keys/${w.apiKey.id}/revoke`)],
  ['apps', '/admin/apps', 'owner', at('/admin/apps')],
  ['app-new', '/admin/apps/new', 'owner', at('/admin/apps/new')],
  ['app', '/admin/apps/{id}', 'owner', at((w) => `/admin/apps/${w.oauthApp.id}`)],
  ['app-edit', '/admin/apps/{id}/edit', 'owner', at((w) => `/admin/apps/${w.oauthApp.id}/edit`)],
  ['app-users', '/admin/apps/{id}/users', 'owner', at((w) => `/admin/apps/${w.oauthApp.id}/users`)],
  ['app-secret-revoke', '/admin/apps/{id}/secrets/{secret}/revoke', 'owner', async (page, w) => {
    await page.goto(`/admin/apps/${w.oauthApp.id}`)
    await follow(page.locator('a[href*="/secrets/"]').first())
  }],
  ['app-revoke-all', '/admin/apps/{id}/revoke-all', 'owner', at((w) => `/admin/apps/${w.oauthApp.id}/revoke-all`)],
  ['app-disable', '/admin/apps/{id}/disable', 'owner', at((w) => `/admin/apps/${w.oauthApp.id}/disable`)],
  ['webhooks', '/admin/webhooks', 'owner', at('/admin/webhooks')],
  ['webhook-new', '/admin/webhooks/new', 'owner', at('/admin/webhooks/new')],
  ['webhook-new-wrong', '/admin/webhooks/new', 'owner', async (page) => {
    await page.goto('/admin/webhooks/new')
    await page.getByLabel('URL', { exact: true }).fill('http://hooks.example.org')
    await page.getByText('Choose from').first().click()
    await page.locator('input[name=events][value="team.created"]').check()
    await press(page, 'Add webhook')
    await page.getByText('Nothing was saved').waitFor()
  }, 422],
  ['webhook-created', '/admin/webhooks/new', 'owner', (page, w) => makeWebhook(page, `${w.appUrl}/made`)],
  ['webhook', '/admin/webhooks/{id}', 'owner', at((w) => w.webhook)],
  ['webhook-off', '/admin/webhooks/{id}', 'owner', at((w) => w.silentWebhook)],
  ['webhook-edit', '/admin/webhooks/{id}/edit', 'owner', at((w) => `${w.webhook}/edit`)],
  ['webhook-replay', '/admin/webhooks/{id}/replay', 'owner', at((w) => `${w.webhook}/replay`)],
  ['webhook-rotate', '/admin/webhooks/{id}/rotate', 'owner', at((w) => `${w.webhook}/rotate`)],
  ['webhook-secret', '/admin/webhooks/{id}/rotate', 'owner', async (page, w) => {
    await page.goto(`${w.webhook}/rotate`)
    await press(page, 'Rotate secret')
    await page.locator('#secret').waitFor()
  }],
  ['webhook-turn-off', '/admin/webhooks/{id}/off', 'owner', at((w) => `${w.webhook}/off`)],
  ['webhook-delete', '/admin/webhooks/{id}/delete', 'owner', at((w) => `${w.webhook}/delete`)],
  ['webhook-delivery', '/admin/webhooks/{id}/deliveries/{delivery}', 'owner', async (page, w) => {
    await page.goto(w.delivery)
    await page.getByText('Response to attempt').first().click()
  }],
  ['store', '/admin/store', 'owner', at('/admin/store')],
  ['store-product-new', '/admin/store/products/new', 'owner', at('/admin/store/products/new')],
  ['store-product-wrong', '/admin/store/products/new', 'owner', async (page) => {
    await page.goto('/admin/store/products/new')
    await page.getByLabel('Name', { exact: true }).fill('Ball')
    await page.locator('#price').fill('cheap')
    await page.locator('input[name=sized][value=yes]').check()
    await page.locator('#variants-0-name').fill('Blue')
    await page.locator('#variants-0-stock').fill('many')
    await press(page, 'Create product')
    await page.getByText('Nothing was saved').waitFor()
  }, 422],
  ['store-product', '/admin/store/products/{id}', 'owner', at((w) => `/admin/store/products/${w.product.id}`)],
  ['store-product-archive', '/admin/store/products/{id}/archive', 'owner', at((w) => `/admin/store/products/${w.product.id}/archive`)],
  ['store-codes', '/admin/store/codes', 'owner', at('/admin/store/codes')],
  ['store-code-new', '/admin/store/codes/new', 'owner', at('/admin/store/codes/new')],
  ['store-code', '/admin/store/codes/{id}', 'owner', at((w) => `/admin/store/codes/${w.code.id}`)],
  ['store-code-archive', '/admin/store/codes/{id}/archive', 'owner', at((w) => `/admin/store/codes/${w.code.id}/archive`)],
  ['orders', '/admin/orders', 'owner', at('/admin/orders')],
  ['order-new', '/admin/orders/new', 'owner', at('/admin/orders/new')],
  ['order-new-found', '/admin/orders/new', 'owner', async (page, w) => {
    await page.goto('/admin/orders/new')
    await page.locator('#q').fill([...w.names.person].slice(0, 3).join(''))
    await press(page, 'Search')
    await page.getByText('Who is the buyer?').waitFor()
  }],
  ['order-new-products', '/admin/orders/new', 'owner', at((w) => `/admin/orders/new?buyer=${w.member.person_id}`)],
  ['order-new-somebody', '/admin/orders/new', 'owner', async (page, w) => {
    await page.goto('/admin/orders/new')
    await page.locator('#name').fill(w.names.parent)
    await page.getByRole('button', { name: 'Continue' }).last().click()
    await page.getByText('Not available to this buyer').waitFor()
  }],
  ['order', '/admin/orders/{id}', 'owner', at((w) => `/admin/orders/${w.placed.id}`)],
  ['order-paid', '/admin/orders/{id}', 'owner', async (page, w) => {
    await page.goto(`/admin/orders/${w.paid.id}`)
    await page.getByText('Only some items').click()
  }],
  ['order-cancel', '/admin/orders/{id}/cancel', 'owner', at((w) => `/admin/orders/${w.placed.id}/cancel`)],
  ['order-refund', '/admin/orders/{id}/refund', 'owner', at((w) => `/admin/orders/${w.paid.id}/refund`)],
  ['order-refund-wrong', '/admin/orders/{id}/refund', 'owner', async (page, w) => {
    await page.goto(`/admin/orders/${w.paid.id}/refund`)
    await page.getByRole('radio', { name: /^An amount/ }).check()
    await page.locator('#amount').fill('10000')
    await press(page, 'Refund')
    await page.getByText('Nothing was refunded').waitFor()
  }, 422],
  ['orders-print', '/store/orders/print', 'owner', at('/store/orders/print')],
  ['pick-list', '/store/products/{id}/pick-list', 'owner', at((w) => `/store/products/${w.product.id}/pick-list`)],
  ['dues', '/admin/dues', 'owner', at('/admin/dues')],
  ['dues-nothing-fits', '/admin/dues', 'owner', at('/admin/dues?q=nobody-is-called-this')],
  ['dues-charge-team', '/admin/dues/new', 'owner', at('/admin/dues/new')],
  ['dues-charge', '/admin/dues/new', 'owner', at((w) => `/admin/dues/new?team=${w.team.id}`)],
  ['dues-charge-wrong', '/admin/dues/new', 'owner', async (page, w) => {
    await page.goto(`/admin/dues/new?team=${w.team.id}`)
    await page.getByLabel('Title').fill(w.names.note)
    await page.getByLabel('Amount', { exact: true }).fill('-5')
    await page.locator('input[name=split][value=rows]').check()
    await press(page, 'Preview')
    await page.getByText('Nobody was charged').waitFor()
  }, 422],
  ['dues-preview', '/admin/dues/new', 'owner', async (page, w) => {
    await page.goto(`/admin/dues/new?team=${w.team.id}`)
    await page.getByLabel('Title').fill(w.names.note)
    await page.getByLabel('Amount', { exact: true }).fill('135')
    await page.locator('input[name=split][value=equal]').check()
    await page.getByLabel('Number of installments').fill('3')
    await page.locator('#due_on').fill('2027-09-01')
    await press(page, 'Preview')
    await page.getByRole('button', { name: 'Charge members' }).waitFor()
  }],
  ['dues-remind', '/admin/dues/remind', 'owner', at('/admin/dues/remind')],
  ['team-logo', '/teams/{team}/logo', 'owner', at((w) => `/teams/${w.team.id}/logo`)],
  ['person-photo', '/people/{person}/photo', 'owner', at((w) => `/people/${w.member.person_id}/photo`)],
  ['dues-team', '/admin/dues/teams/{team}', 'owner', at((w) => `/admin/dues/teams/${w.team.id}`)],
  ['dues-team-many', '/admin/dues/teams/{team}', 'owner', async (page) => {
    await page.goto('/admin/dues')
    await follow(page.locator('.links a').first())
  }],
  ['due', '/admin/dues/{id}', 'owner', at((w) => `/admin/dues/${w.due.id}`)],
  ['due-edit', '/admin/dues/{id}/edit', 'owner', at((w) => `/admin/dues/${w.freshDue.id}/edit`)],
  ['due-edit-late', '/admin/dues/{id}/edit', 'owner', at((w) => `/admin/dues/${w.due.id}/edit`)],
  ['due-pay', '/admin/dues/{id}/payments/new', 'owner', at((w) => `/admin/dues/${w.due.id}/payments/new`)],
  ['due-refund', '/admin/dues/{id}/payments/{payment}/refund', 'owner', at((w) => `/admin/dues/${w.due.id}/payments/${w.payment.id}/refund`)],
  ['due-waive', '/admin/dues/{id}/waive', 'owner', at((w) => `/admin/dues/${w.due.id}/waive`)],
  ['schedule', '/schedule', 'family', at('/schedule')],
  ['schedule-coach', '/schedule', 'owner', at('/schedule')],
  ['schedule-none', '/schedule', 'parent', at('/schedule')],
  ['schedule-month', '/schedule', 'family', at('/schedule?view=month')],
  ['schedule-past', '/schedule', 'family', at('/schedule?past=1')],
  ['schedule-print', '/schedule/print', 'family', at('/schedule/print')],
  ['schedule-away', '/schedule/away', 'family', at('/schedule/away')],
  ['schedule-subscribe', '/schedule/subscribe', 'family', at('/schedule/subscribe')],
  ['schedule-subscribed', '/schedule/subscribe', 'family', async (page) => {
    await page.goto('/schedule/subscribe')
    await press(page, 'Create link')
    await page.locator('.qr').waitFor()
  }],
  ['schedule-revoke', '/schedule/subscribe/{feed}/revoke', 'owner', at((w) => `/schedule/subscribe/${w.feed.id}/revoke`)],
  ['team-schedule', '/teams/{team}', 'owner', at((w) => `/teams/${w.team.id}`)],
  ['event', '/events/{event}', 'family', at((w) => `/events/${w.event.id}`)],
  ['event-coach', '/events/{event}', 'owner', at((w) => `/events/${w.event.id}`)],
  ['event-cancelled', '/events/{event}', 'family', at((w) => `/events/${w.cancelledEvent.id}`)],
  ['event-answered', '/events/{event}', 'family', async (page, w) => {
    await page.goto(`/events/${w.event.id}`)
    if (await page.locator('.said').count()) return
    await press(page, 'Going')
    await page.locator('.said').waitFor()
  }],
  ['own-dues', '/dues', 'family', at('/dues')],
  ['own-dues-none', '/dues', 'parent', at('/dues')],
  ['own-due', '/dues/{id}', 'family', at((w) => `/dues/${w.due.id}`)],
  ['own-receipt', '/dues/{id}/receipt', 'family', at((w) => `/dues/${w.due.id}/receipt`)],
  ['attendance', '/events/{event}/attendance', 'owner', at((w) => `/events/${w.practice.id}/attendance`)],
  ['event-played', '/events/{event}', 'owner', at((w) => `/events/${w.played.id}`)],
  ['event-result', '/events/{event}/result', 'owner', at((w) => `/events/${w.game.id}/result`)],
  ['event-result-known', '/events/{event}/result', 'owner', at((w) => `/events/${w.played.id}/result`)],
  ['event-result-wrong', '/events/{event}/result', 'owner', async (page, w) => {
    await page.goto(`/events/${w.game.id}/result`)
    await page.getByLabel('Our score').fill('3')
    await press(page, 'Save result')
    await page.getByText('The result was not saved').waitFor()
  }, 422],
  ['event-result-delete', '/events/{event}/result/delete', 'owner', at((w) => `/events/${w.played.id}/result/delete`)],
  ['attendance-wrong', '/events/{event}/attendance', 'owner', async (page, w) => {
    await page.goto(`/events/${w.practice.id}/attendance`)
    await press(page, 'Save')
    await page.getByText('Mark at least one player').waitFor()
  }, 422],
  ['attendance-closed', '/events/{event}/attendance', 'owner', at((w) => `/events/${w.later.id}/attendance`)],
  ['team-attendance', '/teams/{team}/attendance', 'owner', at((w) => `/teams/${w.team.id}/attendance`)],
  ['away', '/people/{person}/away', 'owner', at((w) => `/people/${w.member.person_id}/away`)],
  ['away-wrong', '/people/{person}/away', 'owner', async (page, w) => {
    await page.goto(`/people/${w.member.person_id}/away`)
    await page.getByLabel('First day').fill('2199-05-04')
    await page.getByLabel('Last day').fill('2199-05-01')
    await press(page, 'Add away dates')
    await page.getByText('The away dates were not added').waitFor()
  }, 422],
  ['own-team', '/dues/teams/{team}', 'owner', at((w) => `/dues/teams/${w.team.id}`)],
  ['usage', '/admin/usage', 'owner', at('/admin/usage')],
  ['audit', '/admin/audit', 'owner', at('/admin/audit')],
  ['audit-check', '/admin/audit/check', 'owner', at('/admin/audit/check')],
  ['health', '/admin/health', 'owner', at('/admin/health')],
  ['settings', '/admin/settings', 'owner', at('/admin/settings')],
  ['settings-money', '/admin/settings/payments', 'owner', at('/admin/settings/payments')],
  ['settings-money-wrong', '/admin/settings/payments', 'owner', async (page) => {
    await page.goto('/admin/settings/payments')
    await page.getByLabel('Currency', { exact: true }).fill('XTS')
    await page.getByLabel('Duration').fill('1.5')
    await press(page, 'Save changes')
    await page.getByText('Nothing was saved').waitFor()
  }, 422],
  ['settings-demo', '/admin/settings/demo', 'owner', at('/admin/settings/demo')],

  ['two-step-set-up', '/account/two-step/set-up', 'twoStep', async (page, w) => {
    await signIn(page, w.twoStepUser)
    await page.goto('/account/two-step/set-up')
  }],
  ['two-step-codes', '/account/two-step/set-up', 'twoStep', async (page) => {
    await page.goto('/account/two-step/set-up')
    await page.getByLabel('Code from the app').fill(digits(await page.locator('#key').textContent()))
    await press(page, 'Turn on')
    await page.getByRole('link', { name: 'I have saved my codes' }).waitFor()
  }],
  ['two-step-on', '/account/two-step', 'twoStep', at('/account/two-step')],
  ['two-step-end', '/account/two-step/off', 'twoStep', at('/account/two-step/off')],
  ['sign-in-code', '/sign-in/code', 'nobody', async (page, w) => {
    await page.goto('/sign-in')
    await page.getByLabel('Email', { exact: true }).fill(w.twoStepUser.email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await press(page, 'Sign in')
    await page.getByLabel('Code', { exact: true }).waitFor()
  }],
]

/** Pages of a new service. */
export const FIRST_PAGES = [
  ['not-set-up', '/', async (page) => {
    await page.goto('/')
    await page.getByText('touchline set-up-link').waitFor()
  }],
  ['set-up', '/set-up/{token}', async (page, service) => {
    await page.goto(service.startup.set_up)
    const own = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
    await page.waitForFunction((zone) => document.getElementById('timezone').value === zone, own)
  }],
  ['set-up-demo', '/set-up', async (page) => {
    await page.getByLabel('Club name').fill('Harbour Athletic')
    await page.getByLabel('Your name').fill('Olga Owner')
    await page.getByLabel('Email', { exact: true }).fill('olga@harbour.example')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await press(page, 'Create club')
    await page.getByRole('button', { name: 'Load demo club' }).waitFor()
  }],
  ['admin-empty', '/admin', async (page) => page.goto('/admin')],
  ['teams-empty', '/teams', async (page) => page.goto('/teams')],
  ['members-empty', '/admin/members', async (page) => page.goto('/admin/members')],
  ['invitations-empty', '/admin/members/invitations', async (page) => page.goto('/admin/members/invitations')],
  ['claims-empty', '/admin/members/claims', async (page) => page.goto('/admin/members/claims')],
  ['keys-empty', '/admin/keys', async (page) => page.goto('/admin/keys')],
  ['apps-empty', '/admin/apps', async (page) => page.goto('/admin/apps')],
  ['webhooks-empty', '/admin/webhooks', async (page) => page.goto('/admin/webhooks')],
  ['store-empty', '/admin/store', async (page) => page.goto('/admin/store')],
  ['codes-empty', '/admin/store/codes', async (page) => page.goto('/admin/store/codes')],
  ['orders-empty', '/admin/orders', async (page) => page.goto('/admin/orders')],
  ['dues-empty', '/admin/dues', async (page) => page.goto('/admin/dues')],
  ['dues-no-team', '/admin/dues/new', async (page) => page.goto('/admin/dues/new')],
  ['settings-money-new', '/admin/settings/payments', async (page) => page.goto('/admin/settings/payments')],
  ['usage-empty', '/admin/usage', async (page) => page.goto('/admin/usage')],
  ['audit-new', '/admin/audit', async (page) => page.goto('/admin/audit')],
  ['settings-new', '/admin/settings', async (page) => page.goto('/admin/settings')],
]

/** Adds a virtual authenticator that stores passkeys and verifies its user. */
async function withAuthenticator(page) {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}
