create table team (
    account_id bytea not null,
    id bytea not null,
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
    unique_jerseys boolean not null,
    status text not null,
    roster_count bigint not null,
    external_id text,
    metadata text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint team_pkey primary key (account_id, id),
    constraint team_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint team_status_check check (status in ('active', 'archived'))
);
create unique index team_account_id_name_folded_key on team (account_id, name_folded) where status = 'active';
create unique index team_account_id_external_id_key on team (account_id, external_id);
