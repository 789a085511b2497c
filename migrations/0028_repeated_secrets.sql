-- The data of responses that contain a secret, encrypted, for repeated requests. `idempotency` has it without the secret.
create table idempotency_secret (
    account_id bytea not null,
    key text not null,
    data bytea not null,
    constraint idempotency_secret_pkey primary key (account_id, key),
    constraint idempotency_secret_idempotency_fkey foreign key (account_id, key)
        references idempotency (account_id, key) on delete cascade
);

-- Old requests are deleted.
create index key_request_at_idx on key_request (at);
