-- Records of people that became part of another record of the same person. The old ids lead to the remaining record.
create table merged_person (
    account_id bytea not null,
    id bytea not null,
    -- The remaining record. If it is merged too, this changes.
    into_id bytea not null,
    merged_at bigint not null,
    constraint merged_person_pkey primary key (account_id, id),
    constraint merged_person_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint merged_person_into_id_fkey foreign key (account_id, into_id) references person (account_id, id) on delete cascade
);
create index merged_person_account_id_into_id_idx on merged_person (account_id, into_id);
