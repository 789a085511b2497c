-- How many hours before the RSVP deadline people who have not answered are reminded; null for no reminders.
alter table team add column rsvp_reminder_hours bigint default 48;

-- When a person was last reminded of an event, automatically and by hand.
create table event_reminder (
    account_id bytea not null,
    event_id bytea not null,
    person_id bytea not null,
    automatic_at bigint,
    manual_at bigint,
    constraint event_reminder_pkey primary key (account_id, event_id, person_id),
    constraint event_reminder_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint event_reminder_event_id_fkey foreign key (account_id, event_id) references event (account_id, id) on delete cascade,
    constraint event_reminder_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade
);

-- When the automatic reminder of an event was last processed.
create table event_reminder_run (
    account_id bytea not null,
    event_id bytea not null,
    ran_at bigint not null,
    constraint event_reminder_run_pkey primary key (account_id, event_id),
    constraint event_reminder_run_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint event_reminder_run_event_id_fkey foreign key (account_id, event_id) references event (account_id, id) on delete cascade
);

-- Finds events that will soon take no more answers, in all accounts.
create index event_answers_until_idx on event ((coalesce(rsvp_deadline, starts_at)), id) where status = 'scheduled' and rsvp_enabled;
