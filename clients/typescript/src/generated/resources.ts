// Generated from openapi.json by scripts/generate.mjs. Do not edit.

import type { List } from '../list.js'
import type { ApiPromise } from '../response.js'
import { formData, segment, type RequestOptions, type Transport } from '../transport.js'
import type * as t from './types.gen.js'

export class CalendarFeedsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List calendar feeds.
   *
   * Returns feeds in order of creation, without their URLs, which are shown only when a feed is created. Users see the
   * feeds they created and those of the teams they manage.
   */
  list(query?: NonNullable<t.CalendarFeedsListData['query']>, options?: RequestOptions): List<t.CalendarFeed, t.CalendarFeedList> {
    return this.transport.list<t.CalendarFeed, t.CalendarFeedList>('/calendar_feeds', query, options)
  }

  /**
   * Create a calendar feed.
   *
   * Creates a feed of a team, or of a person with all their teams and those of their dependents. The response contains
   * the URL to subscribe to. It is shown only once, and everyone who knows it can see the schedule. A key that is
   * limited to certain teams can only create feeds of those teams, since a person may join other teams. Users can create
   * feeds of teams they see, of themselves and of their dependents.
   */
  create(body: t.CalendarFeedsCreateData['body'], options?: RequestOptions): ApiPromise<t.CreatedCalendarFeed> {
    return this.transport.request<t.CreatedCalendarFeed>({ method: 'POST', path: '/calendar_feeds', body }, options)
  }

  /**
   * Retrieve a calendar feed.
   *
   * Returns a calendar feed without its URL, which is shown only when the feed is created.
   */
  get(feedId: string, options?: RequestOptions): ApiPromise<t.CalendarFeed> {
    return this.transport.request<t.CalendarFeed>({ method: 'GET', path: `/calendar_feeds/${segment('feedId', feedId)}` }, options)
  }

  /**
   * Revoke a calendar feed.
   *
   * The feed's URL stops working at once.
   */
  revoke(feedId: string, options?: RequestOptions): ApiPromise<t.CalendarFeed> {
    return this.transport.request<t.CalendarFeed>({ method: 'DELETE', path: `/calendar_feeds/${segment('feedId', feedId)}` }, options)
  }
}

export class CheckoutsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Retrieve a checkout session.
   *
   * Returns a checkout session. Its `status` shows whether it was paid.
   */
  get(checkoutId: string, options?: RequestOptions): ApiPromise<t.Checkout> {
    return this.transport.request<t.Checkout>({ method: 'GET', path: `/checkouts/${segment('checkoutId', checkoutId)}` }, options)
  }
}

export class DeliveriesResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Retrieve a delivery.
   *
   * Returns a delivery with its last 20 attempts.
   */
  get(deliveryId: string, options?: RequestOptions): ApiPromise<t.Delivery> {
    return this.transport.request<t.Delivery>({ method: 'GET', path: `/deliveries/${segment('deliveryId', deliveryId)}` }, options)
  }

  /**
   * Redeliver a delivery.
   *
   * Sends the notification again, whatever the status of the delivery. It is sent immediately and then retried as often
   * as a new one, with the same `webhook-id`. If an attempt is in flight at that time, it counts as the first one. The
   * webhook must be enabled.
   */
  redeliver(deliveryId: string, options?: RequestOptions): ApiPromise<t.Delivery> {
    return this.transport.request<t.Delivery>({ method: 'POST', path: `/deliveries/${segment('deliveryId', deliveryId)}/redeliver` }, options)
  }

  /**
   * List a webhook's deliveries.
   *
   * Returns deliveries newest first, each with its last 20 attempts: time, duration, status code and the beginning of
   * the response. A delivery is listed as soon as its first attempt has ended or takes long. Deliveries are stored as
   * long as the log: 30 days, unless the operator configured another time.
   */
  list(webhookId: string, query?: NonNullable<t.DeliveriesListData['query']>, options?: RequestOptions): List<t.Delivery, t.DeliveryList> {
    return this.transport.list<t.Delivery, t.DeliveryList>(`/webhooks/${segment('webhookId', webhookId)}/deliveries`, query, options)
  }
}

export class DiscountsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List discount codes.
   *
   * Lists active codes by default, oldest first. Only available to admins, and to keys with `orders:write` and access to
   * all teams, because everybody who knows a code can use it.
   */
  list(query?: NonNullable<t.DiscountsListData['query']>, options?: RequestOptions): List<t.Discount, t.DiscountList> {
    return this.transport.list<t.Discount, t.DiscountList>('/discounts', query, options)
  }

  /**
   * Create a discount code.
   *
   * Send either `amount` and `currency`, or `percent_bps` in basis points.
   */
  create(body: t.DiscountsCreateData['body'], options?: RequestOptions): ApiPromise<t.Discount> {
    return this.transport.request<t.Discount>({ method: 'POST', path: '/discounts', body }, options)
  }

  /**
   * Retrieve a discount code.
   *
   * Returns a discount code with its number of uses.
   */
  get(discountId: string, options?: RequestOptions): ApiPromise<t.Discount> {
    return this.transport.request<t.Discount>({ method: 'GET', path: `/discounts/${segment('discountId', discountId)}` }, options)
  }

  /**
   * Update a discount code.
   *
   * Omitted fields stay unchanged; `null` clears a field. Existing orders keep their discount.
   */
  update(discountId: string, body: t.DiscountsUpdateData['body'], options?: RequestOptions): ApiPromise<t.Discount> {
    return this.transport.request<t.Discount>({ method: 'PATCH', path: `/discounts/${segment('discountId', discountId)}`, body }, options)
  }

  /**
   * Archive a discount code.
   *
   * The code can no longer be used, and its name becomes available for a new code.
   */
  archive(discountId: string, options?: RequestOptions): ApiPromise<t.Discount> {
    return this.transport.request<t.Discount>({ method: 'DELETE', path: `/discounts/${segment('discountId', discountId)}` }, options)
  }
}

export class DuesPaymentsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List the payments of a due.
   *
   * In the order in which they were recorded.
   */
  list(dueId: string, query?: NonNullable<t.DuesPaymentsListData['query']>, options?: RequestOptions): List<t.Payment, t.PaymentList> {
    return this.transport.list<t.Payment, t.PaymentList>(`/dues/${segment('dueId', dueId)}/payments`, query, options)
  }

  /**
   * Record a payment.
   *
   * An overpayment becomes the payer's credit, which the next charge uses. With the method `credit`, the payment is
   * taken from the payer's credit. Coaches and managers of the team can record any payment; families can only pay from
   * their credit.
   */
  create(dueId: string, body: t.DuesPaymentsCreateData['body'], options?: RequestOptions): ApiPromise<t.Payment> {
    return this.transport.request<t.Payment>({ method: 'POST', path: `/dues/${segment('dueId', dueId)}/payments`, body }, options)
  }

  /**
   * Retrieve a payment.
   *
   * Returns a payment of a due.
   */
  get(dueId: string, paymentId: string, options?: RequestOptions): ApiPromise<t.Payment> {
    return this.transport.request<t.Payment>({ method: 'GET', path: `/dues/${segment('dueId', dueId)}/payments/${segment('paymentId', paymentId)}` }, options)
  }

  /**
   * Refund a payment.
   *
   * Refunds a payment in full or in part. Unused credit from the payment is refunded first. The rest becomes owed again,
   * unless the due is waived. The amount cannot exceed what is left of the payment.
   */
  refund(dueId: string, paymentId: string, body: t.DuesPaymentsRefundData['body'], options?: RequestOptions): ApiPromise<t.RefundedPayment> {
    return this.transport.request<t.RefundedPayment>({ method: 'POST', path: `/dues/${segment('dueId', dueId)}/payments/${segment('paymentId', paymentId)}/refund`, body }, options)
  }
}

export class DuesResource {
  readonly payments: DuesPaymentsResource
  constructor(private readonly transport: Transport) {
    this.payments = new DuesPaymentsResource(transport)
  }

  /**
   * List dues.
   *
   * Returns dues, newest first. Families see the dues that they or their dependents owe or pay.
   */
  list(query?: NonNullable<t.DuesListData['query']>, options?: RequestOptions): List<t.Due, t.DueList> {
    return this.transport.list<t.Due, t.DueList>('/dues', query, options)
  }

