-- The last requests with each API key. Written every few seconds.
create table key_request (
    account_id bytea not null,
    key_id bytea not null,
    -- The request id as it was sent to the client. Later requests have greater ids.
    id text not null,
    at bigint not null,
    method text not null,
    -- The path without query parameters, which can contain names and email addresses.
    path text not null,
    status bigint not null,
    -- The code of the error; null if the request succeeded.
    code text,
    -- How long the service took, in microseconds.
    duration bigint not null,
    constraint key_request_pkey primary key (account_id, key_id, id),
    constraint key_request_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);
