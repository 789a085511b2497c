-- Locations of events.
create table location (
    account_id bytea not null,
    id bytea not null,
    name text not null,
    name_folded text not null,
    address text,
    latitude double precision,
    longitude double precision,
    url text,
    notes text,
    status text not null,
    external_id text,
    metadata text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint location_pkey primary key (account_id, id),
    constraint location_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint location_status_check check (status in ('active', 'archived'))
);
create unique index location_account_id_external_id_key on location (account_id, external_id);

-- Events of teams. Every occurrence of a series is a row.
create table event (
    account_id bytea not null,
    id bytea not null,
    team_id bytea not null,
    series_id bytea,
    -- The recurrence rule of the series, and the original local start of this occurrence.
    recurrence text,
    occurrence text,
    -- Whether this occurrence was edited individually. Changes of the whole series skip it.
    edited boolean not null,
    kind text not null,
    title text not null,
    starts_at bigint not null,
    ends_at bigint not null,
    timezone text not null,
    all_day boolean not null,
    arrival_minutes bigint,
    location_id bytea,
    opponent text,
    home_away text,
    uniform text,
    notes text,
    rsvp_enabled boolean not null,
    rsvp_deadline bigint,
    capacity bigint,
    -- Volunteer duties and who took them, as JSON.
    duties text not null,
    status text not null,
    cancel_reason text,
    cancelled_at bigint,
    -- The number of members who were asked and of each RSVP, so a list of events doesn't have to count them.
    asked_count bigint not null,
    yes_count bigint not null,
    no_count bigint not null,
    maybe_count bigint not null,
    waitlisted_count bigint not null,
    -- SEQUENCE of iCalendar: increases when the event itself changes, not with RSVPs.
    revision bigint not null,
    revised_at bigint not null,
    external_id text,
    metadata text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint event_pkey primary key (account_id, id),
    constraint event_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint event_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint event_kind_check check (kind in ('game', 'practice', 'meeting', 'tournament', 'other')),
    constraint event_status_check check (status in ('scheduled', 'cancelled', 'completed', 'postponed'))
);
create index event_account_id_starts_at_idx on event (account_id, starts_at, id);
create index event_account_id_team_id_starts_at_idx on event (account_id, team_id, starts_at, id);
create index event_account_id_location_id_starts_at_idx on event (account_id, location_id, starts_at);
create index event_account_id_series_id_idx on event (account_id, series_id, occurrence);
create unique index event_account_id_external_id_key on event (account_id, external_id);

-- The current RSVP of a member.
create table rsvp (
    account_id bytea not null,
    event_id bytea not null,
    member_id bytea not null,
    id bytea not null,
    answer text not null,
    note text,
    -- The position on the waiting list; the lowest is next.
    place bigint,
    answered_by text not null,
    answered_at bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint rsvp_pkey primary key (account_id, event_id, member_id),
    constraint rsvp_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint rsvp_event_id_fkey foreign key (account_id, event_id) references event (account_id, id) on delete cascade,
    constraint rsvp_member_id_fkey foreign key (account_id, member_id) references member (account_id, id) on delete cascade,
    constraint rsvp_answer_check check (answer in ('yes', 'no', 'maybe', 'waitlisted'))
);
create index rsvp_account_id_event_id_place_idx on rsvp (account_id, event_id, place);
create index rsvp_account_id_member_id_idx on rsvp (account_id, member_id, event_id);

-- All RSVPs of a member, in order.
create table rsvp_change (
    account_id bytea not null,
    event_id bytea not null,
    member_id bytea not null,
    position bigint not null,
    answer text,
    note text,
    answered_by text not null,
    answered_at bigint not null,
    constraint rsvp_change_pkey primary key (account_id, event_id, member_id, position),
    constraint rsvp_change_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint rsvp_change_event_id_fkey foreign key (account_id, event_id) references event (account_id, id) on delete cascade,
    constraint rsvp_change_member_id_fkey foreign key (account_id, member_id) references member (account_id, id) on delete cascade
);
create index rsvp_change_account_id_member_id_idx on rsvp_change (account_id, member_id, event_id);

-- A calendar feed under a secret URL. Only a hash of the secret is stored.
create table calendar_feed (
    account_id bytea not null,
    id bytea not null,
    token_hash bytea not null,
    name text,
    team_id bytea,
    person_id bytea,
    games_only boolean not null,
    created_by text not null,
    revoked_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint calendar_feed_pkey primary key (account_id, id),
    constraint calendar_feed_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint calendar_feed_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint calendar_feed_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade
);
create unique index calendar_feed_token_hash_key on calendar_feed (token_hash);
create index calendar_feed_account_id_person_id_idx on calendar_feed (account_id, person_id);
