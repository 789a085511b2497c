-- A database as an earlier version left it, for the test of an upgrade: a club with a team and a player. Written by
-- `.dump` of SQLite after the first 14 migrations, and never changed.
BEGIN TRANSACTION;
CREATE TABLE account (
    id blob not null,
    name text not null,
    tier text not null,
    timezone text not null,
    demo integer not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null, sport text,
    constraint account_pkey primary key (id),
    constraint account_tier_check check (tier in ('free', 'club', 'league'))
) strict, without rowid;
INSERT INTO "account" VALUES(X'019B76DA5C0070008000000000000001','Harbour FC','league','Europe/Lisbon',0,1767225600000000,1767225600000000,1,NULL);
CREATE TABLE account_user (
    account_id blob not null,
    user_id blob not null,
    role text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint account_user_pkey primary key (account_id, user_id),
    constraint account_user_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint account_user_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade,
    constraint account_user_role_check check (role in ('owner', 'admin', 'member'))
) strict, without rowid;
CREATE TABLE api_key (
    account_id blob not null,
    id blob not null,
    public_id text not null,
    hash blob not null,
    name text not null,
    scopes text not null,
    team_ids text,
    cidrs text,
    expires_at integer,
    last_used_at integer,
    revoked_at integer,
    created_by text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint api_key_pkey primary key (account_id, id),
    constraint api_key_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
CREATE TABLE app_user (
    id blob not null,
    email text not null,
    email_folded text not null,
    name text not null,
    -- The hash of the password; null until one is set.
    password_hash text,
    password_changed_at integer,
    disabled_at integer,
    created_at integer not null,
    updated_at integer not null,
    version integer not null, email_verified_at integer, language text,
    constraint app_user_pkey primary key (id)
) strict, without rowid;
CREATE TABLE audit_entry (
    account_id blob not null,
    position integer not null,
    at integer not null,
    actor text not null,
    action text not null,
    subject text not null,
    request text,
    details text,
    details_hash blob not null,
    hash blob not null,
    constraint audit_entry_pkey primary key (account_id, position),
    constraint audit_entry_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
CREATE TABLE calendar_feed (
    account_id blob not null,
    id blob not null,
    token_hash blob not null,
    name text,
    team_id blob,
    person_id blob,
    games_only integer not null,
    created_by text not null,
    revoked_at integer,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint calendar_feed_pkey primary key (account_id, id),
    constraint calendar_feed_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint calendar_feed_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint calendar_feed_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade
) strict, without rowid;
CREATE TABLE ceremony (
    id blob not null,
    token_hash blob not null,
    user_id blob,
    kind text not null,
    state blob not null,
    expires_at integer not null,
    constraint ceremony_pkey primary key (id),
    constraint ceremony_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade,
    constraint ceremony_kind_check check (kind in ('register', 'sign_in'))
) strict, without rowid;
CREATE TABLE checkout (
    account_id blob not null,
    id blob not null,
    subject text not null,
    team_id blob,
    -- What the payment is for, as shown to the payer.
    title text not null,
    currency text not null,
    amount integer not null,
    status text not null,
    -- The payment provider's id and URL of the session. Null until the provider has responded.
    session_id text,
    url text,
    payment_id blob,
    actor text not null,
    expires_at integer not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint checkout_pkey primary key (account_id, id),
    constraint checkout_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint checkout_status_check check (status in ('open', 'paid', 'expired', 'unmatched'))
) strict, without rowid;
CREATE TABLE claim (
    account_id blob not null,
    id blob not null,
    user_id blob not null,
    team_id blob not null,
    -- The person on the roster whom the user claims to be, or to be the guardian of.
    person_id blob,
    relation text not null,
    note text,
    status text not null,
    decided_by text,
    decided_at integer,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint claim_pkey primary key (account_id, id),
    constraint claim_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint claim_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade,
    constraint claim_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint claim_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint claim_relation_check check (relation in ('guardian', 'self', 'coach')),
    constraint claim_status_check check (status in ('open', 'approved', 'refused'))
) strict, without rowid;
CREATE TABLE delivery (
    account_id blob not null,
    webhook_id blob not null,
    id blob not null,
    -- The sequence number of the notification. Null for a ping, which stores its body here.
    sequence integer,
    notification_id blob not null,
    kind text not null,
    body text,
    status text not null,
    -- The number of attempts since the delivery was last requested. `attempts` has all of them: time, duration, status,
    -- error and response.
    tries integer not null,
    attempts text not null,
    next_attempt_at integer,
    created_at integer not null,
    finished_at integer,
    updated_at integer not null,
    version integer not null,
    constraint delivery_pkey primary key (account_id, webhook_id, id),
    constraint delivery_status_check check (status in ('pending', 'succeeded', 'failed'))
) strict, without rowid;
CREATE TABLE discount (
    account_id blob not null,
    id blob not null,
    code text not null,
    -- The code in capital emails, because codes are not case-sensitive.
    code_folded text not null,
    -- Either an amount with its currency, or a rate in basis points.
    amount integer,
    currency text,
    percent_bps integer,
    -- Restricts the code to products of this team.
    team_id blob,
    min_subtotal integer,
    valid_from integer,
    valid_until integer,
    max_uses integer,
    max_uses_per_buyer integer,
    use_count integer not null,
    status text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint discount_pkey primary key (account_id, id),
    constraint discount_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint discount_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint discount_use_count_check check (use_count >= 0 and (max_uses is null or use_count <= max_uses)),
    constraint discount_status_check check (status in ('active', 'archived'))
) strict, without rowid;
CREATE TABLE dispatch_node (
    id blob not null,
    seen_at integer not null,
    constraint dispatch_node_pkey primary key (id)
) strict, without rowid;
CREATE TABLE dispatch_slot (
    slot integer not null,
    holder blob not null,
    held_until integer not null,
    constraint dispatch_slot_pkey primary key (slot)
) strict, without rowid;
CREATE TABLE due (
    account_id blob not null,
    id blob not null,
    -- The charge: dues that were created together.
    charge_id blob not null,
    team_id blob not null,
    member_id blob not null,
    person_id blob not null,
    -- The payer: a guardian, or the person themselves.
    payer_id blob not null,
    title text not null,
    category text not null,
    note text,
    currency text not null,
    -- The amount as charged. The amount owed is this minus the discount plus the late fee.
    amount integer not null,
    discount integer not null,
    discount_reason text,
    late_fee integer not null,
    -- The late fee that is added once when the due is overdue: an amount, or a rate in basis points.
    late_fee_amount integer,
    late_fee_bps integer,
    late_fee_at integer,
    -- When the late fee will be added; null if none will be added.
    late_at integer,
    paid integer not null,
    waived integer not null,
    waive_reason text,
    due_on text not null,
    -- The next due date with an outstanding amount; null if nothing is outstanding.
    next_due_on text,
    -- The end of that day in the team's time zone.
    overdue_at integer,
    -- The end of the last due date in the team's time zone. All outstanding amounts are overdue after it.
    ends_at integer not null,
    status text not null,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint due_pkey primary key (account_id, id),
    constraint due_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint due_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint due_amount_check check (amount > 0 and discount >= 0 and late_fee >= 0 and paid >= 0 and waived >= 0 and paid + waived <= amount - discount + late_fee),
    constraint due_status_check check (status in ('open', 'partially_paid', 'paid', 'waived'))
) strict, without rowid;
CREATE TABLE event (
    account_id blob not null,
    id blob not null,
    team_id blob not null,
    series_id blob,
    -- The recurrence rule of the series, and the original local start of this occurrence.
    recurrence text,
    occurrence text,
    -- Whether this occurrence was edited individually. Changes of the whole series skip it.
    edited integer not null,
    kind text not null,
    title text not null,
    starts_at integer not null,
    ends_at integer not null,
    timezone text not null,
    all_day integer not null,
    arrival_minutes integer,
    location_id blob,
    opponent text,
    home_away text,
    uniform text,
    notes text,
    rsvp_enabled integer not null,
    rsvp_deadline integer,
    capacity integer,
    -- Volunteer duties and who took them, as JSON.
    duties text not null,
    status text not null,
    cancel_reason text,
    cancelled_at integer,
    -- The number of members who were asked and of each RSVP, so a list of events doesn't have to count them.
    asked_count integer not null,
    yes_count integer not null,
    no_count integer not null,
    maybe_count integer not null,
    waitlisted_count integer not null,
    -- SEQUENCE of iCalendar: increases when the event itself changes, not with RSVPs.
    revision integer not null,
    revised_at integer not null,
    external_id text,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint event_pkey primary key (account_id, id),
    constraint event_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint event_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint event_kind_check check (kind in ('game', 'practice', 'meeting', 'tournament', 'other')),
    constraint event_status_check check (status in ('scheduled', 'cancelled', 'completed', 'postponed'))
) strict, without rowid;
CREATE TABLE guardianship (
    account_id blob not null,
    person_id blob not null,
    guardian_id blob not null,
    position integer not null,
    relationship text,
    can_pick_up integer not null,
    receives_messages integer not null,
    created_at integer not null, confirmed integer not null default false,
    constraint guardianship_pkey primary key (account_id, person_id, guardian_id),
    constraint guardianship_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint guardianship_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint guardianship_guardian_id_fkey foreign key (account_id, guardian_id) references person (account_id, id) on delete cascade
) strict, without rowid;
CREATE TABLE idempotency (
    account_id blob not null,
    key text not null,
    request_hash blob not null,
    status integer not null,
    etag text,
    data text not null,
    created_at integer not null,
    constraint idempotency_pkey primary key (account_id, key),
    constraint idempotency_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
CREATE TABLE installation (
    id integer not null,
    cursor_key blob not null,
    created_at integer not null,
    constraint installation_pkey primary key (id),
    constraint installation_id_check check (id = 1)
) strict, without rowid;
CREATE TABLE installment (
    account_id blob not null,
    due_id blob not null,
    position integer not null,
    due_on text not null,
    -- The end of that day in the team's time zone.
    overdue_at integer not null,
    amount integer not null,
    constraint installment_pkey primary key (account_id, due_id, position),
    constraint installment_due_id_fkey foreign key (account_id, due_id) references due (account_id, id) on delete cascade,
    constraint installment_amount_check check (amount > 0)
) strict, without rowid;
CREATE TABLE invitation (
    account_id blob not null,
    id blob not null,
    token_hash blob not null,
    -- The role in the account that the invited user gets.
    role text not null,
    email text,
    -- The team, the relation (guardian, self or coach), and the person on the roster.
    team_id blob,
    relation text,
    person_id blob,
    -- The number of remaining uses; null for unlimited.
    uses_left integer,
    created_by text not null,
    expires_at integer not null,
    revoked_at integer,
    last_used_at integer,
    created_at integer not null,
    updated_at integer not null,
    version integer not null, email_folded text,
    constraint invitation_pkey primary key (account_id, id),
    constraint invitation_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint invitation_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint invitation_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint invitation_role_check check (role in ('owner', 'admin', 'member')),
    constraint invitation_relation_check check (relation in ('guardian', 'self'))
) strict, without rowid;
CREATE TABLE invitation_visit (
    account_id blob not null,
    invitation_id blob not null,
    user_id blob not null,
    created_at integer not null,
    constraint invitation_visit_pkey primary key (account_id, invitation_id, user_id),
    constraint invitation_visit_invitation_id_fkey foreign key (account_id, invitation_id) references invitation (account_id, id) on delete cascade,
    constraint invitation_visit_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
) strict, without rowid;
CREATE TABLE journal (
    account_id blob not null,
    sequence integer not null,
    entries integer not null,
    chain blob not null,
    constraint journal_pkey primary key (account_id),
    constraint journal_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
INSERT INTO "journal" VALUES(X'019B76DA5C0070008000000000000001',0,0,X'0000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE ledger_entry (
    account_id blob not null,
    movement_id blob not null,
    line integer not null,
    -- The type of movement, such as `payment`.
    kind text not null,
    -- The id of the order or due.
    subject text not null,
    -- The id of a related object, such as the refunded payment.
    reference text,
    team_id blob,
    -- The person and the payer. Erasing a person keeps the amounts.
    person_id blob,
    payer_id blob,
    book text not null,
    currency text not null,
    -- Positive for amounts that enter the book, negative for amounts that leave it.
    amount integer not null,
    actor text not null,
    created_at integer not null,
    constraint ledger_entry_pkey primary key (account_id, movement_id, line),
    constraint ledger_entry_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint ledger_entry_amount_check check (amount <> 0)
) strict, without rowid;
CREATE TABLE location (
    account_id blob not null,
    id blob not null,
    name text not null,
    name_folded text not null,
    address text,
    latitude real ,
    longitude real ,
    url text,
    notes text,
    status text not null,
    external_id text,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null, shared integer not null default true, created_by text not null default '',
    constraint location_pkey primary key (account_id, id),
    constraint location_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint location_status_check check (status in ('active', 'archived'))
) strict, without rowid;
CREATE TABLE mail (
    account_id blob not null,
    id blob not null,
    -- Null if the recipient is an admin and not a person on a roster.
    person_id blob,
    -- The id of the object that the email is about, such as a message.
    about text not null,
    to_name text not null,
    to_address text not null,
    subject text not null,
    body_text text not null,
    html_body text,
    status text not null,
    attempts integer not null,
    next_attempt_at integer not null,
    -- A node that sends the email has it locked until then. The lock of a crashed node expires.
    held_until integer,
    last_error text,
    sent_at integer,
    created_at integer not null,
    updated_at integer not null,
    version integer not null, language text,
    constraint mail_pkey primary key (account_id, id),
    constraint mail_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint mail_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint mail_status_check check (status in ('pending', 'sent', 'failed', 'cancelled', 'unsent'))
) strict, without rowid;
CREATE TABLE member (
    account_id blob not null,
    id blob not null,
    team_id blob not null,
    person_id blob not null,
    role text not null,
    -- Whether the member is or was a player on this team, whatever the current role.
    has_played integer not null,
    jersey_number text,
    positions text not null,
    status text not null,
    joined_on text,
    left_on text,
    external_id text,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint member_pkey primary key (account_id, id),
    constraint member_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint member_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint member_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint member_role_check check (role in ('player', 'coach', 'manager', 'staff')),
    constraint member_status_check check (status in ('active', 'injured', 'inactive', 'removed'))
) strict, without rowid;
INSERT INTO "member" VALUES(X'019B76DA5C0070008000000000000001',X'019B76DA5C0070008000000000000004',X'019B76DA5C0070008000000000000002',X'019B76DA5C0070008000000000000003','player',1,NULL,'[]','active',NULL,NULL,NULL,'{}',1767225600000000,1767225600000000,1);
CREATE TABLE message (
    account_id blob not null,
    id blob not null,
    team_id blob not null,
    kind text not null,
    subject text,
    body text not null,
    audience text not null,
    parent_id blob,
    -- The id of the first message of the conversation; the message's own id if it is the first.
    thread_id blob not null,
    pinned integer not null,
    publish_at integer,
    published_at integer,
    -- Sort key of lists: when the message was or will be published.
    listed_at integer not null,
    author_id text not null,
    author_person_id blob,
    status text not null,
    retracted_by text,
    retracted_at integer,
    delivered_count integer not null,
    read_count integer not null,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null, by_key integer not null default false, by_club integer not null default false,
    constraint message_pkey primary key (account_id, id),
    constraint message_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint message_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint message_author_person_id_fkey foreign key (account_id, author_person_id) references person (account_id, id) on delete cascade,
    constraint message_kind_check check (kind in ('announcement', 'message')),
    constraint message_status_check check (status in ('published', 'scheduled', 'retracted'))
) strict, without rowid;
CREATE TABLE notification (
    account_id blob not null,
    sequence integer not null,
    id blob not null,
    kind text not null,
    body text not null,
    created_at integer not null,
    constraint notification_pkey primary key (account_id, sequence),
    constraint notification_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
CREATE TABLE oauth_app (
    account_id blob not null,
    id blob not null,
    name text not null,
    kind text not null,
    redirect_uris text not null,
    scopes text not null,
    created_by text not null,
    disabled_at integer,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint oauth_app_pkey primary key (account_id, id),
    constraint oauth_app_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_app_kind_check check (kind in ('native', 'spa', 'server'))
) strict, without rowid;
CREATE TABLE oauth_code (
    account_id blob not null,
    hash blob not null,
    app_id blob not null,
    user_id blob not null,
    session_id blob not null,
    redirect_uri text not null,
    scopes text not null,
    challenge blob,
    expires_at integer not null,
    -- Set when the code is exchanged, with the resulting grant.
    used_at integer,
    grant_id blob,
    created_at integer not null,
    constraint oauth_code_pkey primary key (account_id, hash),
    constraint oauth_code_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_code_app_id_fkey foreign key (account_id, app_id) references oauth_app (account_id, id) on delete cascade,
    constraint oauth_code_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
) strict, without rowid;
CREATE TABLE oauth_grant (
    account_id blob not null,
    id blob not null,
    app_id blob not null,
    user_id blob not null,
    scopes text not null,
    -- The redirect URI that the user approved.
    redirect_uri text not null,
    generation integer not null,
    expires_at integer not null,
    last_used_at integer,
    revoked_at integer,
    revoked_because text,
    created_at integer not null,
    constraint oauth_grant_pkey primary key (account_id, id),
    constraint oauth_grant_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_grant_app_id_fkey foreign key (account_id, app_id) references oauth_app (account_id, id) on delete cascade,
    constraint oauth_grant_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
) strict, without rowid;
CREATE TABLE oauth_request (
    account_id blob not null,
    id blob not null,
    token_hash blob not null,
    app_id blob not null,
    user_id blob,
    session_id blob,
    redirect_uri text not null,
    scopes text not null,
    state text,
    challenge blob,
    prompt text,
    -- The scopes that the consent page showed last.
    shown text,
    -- The user's decision. Repeating it returns the same response.
    answer text,
    expires_at integer not null,
    created_at integer not null,
    constraint oauth_request_pkey primary key (account_id, id),
    constraint oauth_request_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_request_app_id_fkey foreign key (account_id, app_id) references oauth_app (account_id, id) on delete cascade
) strict, without rowid;
CREATE TABLE oauth_secret (
    account_id blob not null,
    id blob not null,
    app_id blob not null,
    hash blob not null,
    hint text not null,
    created_by text not null,
    last_used_at integer,
    revoked_at integer,
    created_at integer not null,
    constraint oauth_secret_pkey primary key (account_id, id),
    constraint oauth_secret_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_secret_app_id_fkey foreign key (account_id, app_id) references oauth_app (account_id, id) on delete cascade
) strict, without rowid;
CREATE TABLE oauth_token (
    account_id blob not null,
    hash blob not null,
    kind text not null,
    grant_id blob not null,
    user_id blob not null,
    app_id blob not null,
    scopes text not null,
    generation integer not null,
    -- For refresh tokens: the nonce from which the next token is derived, and when this one was replaced.
    nonce blob,
    replaced_at integer,
    used_at integer,
    expires_at integer not null,
    created_at integer not null,
    constraint oauth_token_pkey primary key (account_id, hash),
    constraint oauth_token_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_token_grant_id_fkey foreign key (account_id, grant_id) references oauth_grant (account_id, id) on delete cascade,
    constraint oauth_token_kind_check check (kind in ('access', 'refresh'))
) strict, without rowid;
CREATE TABLE once_link (
    hash blob not null,
    kind text not null,
    user_id blob,
    -- The email address to confirm.
    email text,
    expires_at integer not null,
    created_at integer not null,
    constraint once_link_pkey primary key (hash),
    constraint once_link_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade,
    constraint once_link_kind_check check (kind in ('set_up', 'reset', 'reset_all', 'verify'))
) strict, without rowid;
CREATE TABLE order_line (
    account_id blob not null,
    order_id blob not null,
    id blob not null,
    position integer not null,
    product_id blob not null,
    variant_id blob,
    name text not null,
    variant_name text,
    unit_price integer not null,
    quantity integer not null,
    discount integer not null,
    tax integer not null,
    tax_rate_bps integer not null,
    tax_included integer not null,
    -- The total of the line, after discount and including tax.
    total integer not null,
    -- The quantities that were fulfilled, that were returned or cancelled, and that were restocked.
    fulfilled integer not null,
    returned integer not null,
    restocked integer not null,
    -- Whether the quantity was taken from limited stock. Only then can it be restocked.
    from_stock integer not null,
    -- The refunded amount.
    refunded integer not null,
    constraint order_line_pkey primary key (account_id, order_id, position),
    constraint order_line_order_id_fkey foreign key (account_id, order_id) references shop_order (account_id, id) on delete cascade,
    constraint order_line_quantity_check check (quantity > 0 and fulfilled >= 0 and returned >= 0 and fulfilled + returned <= quantity and restocked >= 0 and restocked <= quantity),
    constraint order_line_refunded_check check (refunded >= 0 and refunded <= total)
) strict, without rowid;
CREATE TABLE passkey (
    id blob not null,
    user_id blob not null,
    name text not null,
    credential_id blob not null,
    -- The credential as registered, and the state that changes with each use.
    static_state blob not null,
    dynamic_state blob not null,
    metadata text,
    last_used_at integer,
    created_at integer not null,
    constraint passkey_pkey primary key (id),
    constraint passkey_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
) strict, without rowid;
CREATE TABLE payment (
    account_id blob not null,
    id blob not null,
    -- The id of the order or due, and its team.
    subject text not null,
    team_id blob,
    payer_id blob,
    currency text not null,
    amount integer not null,
    -- The part of the amount that exceeded the amount owed and became a credit.
    overpaid integer not null,
    refunded integer not null,
    method text not null,
    reference text,
    paid_at integer not null,
    -- The payment provider's id, which is needed for a refund.
    provider_id text,
    -- The status of a dispute (chargeback), if there is one.
    dispute text,
    actor text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint payment_pkey primary key (account_id, id),
    constraint payment_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint payment_method_check check (method in ('cash', 'bank_transfer', 'card', 'other', 'credit')),
    constraint payment_dispute_check check (dispute in ('open', 'won', 'lost')),
    constraint payment_amount_check check (amount > 0 and overpaid >= 0 and refunded >= 0 and refunded <= amount)
) strict, without rowid;
CREATE TABLE payment_settings (
    account_id blob not null,
    currency text not null,
    -- How long an unpaid order reserves its stock; null for unlimited.
    unpaid_order_ttl_minutes integer,
    -- Days before (negative) and after the due date on which reminders are sent, separated by spaces.
    reminder_days text not null,
    -- The number of the last order.
    order_number integer not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint payment_settings_pkey primary key (account_id),
    constraint payment_settings_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
CREATE TABLE person (
    account_id blob not null,
    id blob not null,
    first_name text not null,
    last_name text,
    preferred_name text,
    -- First and last name for comparing and searching.
    name_folded text not null,
    preferred_folded text,
    birth_date text,
    email text,
    email_folded text,
    -- The phone number as entered, and normalized for comparing.
    phone text,
    phone_normalized text,
    address text,
    emergency_contact text,
    medical_note text,
    email_opt_in integer not null,
    user_id blob,
    erased_at integer,
    created_at integer not null,
    updated_at integer not null,
    version integer not null, known_minor integer not null default false, adult_confirmed_at integer, adult_confirmed_by text, email_confirmed_at integer,
    constraint person_pkey primary key (account_id, id),
    constraint person_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
INSERT INTO "person" VALUES(X'019B76DA5C0070008000000000000001',X'019B76DA5C0070008000000000000003','Zoë','Silva',NULL,'zoë silva',NULL,'2014-05-05',NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1767225600000000,1767225600000000,1,0,NULL,NULL,NULL);
CREATE TABLE product (
    account_id blob not null,
    id blob not null,
    team_id blob,
    name text not null,
    name_folded text not null,
    description text,
    currency text not null,
    price integer not null,
    tax_rate_bps integer not null,
    tax_included integer not null,
    -- The remaining stock of a product without variants; null for unlimited.
    stock integer,
    on_sale_from integer,
    on_sale_until integer,
    -- Who can buy the product.
    available_to text not null,
    max_per_order integer,
    pickup_date text,
    status text not null,
    external_id text,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint product_pkey primary key (account_id, id),
    constraint product_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint product_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint product_price_check check (price >= 0),
    constraint product_stock_check check (stock >= 0),
    constraint product_available_to_check check (available_to in ('everyone', 'members', 'staff')),
    constraint product_status_check check (status in ('active', 'archived'))
) strict, without rowid;
CREATE TABLE rate_limit (
    account_id blob not null,
    full_at integer not null,
    constraint rate_limit_pkey primary key (account_id),
    constraint rate_limit_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
CREATE TABLE receipt (
    account_id blob not null,
    message_id blob not null,
    person_id blob not null,
    delivered_at integer not null,
    read_at integer,
    constraint receipt_pkey primary key (account_id, message_id, person_id),
    constraint receipt_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint receipt_message_id_fkey foreign key (account_id, message_id) references message (account_id, id) on delete cascade,
    constraint receipt_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade
) strict, without rowid;
CREATE TABLE recovery_code (
    user_id blob not null,
    hash blob not null,
    used_at integer,
    created_at integer not null,
    constraint recovery_code_pkey primary key (user_id, hash),
    constraint recovery_code_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
) strict, without rowid;
CREATE TABLE refund (
    account_id blob not null,
    id blob not null,
    subject text not null,
    team_id blob,
    payment_id blob not null,
    currency text not null,
    amount integer not null,
    -- The refunded lines of an order, as JSON.
    lines text not null,
    -- How the money was refunded.
    method text not null,
    reason text,
    -- `succeeded`, `pending` until the payment provider confirms it, or `failed`. Failed refunds don't count.
    status text not null,
    provider_id text,
    actor text not null,
    created_at integer not null,
    updated_at integer not null,
    constraint refund_pkey primary key (account_id, id),
    constraint refund_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint refund_payment_id_fkey foreign key (account_id, payment_id) references payment (account_id, id) on delete cascade,
    constraint refund_method_check check (method in ('cash', 'bank_transfer', 'card', 'other', 'credit')),
    constraint refund_status_check check (status in ('pending', 'succeeded', 'failed')),
    constraint refund_amount_check check (amount > 0)
) strict, without rowid;
CREATE TABLE reminder (
    account_id blob not null,
    due_id blob not null,
    -- The due date, and the day of the schedule; for a manual reminder, the time it was sent.
    due_on text not null,
    occasion text not null,
    -- The number of emails; zero if nobody has an address or they were reminded shortly before.
    emails integer not null,
    created_at integer not null,
    constraint reminder_pkey primary key (account_id, due_id, due_on, occasion),
    constraint reminder_due_id_fkey foreign key (account_id, due_id) references due (account_id, id) on delete cascade
) strict, without rowid;
CREATE TABLE rsvp (
    account_id blob not null,
    event_id blob not null,
    member_id blob not null,
    id blob not null,
    answer text not null,
    note text,
    -- The position on the waiting list; the lowest is next.
    place integer,
    answered_by text not null,
    answered_at integer not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint rsvp_pkey primary key (account_id, event_id, member_id),
    constraint rsvp_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint rsvp_event_id_fkey foreign key (account_id, event_id) references event (account_id, id) on delete cascade,
    constraint rsvp_member_id_fkey foreign key (account_id, member_id) references member (account_id, id) on delete cascade,
    constraint rsvp_answer_check check (answer in ('yes', 'no', 'maybe', 'waitlisted'))
) strict, without rowid;
CREATE TABLE rsvp_change (
    account_id blob not null,
    event_id blob not null,
    member_id blob not null,
    position integer not null,
    answer text,
    note text,
    answered_by text not null,
    answered_at integer not null,
    constraint rsvp_change_pkey primary key (account_id, event_id, member_id, position),
    constraint rsvp_change_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint rsvp_change_event_id_fkey foreign key (account_id, event_id) references event (account_id, id) on delete cascade,
    constraint rsvp_change_member_id_fkey foreign key (account_id, member_id) references member (account_id, id) on delete cascade
) strict, without rowid;
CREATE TABLE schema_migration (
    name text not null primary key,
    checksum text not null,
    applied_at integer not null
) strict, without rowid;
INSERT INTO "schema_migration" VALUES('0001_foundation','7f9879a5ddc836105a08fa086632bc5a4b5c39e96e574a4ac8b897d9687a6023',1767225600000000);
INSERT INTO "schema_migration" VALUES('0002_teams','cd4db24ceff42a144b49a4ac1e282b9d29f91168839a7d062323a61a1c72fb69',1767225600000000);
INSERT INTO "schema_migration" VALUES('0003_roster','892b8189c9dddccdcd8180c4ab882a81c7f2dbfcece6c0b0fcd87bfb62fe86e9',1767225600000000);
INSERT INTO "schema_migration" VALUES('0004_events','40016a9319d692ba1059d27f02150468cb20868df5ebdc48bc7a44f2122f09b0',1767225600000000);
INSERT INTO "schema_migration" VALUES('0005_messages','d30662f1e88a7c033beb14d3a54bf24592f9daa49674e4540702b4068552baa0',1767225600000000);
INSERT INTO "schema_migration" VALUES('0006_users','b9c31d422ae3b9bd50e3758a47a2fbc20c40503f44443196806e18c5aba55d93',1767225600000000);
INSERT INTO "schema_migration" VALUES('0007_sign_in','2bc54628d92440e699cfc709be7cd74af165228b9b3f3addb746d25c07222b07',1767225600000000);
INSERT INTO "schema_migration" VALUES('0008_webhooks','cd425f44ef1a43973fba0bd8abe0bf8326512aa6badfaeeed7c1014b31c29b14',1767225600000000);
INSERT INTO "schema_migration" VALUES('0009_money','9c6276674c5cb3a400c5f5fbe2db7322a093e285511f293dcf7eab4d66d9b678',1767225600000000);
INSERT INTO "schema_migration" VALUES('0010_location_sharing','0395904ffec4486294d5b0394096738cf754638d5a9467665e9f91a5c74f833a',1767225600000000);
INSERT INTO "schema_migration" VALUES('0011_safeguarding','37e87a372d7bb70e1f47bd9314542c5f40d0ec2dab2992f8ac1c163e1f643d72',1767225600000000);
INSERT INTO "schema_migration" VALUES('0012_confirmed_guardians','b5044371551be692d3b1f61f3ca470eaaee2b9d10246455827cadf4ea4415276',1767225600000000);
INSERT INTO "schema_migration" VALUES('0013_message_authors','5a528c556bf9143b761f666b30680b96aa099edd16d998c64d1f0708d1eb2522',1767225600000000);
INSERT INTO "schema_migration" VALUES('0014_languages','eb654247cea8d0d6970f2eb54572dfaf2f76695ea12389468d4813e96685176d',1767225600000000);
CREATE TABLE session (
    id blob not null,
    token_hash blob not null,
    user_id blob not null,
    -- The club whose pages the session shows.
    club blob,
    -- The password was correct, but the second factor is still missing.
    pending integer not null,
    -- The sign-in method, and when the user last authenticated.
    method text not null,
    proved_at integer not null,
    user_agent text,
    address text,
    last_seen_at integer not null,
    expires_at integer not null,
    created_at integer not null,
    constraint session_pkey primary key (id),
    constraint session_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
) strict, without rowid;
CREATE TABLE shop_order (
    account_id blob not null,
    id blob not null,
    -- The order number that people see.
    number integer not null,
    team_id blob,
    buyer_member_id blob,
    buyer_person_id blob,
    buyer_name text not null,
    buyer_email text,
    discount_id blob,
    discount_code text,
    note text,
    currency text not null,
    subtotal integer not null,
    discount integer not null,
    tax integer not null,
    total integer not null,
    paid integer not null,
    refunded integer not null,
    status text not null,
    expires_at integer,
    paid_at integer,
    fulfilled_at integer,
    cancelled_at integer,
    cancel_reason text,
    external_id text,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint shop_order_pkey primary key (account_id, id),
    constraint shop_order_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint shop_order_status_check check (status in ('placed', 'paid', 'fulfilled', 'cancelled', 'partially_refunded', 'refunded')),
    constraint shop_order_paid_check check (paid >= 0 and refunded >= 0 and refunded <= paid and paid <= total)
) strict, without rowid;
CREATE TABLE sign_in_failure (
    subject blob not null,
    failures integer not null,
    last_at integer not null,
    constraint sign_in_failure_pkey primary key (subject)
) strict, without rowid;
CREATE TABLE team (
    account_id blob not null,
    id blob not null,
    name text not null,
    -- The name for comparing and searching: normalized and case-folded.
    name_folded text not null,
    sport text,
    season text,
    age_group text,
    gender text,
    timezone text not null,
    color text,
    description text,
    unique_jerseys integer not null,
    status text not null,
    roster_count integer not null,
    external_id text,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint team_pkey primary key (account_id, id),
    constraint team_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint team_status_check check (status in ('active', 'archived'))
) strict, without rowid;
INSERT INTO "team" VALUES(X'019B76DA5C0070008000000000000001',X'019B76DA5C0070008000000000000002','Harbour Hawks U12','harbour hawks u12','soccer',NULL,NULL,NULL,'Europe/Lisbon',NULL,NULL,0,'active',1,NULL,'{}',1767225600000000,1767225600000000,1);
CREATE TABLE totp (
    user_id blob not null,
    seed blob not null,
    confirmed_at integer,
    last_step integer not null,
    created_at integer not null,
    constraint totp_pkey primary key (user_id),
    constraint totp_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
) strict, without rowid;
CREATE TABLE usage_hour (
    account_id blob not null,
    hour integer not null,
    -- The id of the API key or app.
    credential text not null,
    requests integer not null,
    -- Requests that were rejected because the quota was exceeded.
    refused integer not null,
    constraint usage_hour_pkey primary key (account_id, hour, credential),
    constraint usage_hour_account_id_fkey foreign key (account_id) references account (id) on delete cascade
) strict, without rowid;
CREATE TABLE variant (
    account_id blob not null,
    id blob not null,
    product_id blob not null,
    position integer not null,
    name text not null,
    -- Null for the product's price.
    price integer,
    stock integer,
    status text not null,
    constraint variant_pkey primary key (account_id, id),
    constraint variant_product_id_fkey foreign key (account_id, product_id) references product (account_id, id) on delete cascade,
    constraint variant_price_check check (price >= 0),
    constraint variant_stock_check check (stock >= 0),
    constraint variant_status_check check (status in ('active', 'archived'))
) strict, without rowid;
CREATE TABLE webhook (
    account_id blob not null,
    id blob not null,
    url text not null,
    description text,
    -- The subscribed event types, such as `team.*`, separated by spaces.
    events text not null,
    team_ids text,
    ordering text not null,
    status text not null,
    disabled_reason text,
    disabled_at integer,
    -- Encrypted with the installation's key. After a rotation the previous secrets also sign until they expire.
    secret blob not null,
    previous_secrets text not null,
    previous_secret_until integer,
    -- Who created the webhook. It only receives events that its creator can read.
    creator text not null,
    creator_app text,
    -- The slot of the webhook. The node that holds the slot delivers.
    slot integer not null,
    -- The last sequence number of the notification log that was processed.
    position integer not null,
    -- The sequence numbers to replay: greater than the first, up to and including the second.
    replay_after integer,
    replay_until integer,
    replay_missed integer not null,
    -- Recent failures, and until when deliveries are paused.
    failures integer not null,
    failing_since integer,
    paused_until integer,
    recovered_at integer,
    created_at integer not null,
    updated_at integer not null,
    version integer not null,
    constraint webhook_pkey primary key (account_id, id),
    constraint webhook_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint webhook_ordering_check check (ordering in ('parallel', 'strict')),
    constraint webhook_status_check check (status in ('enabled', 'disabled')),
    constraint webhook_disabled_reason_check check (disabled_reason in ('manual', 'gone', 'failing', 'creator_removed'))
) strict, without rowid;
CREATE TABLE webhook_hour (
    account_id blob not null,
    webhook_id blob not null,
    hour integer not null,
    succeeded integer not null,
    failed integer not null,
    constraint webhook_hour_pkey primary key (account_id, webhook_id, hour),
    constraint webhook_hour_webhook_id_fkey foreign key (account_id, webhook_id) references webhook (account_id, id) on delete cascade
) strict, without rowid;
CREATE UNIQUE INDEX api_key_public_id_key on api_key (public_id);
CREATE INDEX idempotency_created_at_idx on idempotency (created_at);
CREATE UNIQUE INDEX team_account_id_name_folded_key on team (account_id, name_folded) where status = 'active';
CREATE UNIQUE INDEX team_account_id_external_id_key on team (account_id, external_id);
CREATE INDEX person_account_id_name_folded_idx on person (account_id, name_folded);
CREATE INDEX person_account_id_email_folded_idx on person (account_id, email_folded);
CREATE INDEX member_account_id_team_id_idx on member (account_id, team_id, id);
CREATE INDEX member_account_id_person_id_idx on member (account_id, person_id, id);
CREATE UNIQUE INDEX member_account_id_team_id_person_id_key on member (account_id, team_id, person_id) where status <> 'removed';
CREATE UNIQUE INDEX member_account_id_external_id_key on member (account_id, external_id);
CREATE INDEX guardianship_account_id_guardian_id_idx on guardianship (account_id, guardian_id);
CREATE UNIQUE INDEX location_account_id_external_id_key on location (account_id, external_id);
CREATE INDEX event_account_id_starts_at_idx on event (account_id, starts_at, id);
CREATE INDEX event_account_id_team_id_starts_at_idx on event (account_id, team_id, starts_at, id);
CREATE INDEX event_account_id_location_id_starts_at_idx on event (account_id, location_id, starts_at);
CREATE INDEX event_account_id_series_id_idx on event (account_id, series_id, occurrence);
CREATE UNIQUE INDEX event_account_id_external_id_key on event (account_id, external_id);
CREATE INDEX rsvp_account_id_event_id_place_idx on rsvp (account_id, event_id, place);
CREATE INDEX rsvp_account_id_member_id_idx on rsvp (account_id, member_id, event_id);
CREATE INDEX rsvp_change_account_id_member_id_idx on rsvp_change (account_id, member_id, event_id);
CREATE UNIQUE INDEX calendar_feed_token_hash_key on calendar_feed (token_hash);
CREATE INDEX calendar_feed_account_id_person_id_idx on calendar_feed (account_id, person_id);
CREATE INDEX mail_next_attempt_at_idx on mail (next_attempt_at) where status = 'pending';
CREATE INDEX mail_account_id_about_idx on mail (account_id, about);
CREATE INDEX mail_account_id_person_id_idx on mail (account_id, person_id);
CREATE INDEX message_account_id_listed_at_idx on message (account_id, listed_at, id);
CREATE INDEX message_account_id_team_id_listed_at_idx on message (account_id, team_id, listed_at, id);
CREATE INDEX message_account_id_thread_id_listed_at_idx on message (account_id, thread_id, listed_at, id);
CREATE INDEX message_publish_at_idx on message (publish_at) where status = 'scheduled';
CREATE INDEX message_account_id_author_person_id_idx on message (account_id, author_person_id);
CREATE INDEX receipt_account_id_person_id_idx on receipt (account_id, person_id, message_id);
CREATE UNIQUE INDEX app_user_email_folded_key on app_user (email_folded);
CREATE INDEX account_user_user_id_idx on account_user (user_id);
CREATE UNIQUE INDEX person_account_id_user_id_key on person (account_id, user_id) where user_id is not null;
CREATE UNIQUE INDEX session_token_hash_key on session (token_hash);
CREATE INDEX session_user_id_idx on session (user_id, id);
CREATE INDEX session_expires_at_idx on session (expires_at);
CREATE UNIQUE INDEX passkey_credential_id_key on passkey (credential_id);
CREATE INDEX passkey_user_id_idx on passkey (user_id, id);
CREATE UNIQUE INDEX ceremony_token_hash_key on ceremony (token_hash);
CREATE INDEX ceremony_expires_at_idx on ceremony (expires_at);
CREATE INDEX once_link_user_id_idx on once_link (user_id, kind);
CREATE INDEX once_link_expires_at_idx on once_link (expires_at);
CREATE INDEX sign_in_failure_last_at_idx on sign_in_failure (last_at);
CREATE UNIQUE INDEX invitation_token_hash_key on invitation (token_hash);
CREATE INDEX claim_account_id_status_idx on claim (account_id, status, id);
CREATE INDEX claim_user_id_idx on claim (user_id, id);
CREATE UNIQUE INDEX oauth_app_id_key on oauth_app (id);
CREATE INDEX oauth_secret_account_id_app_id_idx on oauth_secret (account_id, app_id, id);
CREATE UNIQUE INDEX oauth_request_token_hash_key on oauth_request (token_hash);
CREATE INDEX oauth_request_expires_at_idx on oauth_request (expires_at);
CREATE INDEX oauth_grant_account_id_app_id_idx on oauth_grant (account_id, app_id, user_id);
CREATE INDEX oauth_grant_user_id_idx on oauth_grant (user_id, account_id, id);
CREATE INDEX oauth_grant_expires_at_idx on oauth_grant (expires_at);
CREATE UNIQUE INDEX oauth_code_hash_key on oauth_code (hash);
CREATE INDEX oauth_code_expires_at_idx on oauth_code (expires_at);
CREATE INDEX oauth_code_user_id_idx on oauth_code (user_id);
CREATE INDEX oauth_code_account_id_app_id_idx on oauth_code (account_id, app_id);
CREATE UNIQUE INDEX oauth_token_hash_key on oauth_token (hash);
CREATE INDEX oauth_token_account_id_grant_id_idx on oauth_token (account_id, grant_id, kind, generation);
CREATE INDEX oauth_token_expires_at_idx on oauth_token (expires_at);
CREATE INDEX usage_hour_hour_idx on usage_hour (hour);
CREATE INDEX webhook_slot_idx on webhook (slot, account_id) where status = 'enabled';
CREATE INDEX delivery_pending_idx on delivery (account_id, webhook_id, next_attempt_at, sequence) where status = 'pending';
CREATE INDEX delivery_failed_idx on delivery (account_id, webhook_id, id) where status = 'failed';
CREATE INDEX ledger_entry_account_id_subject_idx on ledger_entry (account_id, subject);
CREATE INDEX ledger_entry_account_id_payer_id_idx on ledger_entry (account_id, payer_id, currency, book, kind, team_id, amount);
CREATE INDEX ledger_entry_account_id_team_id_idx on ledger_entry (account_id, team_id, payer_id, currency, kind, book, amount)
    where book in ('receivable', 'credit', 'dues', 'late_fees', 'discounts', 'waived');
CREATE INDEX ledger_entry_account_id_credit_idx on ledger_entry (account_id, payer_id, currency, amount) where book = 'credit';
CREATE UNIQUE INDEX product_account_id_external_id_key on product (account_id, external_id);
CREATE INDEX product_account_id_team_id_idx on product (account_id, team_id, id);
CREATE INDEX variant_account_id_product_id_idx on variant (account_id, product_id, position);
CREATE UNIQUE INDEX discount_account_id_code_folded_key on discount (account_id, code_folded) where status = 'active';
CREATE UNIQUE INDEX shop_order_account_id_number_key on shop_order (account_id, number);
CREATE UNIQUE INDEX shop_order_account_id_external_id_key on shop_order (account_id, external_id) where external_id is not null;
CREATE INDEX shop_order_account_id_team_id_idx on shop_order (account_id, team_id, id) where team_id is not null;
CREATE INDEX shop_order_account_id_buyer_person_id_idx on shop_order (account_id, buyer_person_id, id) where buyer_person_id is not null;
CREATE INDEX shop_order_account_id_discount_id_idx on shop_order (account_id, discount_id) where discount_id is not null;
CREATE INDEX shop_order_expires_at_idx on shop_order (expires_at) where status = 'placed';
CREATE INDEX due_account_id_team_id_idx on due (account_id, team_id, id);
CREATE INDEX due_account_id_member_id_idx on due (account_id, member_id, id);
CREATE INDEX due_account_id_person_id_idx on due (account_id, person_id, id);
CREATE INDEX due_account_id_payer_id_idx on due (account_id, payer_id, id);
CREATE INDEX due_account_id_charge_id_idx on due (account_id, charge_id, id);
CREATE INDEX due_account_id_team_id_overdue_at_idx on due (account_id, team_id, overdue_at);
CREATE INDEX due_late_at_idx on due (late_at, id);
CREATE INDEX installment_account_id_due_on_idx on installment (account_id, due_on, due_id);
CREATE INDEX payment_account_id_subject_idx on payment (account_id, subject, id);
CREATE UNIQUE INDEX payment_account_id_provider_id_key on payment (account_id, provider_id);
CREATE INDEX refund_account_id_subject_idx on refund (account_id, subject, id);
CREATE INDEX refund_status_idx on refund (status, account_id, id) where status = 'pending';
CREATE INDEX checkout_account_id_subject_idx on checkout (account_id, subject, id);
CREATE INDEX checkout_status_idx on checkout (status, account_id, id) where status = 'open';
CREATE UNIQUE INDEX checkout_session_id_key on checkout (session_id);
CREATE INDEX person_account_id_unconfirmed_idx on person (account_id, id) where adult_confirmed_at is null;
CREATE INDEX invitation_email_folded_idx on invitation (email_folded) where email_folded is not null;
CREATE INDEX invitation_visit_user_id_idx on invitation_visit (user_id);
CREATE INDEX guardianship_account_id_unconfirmed_idx on guardianship (account_id, guardian_id) where not confirmed;
COMMIT;