  /**
   * Charge members of a team.
   *
   * Creates one due per member, all or none, and returns them as a list. The payers' credit is applied at once, unless
   * `use_credit` is `false`. Requires permission to manage the team.
   */
  charge(body: t.DuesChargeData['body'], options?: RequestOptions): ApiPromise<t.DueBatchResponse['data']> {
    return this.transport.request<t.DueBatchResponse['data']>({ method: 'POST', path: '/dues', body }, options)
  }

  /**
   * Send reminders to a team.
   *
   * Emails the payers of the team's dues that are overdue or due within a week, except dues with a reminder within the
   * last hour.
   */
  remindTeam(body: t.DuesRemindTeamData['body'], options?: RequestOptions): ApiPromise<t.ReminderResult> {
    return this.transport.request<t.ReminderResult>({ method: 'POST', path: '/dues/remind', body }, options)
  }

  /**
   * Retrieve a due.
   *
   * Returns a due with its installments and balance.
   */
  get(dueId: string, options?: RequestOptions): ApiPromise<t.Due> {
    return this.transport.request<t.Due>({ method: 'GET', path: `/dues/${segment('dueId', dueId)}` }, options)
  }

  /**
   * Update a due.
   *
   * Only possible before anything is paid. Omitted fields stay unchanged; `null` clears a field.
   */
  update(dueId: string, body: t.DuesUpdateData['body'], options?: RequestOptions): ApiPromise<t.Due> {
    return this.transport.request<t.Due>({ method: 'PATCH', path: `/dues/${segment('dueId', dueId)}`, body }, options)
  }

  /**
   * Create a checkout session for a due.
   *
   * The response contains the `url` of a page where the due can be paid by card within an hour, in full or in part. Send
   * the payer there. The payment is recorded as soon as the payment provider confirms it. While a session for the same
   * amount is open, the same one is returned.
   */
  checkout(dueId: string, body: t.DuesCheckoutData['body'], options?: RequestOptions): ApiPromise<t.Checkout> {
    return this.transport.request<t.Checkout>({ method: 'POST', path: `/dues/${segment('dueId', dueId)}/checkout`, body }, options)
  }

  /**
   * Send a reminder for a due.
   *
   * Emails the payer, and the guardians who receive messages if the payer is a minor or has no email address. At most
   * once an hour.
   */
  remind(dueId: string, options?: RequestOptions): ApiPromise<t.ReminderResult> {
    return this.transport.request<t.ReminderResult>({ method: 'POST', path: `/dues/${segment('dueId', dueId)}/remind` }, options)
  }

  /**
   * Waive the open balance of a due.
   *
   * The open balance is no longer owed. Payments that were made stay.
   */
  waive(dueId: string, body: t.DuesWaiveData['body'], options?: RequestOptions): ApiPromise<t.Due> {
    return this.transport.request<t.Due>({ method: 'POST', path: `/dues/${segment('dueId', dueId)}/waive`, body }, options)
  }

  /**
   * Retrieve the statement of a family.
   *
   * Returns what a person owes and has paid as a payer, in total and line by line. Users who request their own statement
   * get that of their whole family. Coaches and managers see the amounts of their teams.
   */
  statement(personId: string, options?: RequestOptions): ApiPromise<t.Statement> {
    return this.transport.request<t.Statement>({ method: 'GET', path: `/people/${segment('personId', personId)}/statement` }, options)
  }

  /**
   * Retrieve the statement of a team.
   *
   * Returns amounts charged, paid, waived and outstanding, in total and per payer.
   */
  teamStatement(teamId: string, options?: RequestOptions): ApiPromise<t.TeamStatement> {
    return this.transport.request<t.TeamStatement>({ method: 'GET', path: `/teams/${segment('teamId', teamId)}/dues/statement` }, options)
  }
}

export class EmailsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List emails.
   *
   * Returns sent and pending emails, newest first. API keys that are limited to certain teams cannot use this endpoint.
   */
  list(query?: NonNullable<t.EmailsListData['query']>, options?: RequestOptions): List<t.Email, t.EmailList> {
    return this.transport.list<t.Email, t.EmailList>('/emails', query, options)
  }

  /**
   * Retrieve an email.
   *
   * Returns an email with its delivery status.
   */
  get(emailId: string, options?: RequestOptions): ApiPromise<t.Email> {
    return this.transport.request<t.Email>({ method: 'GET', path: `/emails/${segment('emailId', emailId)}` }, options)
  }
}

export class EventTypesResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List notification types.
   *
   * Returns every notification type that a webhook can receive, with the JSON Schema of its body and an example. `ping`
   * is sent by a test; all other types are in the account's log.
   */
  list(query?: NonNullable<t.EventTypesListData['query']>, options?: RequestOptions): List<t.EventTypeInfo, t.EventTypeInfoList> {
    return this.transport.list<t.EventTypeInfo, t.EventTypeInfoList>('/event_types', query, options)
  }
}

export class EventsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List events.
   *
   * Returns events ordered by start, including cancelled ones unless you filter by `status`.
   */
  list(query?: NonNullable<t.EventsListData['query']>, options?: RequestOptions): List<t.TeamEvent, t.TeamEventList> {
    return this.transport.list<t.TeamEvent, t.TeamEventList>('/events', query, options)
  }

  /**
   * Create an event.
   *
   * With `recurrence`, creates a series and returns its first event. `warnings` lists overlapping events.
   */
  create(body: t.EventsCreateData['body'], options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'POST', path: '/events', body }, options)
  }

  /**
   * Retrieve an event.
   *
   * Returns an event with its location, duties and RSVP counts. `warnings` is empty here.
   */
  get(eventId: string, options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'GET', path: `/events/${segment('eventId', eventId)}` }, options)
  }

  /**
   * Update an event.
   *
   * Omitted fields stay unchanged; `null` clears a field. In a series, `apply_to` selects whether the following events
   * or all events change too. Events that were changed individually stay unchanged, unless `override_exceptions` is
   * `true`: then the fields of this request apply to them too, and a new start moves them back into the series. Events
   * that are over keep their times, unless this event is over itself. The people on the team get an email if the time or
   * place of an event within the next 14 days changes.
   */
  update(eventId: string, body: t.EventsUpdateData['body'], options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'PATCH', path: `/events/${segment('eventId', eventId)}`, body }, options)
  }

  /**
   * Delete an event.
   *
   * Only possible while the event has no RSVPs; otherwise cancel it. With `apply_to`, cancelled events of the series
   * stay, and so do events that are over, unless this event is over itself.
   */
  delete(eventId: string, query?: NonNullable<t.EventsDeleteData['query']>, options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'DELETE', path: `/events/${segment('eventId', eventId)}`, query }, options)
  }

  /**
   * Cancel an event.
   *
   * The event stays visible. In a series, `apply_to` selects whether the following events or all events are cancelled
   * too. Events that are over are skipped, unless this event is over itself. The people on the team get an email about
   * events within the next 14 days.
   */
  cancel(eventId: string, body: t.EventsCancelData['body'], options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'POST', path: `/events/${segment('eventId', eventId)}/cancel`, body }, options)
  }

  /**
   * Postpone an event.
   *
   * Marks an event as postponed: it takes place later, at a time that is not known yet. Updating `starts_at` schedules
   * it again. The people on the team get an email about an event within the next 14 days.
   */
  postpone(eventId: string, options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'POST', path: `/events/${segment('eventId', eventId)}/postpone` }, options)
  }
}

export class AttendanceResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Retrieve the attendance of an event.
   *
   * Returns the members whose attendance is recorded, in roster order. Families only see their own members.
   */
  get(eventId: string, options?: RequestOptions): ApiPromise<t.Attendance> {
    return this.transport.request<t.Attendance>({ method: 'GET', path: `/events/${segment('eventId', eventId)}/attendance` }, options)
  }

  /**
   * Record the attendance of an event.
   *
   * Replaces the entries of these members. Members who are left out stay unchanged. Possible from 24 hours before the
   * start of the event.
   */
  record(eventId: string, body: t.AttendanceRecordData['body'], options?: RequestOptions): ApiPromise<t.Attendance> {
    return this.transport.request<t.Attendance>({ method: 'PUT', path: `/events/${segment('eventId', eventId)}/attendance`, body }, options)
  }

  /**
   * List the attendance of a team's members.
   *
   * Returns how often each member was at the team's events, in roster order. Members who have left the team appear if they
   * have any attendance. Cancelled events do not count. Families only see their own members.
   */
  listForTeam(teamId: string, query?: NonNullable<t.AttendanceListForTeamData['query']>, options?: RequestOptions): List<t.MemberAttendance, t.MemberAttendanceList> {
    return this.transport.list<t.MemberAttendance, t.MemberAttendanceList>(`/teams/${segment('teamId', teamId)}/attendance`, query, options)
  }
}

