-- When a user last confirmed the changes and cancellations on Home.
create table home_visit (
    account_id bytea not null,
    user_id bytea not null,
    seen_at bigint not null,
    constraint home_visit_pkey primary key (account_id, user_id),
    constraint home_visit_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint home_visit_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);
