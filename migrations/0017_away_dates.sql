-- Days on which a person is away. Events on these days are answered with no.
create table away_date (
    account_id bytea not null,
    id bytea not null,
    person_id bytea not null,
    starts_on text not null,
    ends_on text not null,
    note text,
    -- The first and last moment of these days in any time zone, to find the events that may be on them.
    starts_at bigint not null,
    ends_at bigint not null,
    created_by text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint away_date_pkey primary key (account_id, person_id, id),
    constraint away_date_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint away_date_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade
);
