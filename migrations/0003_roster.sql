-- A person. There is one row per person, however many teams they are on and whoever they are a guardian of.
create table person (
    account_id bytea not null,
    id bytea not null,
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
    email_opt_in boolean not null,
    user_id bytea,
    erased_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint person_pkey primary key (account_id, id),
    constraint person_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);
create index person_account_id_name_folded_idx on person (account_id, name_folded);
create index person_account_id_email_folded_idx on person (account_id, email_folded);

-- A person on a team's roster.
create table member (
    account_id bytea not null,
    id bytea not null,
    team_id bytea not null,
    person_id bytea not null,
    role text not null,
    -- Whether the member is or was a player on this team, whatever the current role.
    has_played boolean not null,
    jersey_number text,
    positions text not null,
    status text not null,
    joined_on text,
    left_on text,
    external_id text,
    metadata text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint member_pkey primary key (account_id, id),
    constraint member_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint member_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint member_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint member_role_check check (role in ('player', 'coach', 'manager', 'staff')),
    constraint member_status_check check (status in ('active', 'injured', 'inactive', 'removed'))
);
create index member_account_id_team_id_idx on member (account_id, team_id, id);
create index member_account_id_person_id_idx on member (account_id, person_id, id);
create unique index member_account_id_team_id_person_id_key on member (account_id, team_id, person_id) where status <> 'removed';
create unique index member_account_id_external_id_key on member (account_id, external_id);

-- The guardians of people. A guardian is a person; siblings can have the same guardian.
create table guardianship (
    account_id bytea not null,
    person_id bytea not null,
    guardian_id bytea not null,
    position bigint not null,
    relationship text,
    can_pick_up boolean not null,
    receives_messages boolean not null,
    created_at bigint not null,
    constraint guardianship_pkey primary key (account_id, person_id, guardian_id),
    constraint guardianship_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint guardianship_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint guardianship_guardian_id_fkey foreign key (account_id, guardian_id) references person (account_id, id) on delete cascade
);
create index guardianship_account_id_guardian_id_idx on guardianship (account_id, guardian_id);