export class DutiesResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Take a duty.
   *
   * Assigns a duty to a person: a member of the team, or a guardian of a member. Users can take duties for themselves
   * and their dependents; coaches and managers for everybody on their team.
   */
  assign(eventId: string, dutyId: string, personId: string, options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'PUT', path: `/events/${segment('eventId', eventId)}/duties/${segment('dutyId', dutyId)}/assignees/${segment('personId', personId)}` }, options)
  }

  /**
   * Give up a duty.
   *
   * Removes a person from the assignees of a duty.
   */
  unassign(eventId: string, dutyId: string, personId: string, options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'DELETE', path: `/events/${segment('eventId', eventId)}/duties/${segment('dutyId', dutyId)}/assignees/${segment('personId', personId)}` }, options)
  }
}

export class ResultsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Record the result of a game.
   *
   * Records or replaces the result, seen from the team of the event. A final score or a forfeit completes the event. Send
   * `in_progress` while the game is played: its score can be replaced as often as you like. A result can be recorded from
   * 24 hours before the start. It can be corrected later; the previous value is kept in the audit log.
   */
  record(eventId: string, body: t.ResultsRecordData['body'], options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'PUT', path: `/events/${segment('eventId', eventId)}/result`, body }, options)
  }

  /**
   * Delete the result of a game.
   *
   * Use this for a result that was recorded for the wrong game. The event is scheduled again.
   */
  delete(eventId: string, options?: RequestOptions): ApiPromise<t.TeamEvent> {
    return this.transport.request<t.TeamEvent>({ method: 'DELETE', path: `/events/${segment('eventId', eventId)}/result` }, options)
  }
}

export class RsvpsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List the RSVPs of an event.
   *
   * Returns RSVPs in roster order. Families only see the notes of their own family.
   */
  list(eventId: string, query?: NonNullable<t.RsvpsListData['query']>, options?: RequestOptions): List<t.Rsvp, t.RsvpList> {
    return this.transport.list<t.Rsvp, t.RsvpList>(`/events/${segment('eventId', eventId)}/rsvps`, query, options)
  }

  /**
   * Retrieve a member's RSVP.
   *
   * Returns the current answer of a member.
   */
  get(eventId: string, memberId: string, options?: RequestOptions): ApiPromise<t.Rsvp> {
    return this.transport.request<t.Rsvp>({ method: 'GET', path: `/events/${segment('eventId', eventId)}/rsvps/${segment('memberId', memberId)}` }, options)
  }

  /**
   * Record a member's RSVP.
   *
   * A yes to a full event is recorded as `waitlisted` and becomes `yes`, in order, when places become free. Users can
   * answer for themselves and their dependents; coaches and managers for everybody on their team.
   */
  answer(eventId: string, memberId: string, body: t.RsvpsAnswerData['body'], options?: RequestOptions): ApiPromise<t.Rsvp> {
    return this.transport.request<t.Rsvp>({ method: 'PUT', path: `/events/${segment('eventId', eventId)}/rsvps/${segment('memberId', memberId)}`, body }, options)
  }

  /**
   * List a member's RSVP history.
   *
   * Returns all answers, oldest first. `answer` is `null` if the answer was withdrawn because the member left the team or is
   * no longer away.
   */
  listHistory(eventId: string, memberId: string, query?: NonNullable<t.RsvpsListHistoryData['query']>, options?: RequestOptions): List<t.RsvpHistoryEntry, t.RsvpHistoryEntryList> {
    return this.transport.list<t.RsvpHistoryEntry, t.RsvpHistoryEntryList>(`/events/${segment('eventId', eventId)}/rsvps/${segment('memberId', memberId)}/history`, query, options)
  }

  /**
   * List members without an RSVP.
   *
   * Returns current members of the roster who have not answered, in roster order.
   */
  listUnanswered(eventId: string, query?: NonNullable<t.RsvpsListUnansweredData['query']>, options?: RequestOptions): List<t.UnansweredMember, t.UnansweredMemberList> {
    return this.transport.list<t.UnansweredMember, t.UnansweredMemberList>(`/events/${segment('eventId', eventId)}/unanswered`, query, options)
  }
}

export class ExportsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Export attendance.
   *
   * One row per member and event. Columns: `event_id`, `team_id`, `team`, `event`, `event_type`, `event_status`,
   * `starts_at`, `starts_local`, `member_id`, `first_name`, `last_name`, `role`, `status`, `note`, `recorded_by`,
   * `recorded_at`.
   */
  attendance(query?: NonNullable<t.ExportsAttendanceData['query']>, options?: RequestOptions): ApiPromise<Response> {
    return this.transport.request<Response>({ method: 'GET', path: '/exports/attendance.csv', query, as: 'raw' }, options)
  }

  /**
   * Export dues.
   *
   * One row per due. Amounts are in minor units of the currency. Columns: `due_id`, `charge_id`, `team_id`, `team`,
   * `member_id`, `first_name`, `last_name`, `payer_id`, `payer_first_name`, `payer_last_name`, `title`, `category`,
   * `currency`, `amount`, `discount`, `late_fee`, `paid`, `waived`, `balance`, `status`, `overdue`, `due_on`,
   * `next_due_on`, `created_at`.
   */
  dues(query?: NonNullable<t.ExportsDuesData['query']>, options?: RequestOptions): ApiPromise<Response> {
    return this.transport.request<Response>({ method: 'GET', path: '/exports/dues.csv', query, as: 'raw' }, options)
  }

  /**
   * Export the schedule.
   *
   * One row per event, ordered by start. Columns: `event_id`, `team_id`, `team`, `type`, `title`, `status`,
   * `starts_at`, `ends_at`, `starts_local`, `ends_local`, `timezone`, `all_day`, `arrival_minutes`, `location`,
   * `address`, `opponent`, `home_away`, `uniform`, `notes`, `rsvp_deadline`, `capacity`, `yes`, `no`, `maybe`,
   * `waitlisted`, `unanswered`, `series_id`, `cancel_reason`, `external_id`.
   */
  events(query?: NonNullable<t.ExportsEventsData['query']>, options?: RequestOptions): ApiPromise<Response> {
    return this.transport.request<Response>({ method: 'GET', path: '/exports/events.csv', query, as: 'raw' }, options)
  }

  /**
   * Export the ledger.
   *
   * One row per ledger entry, in order. Amounts are in minor units of the currency. The debits and credits of a movement
   * add up to the same amount. Columns: `movement_id`, `line`, `created_at`, `kind`, `subject_id`, `reference`,
   * `team_id`, `person_id`, `payer_id`, `book`, `currency`, `debit`, `credit`, `actor`. Not
   * available to keys that are limited to certain teams.
   */
  ledger(query?: NonNullable<t.ExportsLedgerData['query']>, options?: RequestOptions): ApiPromise<Response> {
    return this.transport.request<Response>({ method: 'GET', path: '/exports/ledger.csv', query, as: 'raw' }, options)
  }

  /**
   * Export orders.
   *
   * One row per order line, in order of creation. Columns: `order_id`, `number`, `team_id`, `team`, `status`,
   * `created_at`, `paid_at`, `fulfilled_at`, `cancelled_at`, `buyer_member_id`, `buyer`, `buyer_email`, `note`,
   * `discount_code`, `currency`, `order_total`, `order_paid`, `order_refunded`, `line_id`, `product_id`, `product`,
   * `variant`, `unit_price`, `quantity`, `discount`, `tax_rate_bps`, `tax_included`, `tax`, `total`, `fulfilled`,
   * `returned`, `refunded`, `external_id`. Amounts are in minor units of the currency.
   */
  orders(query?: NonNullable<t.ExportsOrdersData['query']>, options?: RequestOptions): ApiPromise<Response> {
    return this.transport.request<Response>({ method: 'GET', path: '/exports/orders.csv', query, as: 'raw' }, options)
  }

  /**
   * Export the roster.
   *
   * One row per membership. Columns: `member_id`, `person_id`, `team_id`, `team`, `first_name`,
   * `last_name`, `preferred_name`, `role`, `jersey_number`, `positions`, `status`, `joined_on`, `left_on`,
   * `external_id`, `created_at`; with `include=private` also `birth_date`, `email`, `phone`, `address`,
   * `emergency_contact`, `medical_note`, `guardians` (number of guardians) and, for the first three of them,
   * `guardian_1_name`, `guardian_1_relationship`, `guardian_1_email`, `guardian_1_phone`,
   * `guardian_1_can_pick_up`, `guardian_1_receives_messages` and so on. Text that a
   * spreadsheet would read as a formula is prefixed with a single quote.
   */
  roster(query?: NonNullable<t.ExportsRosterData['query']>, options?: RequestOptions): ApiPromise<Response> {
    return this.transport.request<Response>({ method: 'GET', path: '/exports/roster.csv', query, as: 'raw' }, options)
  }

  /**
   * Export RSVPs.
   *
   * One row per RSVP. Columns: `event_id`, `team_id`, `team`, `event`, `event_status`,
   * `starts_at`, `starts_local`, `member_id`, `first_name`, `last_name`, `role`, `answer`, `note`, `answered_by`,
   * `answered_at`.
   */
  rsvps(query?: NonNullable<t.ExportsRsvpsData['query']>, options?: RequestOptions): ApiPromise<Response> {
    return this.transport.request<Response>({ method: 'GET', path: '/exports/rsvps.csv', query, as: 'raw' }, options)
  }
}

