-- A user who signs in. Users are independent of accounts: a parent with children in two clubs is one user.
create table app_user (
    id bytea not null,
    email text not null,
    email_folded text not null,
    name text not null,
    -- The hash of the password; null until one is set.
    password_hash text,
    password_changed_at bigint,
    disabled_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint app_user_pkey primary key (id)
);
create unique index app_user_email_folded_key on app_user (email_folded);

-- The role of a user in an account.
create table account_user (
    account_id bytea not null,
    user_id bytea not null,
    role text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint account_user_pkey primary key (account_id, user_id),
    constraint account_user_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint account_user_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade,
    constraint account_user_role_check check (role in ('owner', 'admin', 'member'))
);
create index account_user_user_id_idx on account_user (user_id);
