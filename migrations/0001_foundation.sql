-- The tables that all modules use: the installation, accounts, API keys, the notification log, the audit log and
-- idempotency keys.
--
-- The same SQL runs on SQLite and PostgreSQL. Times are microseconds since 1970; ids have sixteen bytes.

create table installation (
    id bigint not null,
    cursor_key bytea not null,
    created_at bigint not null,
    constraint installation_pkey primary key (id),
    constraint installation_id_check check (id = 1)
);

create table account (
    id bytea not null,
    name text not null,
    tier text not null,
    timezone text not null,
    demo boolean not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint account_pkey primary key (id),
    constraint account_tier_check check (tier in ('free', 'club', 'league'))
);

-- The ends of an account's notification log and audit log. Every change takes the next numbers from here.
create table journal (
    account_id bytea not null,
    sequence bigint not null,
    entries bigint not null,
    chain bytea not null,
    constraint journal_pkey primary key (account_id),
    constraint journal_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);

create table api_key (
    account_id bytea not null,
    id bytea not null,
    public_id text not null,
    hash bytea not null,
    name text not null,
    scopes text not null,
    team_ids text,
    cidrs text,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint,
    created_by text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint api_key_pkey primary key (account_id, id),
    constraint api_key_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);
create unique index api_key_public_id_key on api_key (public_id);

-- The notification log, which webhooks and event streams read. Numbered without gaps per account, in commit order.
create table notification (
    account_id bytea not null,
    sequence bigint not null,
    id bytea not null,
    kind text not null,
    body text not null,
    created_at bigint not null,
    constraint notification_pkey primary key (account_id, sequence),
    constraint notification_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);

-- The audit log. Each entry contains the hash of the previous one. An entry's hash covers the hash of the details and
-- not the details, so personal data can be erased without breaking the chain.
create table audit_entry (
    account_id bytea not null,
    position bigint not null,
    at bigint not null,
    actor text not null,
    action text not null,
    subject text not null,
    request text,
    details text,
    details_hash bytea not null,
    hash bytea not null,
    constraint audit_entry_pkey primary key (account_id, position),
    constraint audit_entry_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);

-- Completed requests with an Idempotency-Key, and their responses.
create table idempotency (
    account_id bytea not null,
    key text not null,
    request_hash bytea not null,
    status bigint not null,
    etag text,
    data text not null,
    created_at bigint not null,
    constraint idempotency_pkey primary key (account_id, key),
    constraint idempotency_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);
create index idempotency_created_at_idx on idempotency (created_at);

-- The time at which an account's quota will be full again, shared by all nodes on one PostgreSQL server.
create table rate_limit (
    account_id bytea not null,
    full_at bigint not null,
    constraint rate_limit_pkey primary key (account_id),
    constraint rate_limit_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);
