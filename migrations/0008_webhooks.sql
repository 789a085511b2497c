-- Webhooks and their deliveries.

create table webhook (
    account_id bytea not null,
    id bytea not null,
    url text not null,
    description text,
    -- The subscribed event types, such as `team.*`, separated by spaces.
    events text not null,
    team_ids text,
    ordering text not null,
    status text not null,
    disabled_reason text,
    disabled_at bigint,
    -- Encrypted with the installation's key. After a rotation the previous secrets also sign until they expire.
    secret bytea not null,
    previous_secrets text not null,
    previous_secret_until bigint,
    -- Who created the webhook. It only receives events that its creator can read.
    creator text not null,
    creator_app text,
    -- The slot of the webhook. The node that holds the slot delivers.
    slot bigint not null,
    -- The last sequence number of the notification log that was processed.
    position bigint not null,
    -- The sequence numbers to replay: greater than the first, up to and including the second.
    replay_after bigint,
    replay_until bigint,
    replay_missed boolean not null,
    -- Recent failures, and until when deliveries are paused.
    failures bigint not null,
    failing_since bigint,
    paused_until bigint,
    recovered_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint webhook_pkey primary key (account_id, id),
    constraint webhook_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint webhook_ordering_check check (ordering in ('parallel', 'strict')),
    constraint webhook_status_check check (status in ('enabled', 'disabled')),
    constraint webhook_disabled_reason_check check (disabled_reason in ('manual', 'gone', 'failing', 'creator_removed'))
); -- changed in place
create index webhook_slot_idx on webhook (slot, account_id) where status = 'enabled';

-- The delivery of one notification to one webhook, with all attempts. Rows are inserted in batches after the first
-- attempt. To keep that fast, the primary key is the only index over all rows, and there is no foreign key to check.
-- The id is derived from webhook and notification, so there is only one delivery of each pair. Without foreign keys,
-- deliveries are deleted with their webhook and account in code (`webhooks::edit::delete`,
-- `accounts::account::delete`).
create table delivery (
    account_id bytea not null,
    webhook_id bytea not null,
    id bytea not null,
    -- The sequence number of the notification. Null for a ping, which stores its body here.
    sequence bigint,
    notification_id bytea not null,
    kind text not null,
    body text,
    status text not null,
    -- The number of attempts since the delivery was last requested. `attempts` has all of them: time, duration, status,
    -- error and response.
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

-- The numbers of successful and failed attempts, per hour.
create table webhook_hour (
    account_id bytea not null,
    webhook_id bytea not null,
    hour bigint not null,
    succeeded bigint not null,
    failed bigint not null,
    constraint webhook_hour_pkey primary key (account_id, webhook_id, hour),
    constraint webhook_hour_webhook_id_fkey foreign key (account_id, webhook_id) references webhook (account_id, id) on delete cascade
); -- changed in place

-- The nodes that deliver webhooks, and the slots that each holds. The slots of a crashed node expire.
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
