-- Outgoing emails. Inserted in the transaction of the change that caused them, sent afterwards, and retried on failure.
create table mail (
    account_id bytea not null,
    id bytea not null,
    -- Null if the recipient is an admin and not a person on a roster.
    person_id bytea,
    -- The id of the object that the email is about, such as a message.
    about text not null,
    to_name text not null,
    to_address text not null,
    subject text not null,
    body_text text not null,
    html_body text,
    status text not null,
    attempts bigint not null,
    next_attempt_at bigint not null,
    -- A node that sends the email has it locked until then. The lock of a crashed node expires.
    held_until bigint,
    last_error text,
    sent_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint mail_pkey primary key (account_id, id),
    constraint mail_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint mail_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint mail_status_check check (status in ('pending', 'sent', 'failed', 'cancelled', 'unsent'))
);
create index mail_next_attempt_at_idx on mail (next_attempt_at) where status = 'pending';
create index mail_account_id_about_idx on mail (account_id, about);
create index mail_account_id_person_id_idx on mail (account_id, person_id);

-- An announcement, or a message of a conversation. Retracted messages are kept and shown as retracted.
create table message (
    account_id bytea not null,
    id bytea not null,
    team_id bytea not null,
    kind text not null,
    subject text,
    body text not null,
    audience text not null,
    parent_id bytea,
    -- The id of the first message of the conversation; the message's own id if it is the first.
    thread_id bytea not null,
    pinned boolean not null,
    publish_at bigint,
    published_at bigint,
    -- Sort key of lists: when the message was or will be published.
    listed_at bigint not null,
    author_id text not null,
    author_person_id bytea,
    status text not null,
    retracted_by text,
    retracted_at bigint,
    delivered_count bigint not null,
    read_count bigint not null,
    metadata text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint message_pkey primary key (account_id, id),
    constraint message_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint message_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint message_author_person_id_fkey foreign key (account_id, author_person_id) references person (account_id, id) on delete cascade,
    constraint message_kind_check check (kind in ('announcement', 'message')),
    constraint message_status_check check (status in ('published', 'scheduled', 'retracted'))
);
create index message_account_id_listed_at_idx on message (account_id, listed_at, id);
create index message_account_id_team_id_listed_at_idx on message (account_id, team_id, listed_at, id);
create index message_account_id_thread_id_listed_at_idx on message (account_id, thread_id, listed_at, id);
create index message_publish_at_idx on message (publish_at) where status = 'scheduled';
create index message_account_id_author_person_id_idx on message (account_id, author_person_id);

-- The recipients of a message, and when they read it.
create table receipt (
    account_id bytea not null,
    message_id bytea not null,
    person_id bytea not null,
    delivered_at bigint not null,
    read_at bigint,
    constraint receipt_pkey primary key (account_id, message_id, person_id),
    constraint receipt_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint receipt_message_id_fkey foreign key (account_id, message_id) references message (account_id, id) on delete cascade,
    constraint receipt_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade
);
create index receipt_account_id_person_id_idx on receipt (account_id, person_id, message_id);