export class FilesResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Upload a file.
   *
   * Stores a file. To use it, send its ID within a day: `attachment_ids` of a message, `logo_file_id` of a team or
   * `photo_file_id` of a person. Until then only you can retrieve it. The type is recognized by the content. Images are
   * stored as JPEG or PNG, upright and without metadata, with at most 2560 pixels per side (logos and photos: 1024). Of an
   * animation, only the first frame is kept. An image can have up to 25 megapixels. Attachments need the scope
   * `messages:write`, logos `teams:write` and photos `roster:write`.
   */
  create(body: t.FilesCreateData['body'], options?: RequestOptions): ApiPromise<t.UploadedFile> {
    return this.transport.request<t.UploadedFile>({ method: 'POST', path: '/files', body: formData(body) }, options)
  }

  /**
   * Retrieve a file.
   *
   * Returns a file without its content. An attachment can be retrieved by everybody who can read its message, a logo by
   * everybody who can see the team, and a photo by the person, their guardians, coaches and managers of their teams, and
   * admins. Attachments need the scope `messages:read`, logos `teams:read` and photos `roster:read`.
   */
  get(fileId: string, options?: RequestOptions): ApiPromise<t.UploadedFile> {
    return this.transport.request<t.UploadedFile>({ method: 'GET', path: `/files/${segment('fileId', fileId)}` }, options)
  }

  /**
   * Download a file.
   *
   * Returns the content of a file, to everybody who can retrieve the file.
   */
  download(fileId: string, query?: NonNullable<t.FilesDownloadData['query']>, options?: RequestOptions): ApiPromise<Response> {
    return this.transport.request<Response>({ method: 'GET', path: `/files/${segment('fileId', fileId)}/content`, query, as: 'raw' }, options)
  }
}

export class LocationsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List locations.
   *
   * Returns locations in order of creation. Only active locations, unless you filter by `status`. Players and parents
   * see the locations of their teams' events. API keys for certain teams also see locations they created. Coaches and
   * managers see both, and `shared` locations. Admins and keys for the whole club see all locations.
   */
  list(query?: NonNullable<t.LocationsListData['query']>, options?: RequestOptions): List<t.EventLocation, t.EventLocationList> {
    return this.transport.list<t.EventLocation, t.EventLocationList>('/locations', query, options)
  }

  /**
   * Create a location.
   *
   * A location created by an admin or a key for the whole club is shared with the coaches and managers of every team,
   * unless `shared` is `false`. Other locations are only visible to their creator and to teams with an event there.
   */
  create(body: t.LocationsCreateData['body'], options?: RequestOptions): ApiPromise<t.EventLocation> {
    return this.transport.request<t.EventLocation>({ method: 'POST', path: '/locations', body }, options)
  }

  /**
   * Retrieve a location.
   *
   * Returns 404 for a location that the caller may not see. See "List locations" for the rules.
   */
  get(locationId: string, options?: RequestOptions): ApiPromise<t.EventLocation> {
    return this.transport.request<t.EventLocation>({ method: 'GET', path: `/locations/${segment('locationId', locationId)}` }, options)
  }

  /**
   * Update a location.
   *
   * Omitted fields stay unchanged; `null` clears a field. Only for admins and keys for the whole club, because
   * other teams may have events there.
   */
  update(locationId: string, body: t.LocationsUpdateData['body'], options?: RequestOptions): ApiPromise<t.EventLocation> {
    return this.transport.request<t.EventLocation>({ method: 'PATCH', path: `/locations/${segment('locationId', locationId)}`, body }, options)
  }

  /**
   * Archive a location.
   *
   * The location can no longer be used for new events. Existing events keep it. Only for admins and keys for the whole
   * club.
   */
  archive(locationId: string, options?: RequestOptions): ApiPromise<t.EventLocation> {
    return this.transport.request<t.EventLocation>({ method: 'DELETE', path: `/locations/${segment('locationId', locationId)}` }, options)
  }
}

export class MeResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Retrieve the caller.
   *
   * Returns the credential of this request with its account, scopes and rate limits.
   */
  get(options?: RequestOptions): ApiPromise<t.Caller> {
    return this.transport.request<t.Caller>({ method: 'GET', path: '/me' }, options)
  }
}

export class NotificationSettingsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Retrieve your notification settings.
   *
   * Returns which emails the user gets and when, for all clubs. Emails about the user's sign-in and about the protection of a
   * child, and messages in conversations with a child, are always sent at once. API keys have no settings.
   */
  get(options?: RequestOptions): ApiPromise<t.NotificationSettings> {
    return this.transport.request<t.NotificationSettings>({ method: 'GET', path: '/me/notification_settings' }, options)
  }

  /**
   * Update your notification settings.
   *
   * Omitted fields stay unchanged; `null` clears a field.
   */
  update(body: t.NotificationSettingsUpdateData['body'], options?: RequestOptions): ApiPromise<t.NotificationSettings> {
    return this.transport.request<t.NotificationSettings>({ method: 'PATCH', path: '/me/notification_settings', body }, options)
  }
}

export class MessageTemplatesResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List message templates.
   *
   * Returns templates in order of creation.
   */
  list(query?: NonNullable<t.MessageTemplatesListData['query']>, options?: RequestOptions): List<t.MessageTemplate, t.MessageTemplateList> {
    return this.transport.list<t.MessageTemplate, t.MessageTemplateList>('/message_templates', query, options)
  }

  /**
   * Create a message template.
   *
   * All coaches and managers of the club can read it. Not available to keys that are limited to certain teams.
   */
  create(body: t.MessageTemplatesCreateData['body'], options?: RequestOptions): ApiPromise<t.MessageTemplate> {
    return this.transport.request<t.MessageTemplate>({ method: 'POST', path: '/message_templates', body }, options)
  }

  /**
   * Retrieve a message template.
   *
   * Returns a template with its text.
   */
  get(templateId: string, options?: RequestOptions): ApiPromise<t.MessageTemplate> {
    return this.transport.request<t.MessageTemplate>({ method: 'GET', path: `/message_templates/${segment('templateId', templateId)}` }, options)
  }

  /**
   * Update a message template.
   *
   * Omitted fields stay unchanged; `null` clears a field. Not available to keys that are limited to certain teams.
   */
  update(templateId: string, body: t.MessageTemplatesUpdateData['body'], options?: RequestOptions): ApiPromise<t.MessageTemplate> {
    return this.transport.request<t.MessageTemplate>({ method: 'PATCH', path: `/message_templates/${segment('templateId', templateId)}`, body }, options)
  }

  /**
   * Delete a message template.
   *
   * Messages written with it are kept. Not available to keys that are limited to certain teams.
   */
  delete(templateId: string, options?: RequestOptions): ApiPromise<t.MessageTemplate> {
    return this.transport.request<t.MessageTemplate>({ method: 'DELETE', path: `/message_templates/${segment('templateId', templateId)}` }, options)
  }
}

