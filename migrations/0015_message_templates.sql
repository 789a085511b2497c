-- Texts that a club sends again and again.
create table message_template (
    account_id bytea not null,
    id bytea not null,
    name text not null,
    name_folded text not null,
    subject text,
    body text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint message_template_pkey primary key (account_id, id),
    constraint message_template_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);
create unique index message_template_account_id_name_folded_key on message_template (account_id, name_folded);
