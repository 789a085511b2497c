-- When a user gets which emails, in all clubs.
create table user_notification_settings (
    user_id bytea not null,
    announcements text not null,
    conversations text not null,
    event_changes text not null,
    rsvp_reminders text not null,
    dues_reminders text not null,
    summary_at text not null,
    quiet_from text,
    quiet_until text,
    timezone text,
    updated_at bigint not null,
    version bigint not null,
    constraint user_notification_settings_pkey primary key (user_id),
    constraint user_notification_settings_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);

-- The same for a person who is not a user.
create table person_notification_settings (
    account_id bytea not null,
    person_id bytea not null,
    announcements text not null,
    conversations text not null,
    event_changes text not null,
    rsvp_reminders text not null,
    dues_reminders text not null,
    summary_at text not null,
    quiet_from text,
    quiet_until text,
    timezone text,
    updated_at bigint not null,
    version bigint not null,
    constraint person_notification_settings_pkey primary key (account_id, person_id),
    constraint person_notification_settings_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint person_notification_settings_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade
);

-- What an email is about, for the settings of its recipient.
alter table mail add column kind text not null default 'other';
alter table mail add column team_id bytea;
-- Whether the email waits for the daily summary of its recipient, and the email with that summary.
alter table mail add column in_summary boolean not null default false;
alter table mail add column summary_id bytea;
create index mail_summary_id_idx on mail (summary_id) where summary_id is not null;