export class MessagesResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List messages.
   *
   * Returns messages, most recently published first. Scheduled messages are only listed if you filter by `status`.
   * Retracted messages are listed without their content. Users see the messages that they or their dependents received
   * and the messages they wrote. Coaches and managers see all messages of their teams.
   */
  list(query?: NonNullable<t.MessagesListData['query']>, options?: RequestOptions): List<t.Message, t.MessageList> {
    return this.transport.list<t.Message, t.MessageList>('/messages', query, options)
  }

  /**
   * Post a message.
   *
   * Posts an announcement, the first message of a conversation, or a reply (`parent_id`). Guardians of minors receive
   * the messages to the minors. A conversation with a minor needs two confirmed adults, or a guardian of each minor. So
   * does an announcement to one minor, to named members, to staff or to `unanswered`. If necessary, guardians are added
   * to the recipients. If there are still too few adults, the request fails with 409 `conflict` and the error code
   * `second_adult_required`. Users post in their own name. Only coaches and managers can post announcements and pin
   * messages.
   */
  create(body: t.MessagesCreateData['body'], options?: RequestOptions): ApiPromise<t.Message> {
    return this.transport.request<t.Message>({ method: 'POST', path: '/messages', body }, options)
  }

  /**
   * Preview a message.
   *
   * Returns how many people would receive a message, without posting it. Send the body of `POST /messages`. The request
   * fails as `POST /messages` does, for example if the message needs a second adult. The numbers are the current ones:
   * the recipients of a scheduled message are determined when it is published.
   */
  preview(body: t.MessagesPreviewData['body'], options?: RequestOptions): ApiPromise<t.MessagePreview> {
    return this.transport.request<t.MessagePreview>({ method: 'POST', path: '/messages/preview', body }, options)
  }

  /**
   * Count unread messages.
   *
   * Returns the number of published messages that a person has not read, in total and by team.
   */
  countUnread(query: NonNullable<t.MessagesCountUnreadData['query']>, options?: RequestOptions): ApiPromise<t.UnreadCounts> {
    return this.transport.request<t.UnreadCounts>({ method: 'GET', path: '/messages/unread', query }, options)
  }

  /**
   * Retrieve a message.
   *
   * Returns a message. After a message is retracted, `subject` and `body` are `null`, except for admins and adults who
   * received a message to a minor.
   */
  get(messageId: string, options?: RequestOptions): ApiPromise<t.Message> {
    return this.transport.request<t.Message>({ method: 'GET', path: `/messages/${segment('messageId', messageId)}` }, options)
  }

  /**
   * Update a message.
   *
   * `pinned` and `metadata` can always be changed. All other fields can only be changed while the message is scheduled.
   * Omitted fields stay unchanged.
   */
  update(messageId: string, body: t.MessagesUpdateData['body'], options?: RequestOptions): ApiPromise<t.Message> {
    return this.transport.request<t.Message>({ method: 'PATCH', path: `/messages/${segment('messageId', messageId)}`, body }, options)
  }

  /**
   * Retract a message.
   *
   * The content of a retracted message is no longer shown. The message stays in lists, with who retracted it and when.
   * Pending emails about it are cancelled, unless a minor received it. A scheduled message is not published.
   */
  retract(messageId: string, options?: RequestOptions): ApiPromise<t.Message> {
    return this.transport.request<t.Message>({ method: 'DELETE', path: `/messages/${segment('messageId', messageId)}` }, options)
  }

  /**
   * List receipts.
   *
   * Lists who received the message and who has read it. Only for the author and for coaches and managers of the team.
   */
  listReceipts(messageId: string, query?: NonNullable<t.MessagesListReceiptsData['query']>, options?: RequestOptions): List<t.ReadReceipt, t.ReadReceiptList> {
    return this.transport.list<t.ReadReceipt, t.ReadReceiptList>(`/messages/${segment('messageId', messageId)}/receipts`, query, options)
  }

  /**
   * Mark a message as read.
   *
   * Idempotent: `read_at` stays the time of the first request. Users can mark messages as read for themselves and their
   * dependents.
   */
  markRead(messageId: string, personId: string, options?: RequestOptions): ApiPromise<t.ReadReceipt> {
    return this.transport.request<t.ReadReceipt>({ method: 'PUT', path: `/messages/${segment('messageId', messageId)}/receipts/${segment('personId', personId)}` }, options)
  }
}

export class NotificationsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List notifications.
   *
   * Returns the account's log in ascending order of `sequence`, with exactly the bodies that webhooks receive. You see
   * the types for which you have the scope, of the teams that you can access. To continue, send as `after` the
   * `next_sequence` of the previous page, or the `sequence` of the last notification that you have. Old notifications
   * are deleted: then the status is 410, and the `detail` names the oldest sequence number that is left.
   */
  list(query?: NonNullable<t.NotificationsListData['query']>, options?: RequestOptions): List<t.WebhookEvent, t.NotificationList> {
    return this.transport.list<t.WebhookEvent, t.NotificationList>('/notifications', query, options)
  }

  /**
   * Stream notifications.
   *
   * Sends the log as server-sent events: `id` is the `sequence`, `event` is the type and `data` is the body. The stream
   * starts with new notifications, or after the sequence number in `Last-Event-ID` (or `after`). A comment is sent every
   * 15 seconds without notifications. The stream ends when the credential is revoked, when the service stops, or when
   * you read nothing for 20 seconds. To continue, reconnect with `Last-Event-ID`. An account can have 20 streams on each
   * node.
   */
  follow(query?: NonNullable<t.NotificationsFollowData['query']>, options?: RequestOptions): AsyncGenerator<t.WebhookEvent, void, undefined> {
    return this.transport.follow<t.WebhookEvent>('/notifications/stream', query, options)
  }
}

export class OrdersPaymentsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List payments of an order.
   *
   * Returns payments in the order in which they were recorded. A free order has no payment.
   */
  list(orderId: string, query?: NonNullable<t.OrdersPaymentsListData['query']>, options?: RequestOptions): List<t.Payment, t.PaymentList> {
    return this.transport.list<t.Payment, t.PaymentList>(`/orders/${segment('orderId', orderId)}/payments`, query, options)
  }
}

export class OrdersRefundsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List refunds of an order.
   *
   * Returns refunds in the order in which they were recorded. A refund to a card is `pending` until the payment provider
   * completes it. A `failed` refund does not count as refunded.
   */
  list(orderId: string, query?: NonNullable<t.OrdersRefundsListData['query']>, options?: RequestOptions): List<t.Refund, t.RefundList> {
    return this.transport.list<t.Refund, t.RefundList>(`/orders/${segment('orderId', orderId)}/refunds`, query, options)
  }
}

export class OrdersResource {
  readonly payments: OrdersPaymentsResource
  readonly refunds: OrdersRefundsResource
  constructor(private readonly transport: Transport) {
    this.payments = new OrdersPaymentsResource(transport)
    this.refunds = new OrdersRefundsResource(transport)
  }

  /**
   * List orders.
   *
   * Newest first by default. Users see orders for themselves and their dependents. Coaches and managers also
   * see all orders of their teams.
   */
  list(query?: NonNullable<t.OrdersListData['query']>, options?: RequestOptions): List<t.Order, t.OrderList> {
    return this.transport.list<t.Order, t.OrderList>('/orders', query, options)
  }

  /**
   * Place an order.
   *
   * The server calculates prices, tax and totals, which do not change later. Stock is reserved immediately and
   * released if the order is cancelled or not paid in time. Families order for themselves and their
   * dependents, coaches and managers for their teams, keys for anybody. If a product is sold out, the response is
   * 409 with the error code `sold_out`. Free orders are paid immediately.
   */
  create(body: t.OrdersCreateData['body'], options?: RequestOptions): ApiPromise<t.Order> {
    return this.transport.request<t.Order>({ method: 'POST', path: '/orders', body }, options)
  }

  /**
   * Retrieve an order.
   *
   * Returns an order with its lines. `GET /orders/{order_id}/payments` lists its payments.
   */
  get(orderId: string, options?: RequestOptions): ApiPromise<t.Order> {
    return this.transport.request<t.Order>({ method: 'GET', path: `/orders/${segment('orderId', orderId)}` }, options)
  }

