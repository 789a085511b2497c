-- A person is kept once: whatever teams they are on, whoever's guardian they are.
create table person (
    account_id bytea not null,
    id bytea not null,
    first_name text not null,
    last_name text,
    preferred_name text,
    -- First and last name as they are compared and searched.
    name_folded text not null,
    preferred_folded text,
    birth_date text,
    email text,
    email_folded text,
    -- As it was given, and beside it in the form in which numbers can be compared.
    phone text,
    phone_normalized text,
    address text,
    emergency_contact text,
    medical_note text,
    wants_email boolean not null,
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
    -- Whether they are or ever were a player on this team, whatever they are now.
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

-- Who looks after whom. Guardians are people; siblings share them.
create table guardianship (
    account_id bytea not null,
    person_id bytea not null,
    guardian_id bytea not null,
    position bigint not null,
    relationship text,
    may_pick_up boolean not null,
    receives_messages boolean not null,
    created_at bigint not null,
    constraint guardianship_pkey primary key (account_id, person_id, guardian_id),
    constraint guardianship_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint guardianship_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint guardianship_guardian_id_fkey foreign key (account_id, guardian_id) references person (account_id, id) on delete cascade
);
create index guardianship_account_id_guardian_id_idx on guardianship (account_id, guardian_id);
