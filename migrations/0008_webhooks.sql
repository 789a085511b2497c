-- Webhooks: who is told what happens, and what became of the telling.

create table webhook (
    account_id bytea not null,
    id bytea not null,
    url text not null,
    description text,
    -- The kinds it wants, such as `team.*`, separated by spaces.
    events text not null,
    team_ids text,
    ordering text not null,
    status text not null,
    disabled_reason text,
    disabled_at bigint,
    -- Sealed with the installation's key. After a rotation those before also sign, each for a while.
    secret bytea not null,
    previous_secrets text not null,
    previous_secret_until bigint,
    -- Whoever made it: it is told no more than they may read.
    creator text not null,
    creator_app text,
    -- The share of the work it belongs to; whichever node holds the share sends.
    slot bigint not null,
    -- Everything up to this number of the log was looked at for it.
    position bigint not null,
    -- What is sent again: numbers above the first, up to the second.
    replay_after bigint,
    replay_until bigint,
    replay_missed boolean not null,
    -- How it went lately.
    failures bigint not null,
    failing_since bigint,
    resting_until bigint,
    recovered_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint webhook_pkey primary key (account_id, id),
    constraint webhook_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint webhook_ordering_check check (ordering in ('parallel', 'strict')),
    constraint webhook_status_check check (status in ('enabled', 'disabled')),
    constraint webhook_disabled_reason_check check (disabled_reason in ('by_hand', 'gone', 'failing', 'creator_gone'))
); -- changed in place
create index webhook_slot_idx on webhook (slot, account_id) where status = 'enabled';

-- One notification on its way to one webhook, with all attempts. Written when the first attempt has ended, many
-- together: so it has no index for all of them but its key, and no rule that would be looked up for each. The id follows
-- from webhook and notification, so there is never a second one of both. It goes with its webhook all the same, and
-- with its account (`webhooks::edit::delete`, `accounts::account::delete`).
create table delivery (
    account_id bytea not null,
    webhook_id bytea not null,
    id bytea not null,
    -- Its number in the log; a ping has none and carries its body itself.
    sequence bigint,
    notification_id bytea not null,
    kind text not null,
    body text,
    status text not null,
    -- Attempts since it was last asked for; all of them are in `attempts`: when, how long, status, error, answer.
    tries bigint not null,
    attempts text not null,
    next_attempt_at bigint,
    created_at bigint not null,
    finished_at bigint,
    updated_at bigint not null,
    version bigint not null,
    constraint delivery_pkey primary key (account_id, webhook_id, id),
    constraint delivery_status_check check (status in ('pending', 'succeeded', 'failed'))
);
create index delivery_pending_idx on delivery (account_id, webhook_id, next_attempt_at, sequence) where status = 'pending';
create index delivery_failed_idx on delivery (account_id, webhook_id, id) where status = 'failed';

-- How many attempts went well, by the hour.
create table webhook_hour (
    account_id bytea not null,
    webhook_id bytea not null,
    hour bigint not null,
    succeeded bigint not null,
    failed bigint not null,
    constraint webhook_hour_pkey primary key (account_id, webhook_id, hour),
    constraint webhook_hour_webhook_id_fkey foreign key (account_id, webhook_id) references webhook (account_id, id) on delete cascade
); -- changed in place

-- The nodes that send, and which shares of the work each holds. A node that died lets go by itself.
create table dispatch_node (
    id bytea not null,
    seen_at bigint not null,
    constraint dispatch_node_pkey primary key (id)
);

create table dispatch_slot (
    slot bigint not null,
    holder bytea not null,
    held_until bigint not null,
    constraint dispatch_slot_pkey primary key (slot)
);