  /**
   * Update an order.
   *
   * Changes the note and metadata. Lines and amounts of an order do not change; cancel or refund it instead.
   */
  update(orderId: string, body: t.OrdersUpdateData['body'], options?: RequestOptions): ApiPromise<t.Order> {
    return this.transport.request<t.Order>({ method: 'PATCH', path: `/orders/${segment('orderId', orderId)}`, body }, options)
  }

  /**
   * Cancel an order.
   *
   * Only unpaid orders, and free orders that are not fulfilled, can be cancelled. The stock is restored and the use of
   * the discount code is released. Families can cancel their own orders.
   */
  cancel(orderId: string, body: t.OrdersCancelData['body'], options?: RequestOptions): ApiPromise<t.Order> {
    return this.transport.request<t.Order>({ method: 'POST', path: `/orders/${segment('orderId', orderId)}/cancel`, body }, options)
  }

  /**
   * Create a checkout session for an order.
   *
   * The response contains the `url` of a page where the order can be paid by card within an hour. Send the payer
   * there. The order is paid as soon as the payment provider confirms the payment. While a session is open, the same
   * one is returned.
   */
  checkout(orderId: string, body: t.OrdersCheckoutData['body'], options?: RequestOptions): ApiPromise<t.Checkout> {
    return this.transport.request<t.Checkout>({ method: 'POST', path: `/orders/${segment('orderId', orderId)}/checkout`, body }, options)
  }

  /**
   * Erase the buyer of an order.
   *
   * For a buyer who is not on a roster and was only named in the order. Erases the name, the email address, the note, and
   * the reasons and payment references of the order. Items and payments stay. A buyer who is a person of the club is erased
   * together with that person; here the response is 409 `invalid_state`. Not available to keys that are limited to certain
   * teams.
   */
  eraseBuyer(orderId: string, options?: RequestOptions): ApiPromise<t.Order> {
    return this.transport.request<t.Order>({ method: 'POST', path: `/orders/${segment('orderId', orderId)}/erase_buyer` }, options)
  }

  /**
   * Fulfill an order.
   *
   * Records that the buyer has received everything, or some units of some lines. A paid order becomes `fulfilled` when
   * nothing is left to fulfill. A partially refunded order stays `partially_refunded`; its `fulfilled_at` is set
   * instead.
   */
  fulfill(orderId: string, body: t.OrdersFulfillData['body'], options?: RequestOptions): ApiPromise<t.Order> {
    return this.transport.request<t.Order>({ method: 'POST', path: `/orders/${segment('orderId', orderId)}/fulfill`, body }, options)
  }

  /**
   * Record the payment of an order.
   *
   * An order is paid once and in full. If you send `amount`, it must equal the order's total.
   */
  pay(orderId: string, body: t.OrdersPayData['body'], options?: RequestOptions): ApiPromise<t.Order> {
    return this.transport.request<t.Order>({ method: 'POST', path: `/orders/${segment('orderId', orderId)}/pay`, body }, options)
  }

  /**
   * Refund an order.
   *
   * Refunds everything that is left, an `amount`, or the price of some units in `lines`. Refunds never exceed the
   * payment. Returned units go back to the stock unless `restock` is `false`.
   */
  refund(orderId: string, body: t.OrdersRefundData['body'], options?: RequestOptions): ApiPromise<t.RefundedOrder> {
    return this.transport.request<t.RefundedOrder>({ method: 'POST', path: `/orders/${segment('orderId', orderId)}/refund`, body }, options)
  }
}

export class PaymentSettingsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Retrieve the payment settings.
   *
   * Returns the currency, reminders and other payment settings of the account.
   */
  get(options?: RequestOptions): ApiPromise<t.PaymentSettings> {
    return this.transport.request<t.PaymentSettings>({ method: 'GET', path: '/payment_settings' }, options)
  }

  /**
   * Update the payment settings.
   *
   * Omitted fields stay unchanged. Existing orders and dues do not change.
   */
  update(body: t.PaymentSettingsUpdateData['body'], options?: RequestOptions): ApiPromise<t.PaymentSettings> {
    return this.transport.request<t.PaymentSettings>({ method: 'PATCH', path: '/payment_settings', body }, options)
  }
}

export class PaymentsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List payments.
   *
   * Payments for orders and dues, newest first by default. Users see payments of their family. Coaches and managers also
   * see all payments of their teams.
   */
  list(query?: NonNullable<t.PaymentsListData['query']>, options?: RequestOptions): List<t.Payment, t.PaymentList> {
    return this.transport.list<t.Payment, t.PaymentList>('/payments', query, options)
  }
}

export class PeopleResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List people.
   *
   * Returns all members and guardians of the club, in order of creation. Private data is only included with
   * `include=private`.
   */
  list(query?: NonNullable<t.PeopleListData['query']>, options?: RequestOptions): List<t.Person, t.PersonList> {
    return this.transport.list<t.Person, t.PersonList>('/people', query, options)
  }

  /**
   * Retrieve a person.
   *
   * Coaches and managers see the people of their teams. Other users see themselves and their dependents.
   */
  get(personId: string, options?: RequestOptions): ApiPromise<t.Person> {
    return this.transport.request<t.Person>({ method: 'GET', path: `/people/${segment('personId', personId)}` }, options)
  }

  /**
   * Update a person.
   *
   * Omitted fields stay unchanged; `null` clears a field. The change applies to all teams that the person is
   * on.
   */
  update(personId: string, body: t.PeopleUpdateData['body'], options?: RequestOptions): ApiPromise<t.Person> {
    return this.transport.request<t.Person>({ method: 'PATCH', path: `/people/${segment('personId', personId)}`, body }, options)
  }

  /**
   * Confirm that a person is an adult.
   *
   * Only for admins. The person is no longer treated as a minor. If they sign in or have confirmed their email address,
   * they count as the second adult in conversations with minors. Fails if they are under 18 according to their birth
   * date. The guardians of a former minor get an email.
   */
  confirmAdult(personId: string, options?: RequestOptions): ApiPromise<t.Person> {
    return this.transport.request<t.Person>({ method: 'POST', path: `/people/${segment('personId', personId)}/confirm_adult` }, options)
  }

  /**
   * Erase a person.
   *
   * Replaces all data that identifies the person. This cannot be undone. The person leaves every team. Their games,
   * RSVPs and orders stay, without a name. Guardians who are only known because of this person are erased too. Not
   * available to keys that are limited to certain teams.
   */
  erase(personId: string, options?: RequestOptions): ApiPromise<t.Person> {
    return this.transport.request<t.Person>({ method: 'POST', path: `/people/${segment('personId', personId)}/erase` }, options)
  }

  /**
   * Export a person's data.
   *
   * Returns all data about a person, for a person who requests a copy. Sections that the key has no scope to read
   * (`events:read`, `messages:read`, `orders:read`) are `null`, so use a key with all of them. The export is recorded in
   * the audit log. Not available to keys that are limited to certain teams.
   */
  export(personId: string, options?: RequestOptions): ApiPromise<t.PersonExport> {
    return this.transport.request<t.PersonExport>({ method: 'GET', path: `/people/${segment('personId', personId)}/export` }, options)
  }

  /**
   * Treat a person as a minor.
   *
   * The person is treated as a minor until an admin confirms that they are an adult. Everybody who may update the person
   * may do this, because it only increases their protection.
   */
  markMinor(personId: string, options?: RequestOptions): ApiPromise<t.Person> {
    return this.transport.request<t.Person>({ method: 'POST', path: `/people/${segment('personId', personId)}/mark_minor` }, options)
  }

  /**
   * Merge two people.
   *
   * The person becomes part of the person in `into_person_id`, who keeps their own values and takes over the missing
   * ones and both medical notes. Memberships, guardians, RSVPs, messages, dues, orders and invitations move. The two
   * members on the same team become one. If either person was known to be a minor, the remaining one is treated as a
   * minor. Confirmations are not taken over. Afterwards, the ID of the merged person leads to 410 `gone`. This cannot be
   * undone. Not available to keys that are limited to certain teams.
   */
  merge(personId: string, body: t.PeopleMergeData['body'], options?: RequestOptions): ApiPromise<t.Person> {
    return this.transport.request<t.Person>({ method: 'POST', path: `/people/${segment('personId', personId)}/merge`, body }, options)
  }

  /**
   * Ask a person to confirm their email address.
   *
   * Sends the person an email with a link. A person who does not sign in counts as the second adult in conversations
   * with minors only if they have confirmed their address.
   */
  requestEmailConfirmation(personId: string, options?: RequestOptions): ApiPromise<t.Person> {
    return this.transport.request<t.Person>({ method: 'POST', path: `/people/${segment('personId', personId)}/request_email_confirmation` }, options)
  }
}

export class AwayDatesResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List a person's away dates.
   *
   * Returns away dates in order of creation, including past ones. Users can see those of themselves and their dependents;
   * coaches and managers those of the members of their teams.
   */
  list(personId: string, query?: NonNullable<t.AwayDatesListData['query']>, options?: RequestOptions): List<t.AwayDate, t.AwayDateList> {
    return this.transport.list<t.AwayDate, t.AwayDateList>(`/people/${segment('personId', personId)}/away_dates`, query, options)
  }

  /**
   * Add away dates.
   *
   * Scheduled events of the person's teams that take place on one of these days, in the time zone of the event, are
   * answered with `no` and `answered_by: "away_date"`. This also applies to events that are created or moved later. Answers
   * that somebody gave are not changed, and the automatic answer can be replaced like any other.
   */
  create(personId: string, body: t.AwayDatesCreateData['body'], options?: RequestOptions): ApiPromise<t.AwayDate> {
    return this.transport.request<t.AwayDate>({ method: 'POST', path: `/people/${segment('personId', personId)}/away_dates`, body }, options)
  }

  /**
   * Delete away dates.
   *
   * Withdraws the answers that these away dates have set, as long as the events take answers.
   */
  delete(personId: string, awayDateId: string, options?: RequestOptions): ApiPromise<t.AwayDate> {
    return this.transport.request<t.AwayDate>({ method: 'DELETE', path: `/people/${segment('personId', personId)}/away_dates/${segment('awayDateId', awayDateId)}` }, options)
  }
}

export class ProductsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List products.
   *
   * Lists active products by default, oldest first. Users see the products of their teams and of the club.
   */
  list(query?: NonNullable<t.ProductsListData['query']>, options?: RequestOptions): List<t.Product, t.ProductList> {
    return this.transport.list<t.Product, t.ProductList>('/products', query, options)
  }

  /**
   * Create a product.
   *
   * Coaches and managers create products of their teams. Products of the club (without `team_id`) can be created by
   * admins and by keys with access to all teams.
   */
  create(body: t.ProductsCreateData['body'], options?: RequestOptions): ApiPromise<t.Product> {
    return this.transport.request<t.Product>({ method: 'POST', path: '/products', body }, options)
  }

  /**
   * Retrieve a product.
   *
   * Returns a product with its variants and stock.
   */
  get(productId: string, options?: RequestOptions): ApiPromise<t.Product> {
    return this.transport.request<t.Product>({ method: 'GET', path: `/products/${segment('productId', productId)}` }, options)
  }

  /**
   * Update a product.
   *
   * Omitted fields stay unchanged; `null` clears a field. `variants` replaces the whole list: variants with an `id` are
   * kept, variants missing from it are archived. `stock` is set to the value you send even if units were sold since you
   * read the product; send `If-Match` to prevent that. Existing orders keep their prices.
   */
  update(productId: string, body: t.ProductsUpdateData['body'], options?: RequestOptions): ApiPromise<t.Product> {
    return this.transport.request<t.Product>({ method: 'PATCH', path: `/products/${segment('productId', productId)}`, body }, options)
  }

  /**
   * Archive a product.
   *
   * The product can no longer be ordered. Existing orders do not change.
   */
  archive(productId: string, options?: RequestOptions): ApiPromise<t.Product> {
    return this.transport.request<t.Product>({ method: 'DELETE', path: `/products/${segment('productId', productId)}` }, options)
  }
}

export class RefundsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List refunds.
   *
   * Refunds of payments for orders and dues, newest first by default. A refund to a card is `pending` until the payment
   * provider completes it. A `failed` refund does not count as refunded.
   */
  list(query?: NonNullable<t.RefundsListData['query']>, options?: RequestOptions): List<t.Refund, t.RefundList> {
    return this.transport.list<t.Refund, t.RefundList>('/refunds', query, options)
  }
}

export class RosterResource {
  constructor(private readonly transport: Transport) {}

  /**
   * Add members in a batch.
   *
   * Adds up to 100 members to one team or several. Either all of them are added, or none. Every problem is reported with
   * its location, such as `/members/3/email`. Similar people in the same batch are reported too.
   */
  addBatch(body: t.RosterAddBatchData['body'], options?: RequestOptions): ApiPromise<t.MemberBatchResponse['data']> {
    return this.transport.request<t.MemberBatchResponse['data']>({ method: 'POST', path: '/roster/batch', body }, options)
  }

  /**
   * List a team's members.
   *
   * Returns members in order of creation. Removed members are left out unless you filter by `status`. Private data is
   * only included with `include=private`. Families only see the private data of their own people.
   */
  list(teamId: string, query?: NonNullable<t.RosterListData['query']>, options?: RequestOptions): List<t.Member, t.MemberList> {
    return this.transport.list<t.Member, t.MemberList>(`/teams/${segment('teamId', teamId)}/roster`, query, options)
  }

  /**
   * Add a member to a team.
   *
   * Creates a person and adds them to the team, or adds an existing person (`person_id`). If a similar person exists,
   * the request fails with 409 `conflict` and lists the `candidates`. Send the `person_id` of the right one, or set
   * `allow_duplicate`.
   */
  add(teamId: string, body: t.RosterAddData['body'], options?: RequestOptions): ApiPromise<t.Member> {
    return this.transport.request<t.Member>({ method: 'POST', path: `/teams/${segment('teamId', teamId)}/roster`, body }, options)
  }

  /**
   * Retrieve a member.
   *
   * Returns a member with private fields.
   */
  get(teamId: string, memberId: string, options?: RequestOptions): ApiPromise<t.Member> {
    return this.transport.request<t.Member>({ method: 'GET', path: `/teams/${segment('teamId', teamId)}/roster/${segment('memberId', memberId)}` }, options)
  }

  /**
   * Update a member.
   *
   * Omitted fields stay unchanged; `null` clears a field. Fields of the person change on all teams that the
   * person is on. `guardians` replaces all guardians.
   */
  update(teamId: string, memberId: string, body: t.RosterUpdateData['body'], options?: RequestOptions): ApiPromise<t.Member> {
    return this.transport.request<t.Member>({ method: 'PATCH', path: `/teams/${segment('teamId', teamId)}/roster/${segment('memberId', memberId)}`, body }, options)
  }

  /**
   * Remove a member.
   *
   * Removes the person from the team. The history is kept. To bring the person back, add them again.
   */
  remove(teamId: string, memberId: string, options?: RequestOptions): ApiPromise<t.Member> {
    return this.transport.request<t.Member>({ method: 'DELETE', path: `/teams/${segment('teamId', teamId)}/roster/${segment('memberId', memberId)}` }, options)
  }
}

export class TeamsResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List teams.
   *
   * Returns teams in order of creation. Only active teams, unless you filter by `status`.
   */
  list(query?: NonNullable<t.TeamsListData['query']>, options?: RequestOptions): List<t.Team, t.TeamList> {
    return this.transport.list<t.Team, t.TeamList>('/teams', query, options)
  }

  /**
   * Create a team.
   *
   * Creates a team in the account.
   */
  create(body: t.TeamsCreateData['body'], options?: RequestOptions): ApiPromise<t.Team> {
    return this.transport.request<t.Team>({ method: 'POST', path: '/teams', body }, options)
  }

  /**
   * Retrieve a team.
   *
   * Returns a team, archived or not.
   */
  get(teamId: string, options?: RequestOptions): ApiPromise<t.Team> {
    return this.transport.request<t.Team>({ method: 'GET', path: `/teams/${segment('teamId', teamId)}` }, options)
  }

  /**
   * Update a team.
   *
   * Omitted fields stay unchanged; `null` clears a field.
   */
  update(teamId: string, body: t.TeamsUpdateData['body'], options?: RequestOptions): ApiPromise<t.Team> {
    return this.transport.request<t.Team>({ method: 'PATCH', path: `/teams/${segment('teamId', teamId)}`, body }, options)
  }

  /**
   * Archive a team.
   *
   * An archived team is read-only. Its history stays, and its name becomes available again.
   */
  archive(teamId: string, options?: RequestOptions): ApiPromise<t.Team> {
    return this.transport.request<t.Team>({ method: 'DELETE', path: `/teams/${segment('teamId', teamId)}` }, options)
  }

  /**
   * Restore a team.
   *
   * Makes an archived team active again, if no other active team has its name.
   */
  restore(teamId: string, options?: RequestOptions): ApiPromise<t.Team> {
    return this.transport.request<t.Team>({ method: 'POST', path: `/teams/${segment('teamId', teamId)}/restore` }, options)
  }
}

export class WebhooksResource {
  constructor(private readonly transport: Transport) {}

  /**
   * List webhooks.
   *
   * Returns webhooks in order of creation. A key that is limited to certain teams sees only its own webhooks.
   */
  list(query?: NonNullable<t.WebhooksListData['query']>, options?: RequestOptions): List<t.Webhook, t.WebhookList> {
    return this.transport.list<t.Webhook, t.WebhookList>('/webhooks', query, options)
  }

  /**
   * Create a webhook.
   *
   * The webhook receives notifications from now on, limited to what your credential can read. A type that needs a scope
   * you do not have is rejected if you name it, and left out of `*`. If the credential loses a scope, the webhook no
   * longer receives those types; if it is revoked, the webhook is disabled. The response contains the `secret` that
   * signs every request. It is shown only once.
   */
  create(body: t.WebhooksCreateData['body'], options?: RequestOptions): ApiPromise<t.CreatedWebhook> {
    return this.transport.request<t.CreatedWebhook>({ method: 'POST', path: '/webhooks', body }, options)
  }

  /**
   * Retrieve a webhook.
   *
   * Returns a webhook without its secret.
   */
  get(webhookId: string, options?: RequestOptions): ApiPromise<t.Webhook> {
    return this.transport.request<t.Webhook>({ method: 'GET', path: `/webhooks/${segment('webhookId', webhookId)}` }, options)
  }

  /**
   * Update a webhook.
   *
   * Omitted fields stay unchanged; `null` clears a field. The webhook then belongs to your credential and receives
   * only what it can read, so you need the scopes of all its types. Pending retries go to the new URL.
   */
  update(webhookId: string, body: t.WebhooksUpdateData['body'], options?: RequestOptions): ApiPromise<t.Webhook> {
    return this.transport.request<t.Webhook>({ method: 'PATCH', path: `/webhooks/${segment('webhookId', webhookId)}`, body }, options)
  }

  /**
   * Delete a webhook.
   *
   * Also deletes its deliveries. Pending retries are not sent. To stop a webhook but keep its data, disable it instead.
   */
  delete(webhookId: string, options?: RequestOptions): ApiPromise<t.Webhook> {
    return this.transport.request<t.Webhook>({ method: 'DELETE', path: `/webhooks/${segment('webhookId', webhookId)}` }, options)
  }

  /**
   * Disable a webhook.
   *
   * Sends nothing to the webhook until it is enabled again. Notifications that it misses are sent then, unless
   * `replay_missed` is `false`.
   */
  disable(webhookId: string, options?: RequestOptions): ApiPromise<t.Webhook> {
    return this.transport.request<t.Webhook>({ method: 'POST', path: `/webhooks/${segment('webhookId', webhookId)}/disable` }, options)
  }

  /**
   * Enable a webhook.
   *
   * Sends the notifications that the webhook missed while it was disabled, if they are still stored, unless
   * `replay_missed` is false. The webhook then belongs to your credential and receives only what it can read.
   */
  enable(webhookId: string, body: t.WebhooksEnableData['body'], options?: RequestOptions): ApiPromise<t.Webhook> {
    return this.transport.request<t.Webhook>({ method: 'POST', path: `/webhooks/${segment('webhookId', webhookId)}/enable`, body }, options)
  }

  /**
   * Replay notifications.
   *
   * Sends a part of the log to the webhook again: the notifications that it subscribes to, by sequence number or by
   * time. Send either `from_sequence` or `since`. Without `to_sequence` or `until` the range ends with the log.
   * Notifications keep their IDs. Those that were delivered successfully are sent again too, unless `only_missed` is
   * true. The status is 410 if this part of the log has been deleted, and 409 while another replay is running.
   */
  replay(webhookId: string, body: t.WebhooksReplayData['body'], options?: RequestOptions): ApiPromise<t.WebhookReplay> {
    return this.transport.request<t.WebhookReplay>({ method: 'POST', path: `/webhooks/${segment('webhookId', webhookId)}/replay`, body }, options)
  }

  /**
   * Rotate a webhook's secret.
   *
   * The response contains the new `secret`. It is shown only once. For 24 hours every request is signed with
   * both secrets, so that receivers can switch.
   */
  rotateSecret(webhookId: string, options?: RequestOptions): ApiPromise<t.CreatedWebhook> {
    return this.transport.request<t.CreatedWebhook>({ method: 'POST', path: `/webhooks/${segment('webhookId', webhookId)}/rotate_secret` }, options)
  }

  /**
   * Test a webhook.
   *
   * Sends a `ping` notification, signed like every other. Retrieve the delivery to see the result.
   */
  test(webhookId: string, options?: RequestOptions): ApiPromise<t.Delivery> {
    return this.transport.request<t.Delivery>({ method: 'POST', path: `/webhooks/${segment('webhookId', webhookId)}/test` }, options)
  }
}

/** All resources of the API. */
export class Resources {
  readonly calendarFeeds: CalendarFeedsResource
  readonly checkouts: CheckoutsResource
  readonly deliveries: DeliveriesResource
  readonly discounts: DiscountsResource
  readonly dues: DuesResource
  readonly emails: EmailsResource
  readonly eventTypes: EventTypesResource
  readonly events: EventsResource
  readonly attendance: AttendanceResource
  readonly duties: DutiesResource
  readonly results: ResultsResource
  readonly rsvps: RsvpsResource
  readonly exports: ExportsResource
  readonly files: FilesResource
  readonly locations: LocationsResource
  readonly me: MeResource
  readonly notificationSettings: NotificationSettingsResource
  readonly messageTemplates: MessageTemplatesResource
  readonly messages: MessagesResource
  readonly notifications: NotificationsResource
  readonly orders: OrdersResource
  readonly paymentSettings: PaymentSettingsResource
  readonly payments: PaymentsResource
  readonly people: PeopleResource
  readonly awayDates: AwayDatesResource
  readonly products: ProductsResource
  readonly refunds: RefundsResource
  readonly roster: RosterResource
  readonly teams: TeamsResource
  readonly webhooks: WebhooksResource

  constructor(transport: Transport) {
    this.calendarFeeds = new CalendarFeedsResource(transport)
    this.checkouts = new CheckoutsResource(transport)
    this.deliveries = new DeliveriesResource(transport)
    this.discounts = new DiscountsResource(transport)
    this.dues = new DuesResource(transport)
    this.emails = new EmailsResource(transport)
    this.eventTypes = new EventTypesResource(transport)
    this.events = new EventsResource(transport)
    this.attendance = new AttendanceResource(transport)
    this.duties = new DutiesResource(transport)
    this.results = new ResultsResource(transport)
    this.rsvps = new RsvpsResource(transport)
    this.exports = new ExportsResource(transport)
    this.files = new FilesResource(transport)
    this.locations = new LocationsResource(transport)
    this.me = new MeResource(transport)
    this.notificationSettings = new NotificationSettingsResource(transport)
    this.messageTemplates = new MessageTemplatesResource(transport)
    this.messages = new MessagesResource(transport)
    this.notifications = new NotificationsResource(transport)
    this.orders = new OrdersResource(transport)
    this.paymentSettings = new PaymentSettingsResource(transport)
    this.payments = new PaymentsResource(transport)
    this.people = new PeopleResource(transport)
    this.awayDates = new AwayDatesResource(transport)
    this.products = new ProductsResource(transport)
    this.refunds = new RefundsResource(transport)
    this.roster = new RosterResource(transport)
    this.teams = new TeamsResource(transport)
    this.webhooks = new WebhooksResource(transport)
  }
}
