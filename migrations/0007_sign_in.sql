-- Sign-in: sessions, second factors, one-time links, invitations, and OAuth apps.

alter table app_user add column email_verified_at bigint;
-- The main sport of the club, the default for new teams.
alter table account add column sport text;
create unique index person_account_id_user_id_key on person (account_id, user_id) where user_id is not null;

-- A browser session. Only a hash of the cookie is stored.
create table session (
    id bytea not null,
    token_hash bytea not null,
    user_id bytea not null,
    -- The club whose pages the session shows.
    club bytea,
    -- The password was correct, but the second factor is still missing.
    pending boolean not null,
    -- The sign-in method, and when the user last authenticated.
    method text not null,
    proved_at bigint not null,
    user_agent text,
    address text,
    last_seen_at bigint not null,
    expires_at bigint not null,
    created_at bigint not null,
    constraint session_pkey primary key (id),
    constraint session_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);
create unique index session_token_hash_key on session (token_hash);
create index session_user_id_idx on session (user_id, id);
create index session_expires_at_idx on session (expires_at);

-- Authenticator apps (TOTP). The seed is encrypted; each time step is accepted once.
create table totp (
    user_id bytea not null,
    seed bytea not null,
    confirmed_at bigint,
    last_step bigint not null,
    created_at bigint not null,
    constraint totp_pkey primary key (user_id),
    constraint totp_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);

-- Recovery codes for a lost second factor. Each can be used once.
create table recovery_code (
    user_id bytea not null,
    hash bytea not null,
    used_at bigint,
    created_at bigint not null,
    constraint recovery_code_pkey primary key (user_id, hash),
    constraint recovery_code_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);

create table passkey (
    id bytea not null,
    user_id bytea not null,
    name text not null,
    credential_id bytea not null,
    -- The credential as registered, and the state that changes with each use.
    static_state bytea not null,
    dynamic_state bytea not null,
    metadata text,
    last_used_at bigint,
    created_at bigint not null,
    constraint passkey_pkey primary key (id),
    constraint passkey_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);
create unique index passkey_credential_id_key on passkey (credential_id);
create index passkey_user_id_idx on passkey (user_id, id);

-- A passkey challenge that was sent to a browser. It can be answered once.
create table ceremony (
    id bytea not null,
    token_hash bytea not null,
    user_id bytea,
    kind text not null,
    state bytea not null,
    expires_at bigint not null,
    constraint ceremony_pkey primary key (id),
    constraint ceremony_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade,
    constraint ceremony_kind_check check (kind in ('register', 'sign_in'))
);
create unique index ceremony_token_hash_key on ceremony (token_hash);
create index ceremony_expires_at_idx on ceremony (expires_at);

-- A one-time link: to set up the service, to reset a password or to confirm an email address.
create table once_link (
    hash bytea not null,
    kind text not null,
    user_id bytea,
    -- The email address to confirm.
    email text,
    expires_at bigint not null,
    created_at bigint not null,
    constraint once_link_pkey primary key (hash),
    constraint once_link_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade,
    constraint once_link_kind_check check (kind in ('set_up', 'reset', 'reset_all', 'verify'))
);
create index once_link_user_id_idx on once_link (user_id, kind);
create index once_link_expires_at_idx on once_link (expires_at);

-- Failed sign-in attempts, for throttling. The subject is a hash of what is throttled.
create table sign_in_failure (
    subject bytea not null,
    failures bigint not null,
    last_at bigint not null,
    constraint sign_in_failure_pkey primary key (subject)
);
create index sign_in_failure_last_at_idx on sign_in_failure (last_at);

-- An invitation to the club: for one person, or a link for a whole team.
create table invitation (
    account_id bytea not null,
    id bytea not null,
    token_hash bytea not null,
    -- The role in the account that the invited user gets.
    role text not null,
    email text,
    -- The team, the relation (guardian, self or coach), and the person on the roster.
    team_id bytea,
    relation text,
    person_id bytea,
    -- The number of remaining uses; null for unlimited.
    uses_left bigint,
    created_by text not null,
    expires_at bigint not null,
    revoked_at bigint,
    last_used_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint invitation_pkey primary key (account_id, id),
    constraint invitation_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint invitation_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint invitation_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint invitation_role_check check (role in ('owner', 'admin', 'member')),
    constraint invitation_relation_check check (relation in ('guardian', 'self'))
);
create unique index invitation_token_hash_key on invitation (token_hash);

-- A request to join through a team's link. A coach or an admin approves or rejects it.
create table claim (
    account_id bytea not null,
    id bytea not null,
    user_id bytea not null,
    team_id bytea not null,
    -- The person on the roster whom the user claims to be, or to be the guardian of.
    person_id bytea,
    relation text not null,
    note text,
    status text not null,
    decided_by text,
    decided_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint claim_pkey primary key (account_id, id),
    constraint claim_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint claim_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade,
    constraint claim_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint claim_person_id_fkey foreign key (account_id, person_id) references person (account_id, id) on delete cascade,
    constraint claim_relation_check check (relation in ('guardian', 'self', 'coach')),
    constraint claim_status_check check (status in ('open', 'approved', 'refused'))
);
create index claim_account_id_status_idx on claim (account_id, status, id);
create index claim_user_id_idx on claim (user_id, id);

-- An OAuth app of the account. Its id is its client_id.
create table oauth_app (
    account_id bytea not null,
    id bytea not null,
    name text not null,
    kind text not null,
    redirect_uris text not null,
    scopes text not null,
    created_by text not null,
    disabled_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint oauth_app_pkey primary key (account_id, id),
    constraint oauth_app_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_app_kind_check check (kind in ('native', 'spa', 'server'))
);
create unique index oauth_app_id_key on oauth_app (id);

-- The client secrets of a server-side app. Two can be valid at the same time during a rotation.
create table oauth_secret (
    account_id bytea not null,
    id bytea not null,
    app_id bytea not null,
    hash bytea not null,
    hint text not null,
    created_by text not null,
    last_used_at bigint,
    revoked_at bigint,
    created_at bigint not null,
    constraint oauth_secret_pkey primary key (account_id, id),
    constraint oauth_secret_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_secret_app_id_fkey foreign key (account_id, app_id) references oauth_app (account_id, id) on delete cascade
);
create index oauth_secret_account_id_app_id_idx on oauth_secret (account_id, app_id, id);

-- Authorization requests that the user has not decided on. The URL of the page contains a token.
create table oauth_request (
    account_id bytea not null,
    id bytea not null,
    token_hash bytea not null,
    app_id bytea not null,
    user_id bytea,
    session_id bytea,
    redirect_uri text not null,
    scopes text not null,
    state text,
    challenge bytea,
    prompt text,
    -- The scopes that the consent page showed last.
    shown text,
    -- The user's decision. Repeating it returns the same response.
    answer text,
    expires_at bigint not null,
    created_at bigint not null,
    constraint oauth_request_pkey primary key (account_id, id),
    constraint oauth_request_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_request_app_id_fkey foreign key (account_id, app_id) references oauth_app (account_id, id) on delete cascade
);
create unique index oauth_request_token_hash_key on oauth_request (token_hash);
create index oauth_request_expires_at_idx on oauth_request (expires_at);

-- The access that a user granted to an app. Revoking it revokes all its codes and tokens.
create table oauth_grant (
    account_id bytea not null,
    id bytea not null,
    app_id bytea not null,
    user_id bytea not null,
    scopes text not null,
    -- The redirect URI that the user approved.
    redirect_uri text not null,
    generation bigint not null,
    expires_at bigint not null,
    last_used_at bigint,
    revoked_at bigint,
    revoked_because text,
    created_at bigint not null,
    constraint oauth_grant_pkey primary key (account_id, id),
    constraint oauth_grant_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_grant_app_id_fkey foreign key (account_id, app_id) references oauth_app (account_id, id) on delete cascade,
    constraint oauth_grant_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);
create index oauth_grant_account_id_app_id_idx on oauth_grant (account_id, app_id, user_id);
create index oauth_grant_user_id_idx on oauth_grant (user_id, account_id, id);
create index oauth_grant_expires_at_idx on oauth_grant (expires_at);

create table oauth_code (
    account_id bytea not null,
    hash bytea not null,
    app_id bytea not null,
    user_id bytea not null,
    session_id bytea not null,
    redirect_uri text not null,
    scopes text not null,
    challenge bytea,
    expires_at bigint not null,
    -- Set when the code is exchanged, with the resulting grant.
    used_at bigint,
    grant_id bytea,
    created_at bigint not null,
    constraint oauth_code_pkey primary key (account_id, hash),
    constraint oauth_code_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_code_app_id_fkey foreign key (account_id, app_id) references oauth_app (account_id, id) on delete cascade,
    constraint oauth_code_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);
create unique index oauth_code_hash_key on oauth_code (hash);
create index oauth_code_expires_at_idx on oauth_code (expires_at);
create index oauth_code_user_id_idx on oauth_code (user_id);
create index oauth_code_account_id_app_id_idx on oauth_code (account_id, app_id);

-- Access and refresh tokens. Only their hashes are stored.
create table oauth_token (
    account_id bytea not null,
    hash bytea not null,
    kind text not null,
    grant_id bytea not null,
    user_id bytea not null,
    app_id bytea not null,
    scopes text not null,
    generation bigint not null,
    -- For refresh tokens: the nonce from which the next token is derived, and when this one was replaced.
    nonce bytea,
    replaced_at bigint,
    used_at bigint,
    expires_at bigint not null,
    created_at bigint not null,
    constraint oauth_token_pkey primary key (account_id, hash),
    constraint oauth_token_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint oauth_token_grant_id_fkey foreign key (account_id, grant_id) references oauth_grant (account_id, id) on delete cascade,
    constraint oauth_token_kind_check check (kind in ('access', 'refresh'))
);
create unique index oauth_token_hash_key on oauth_token (hash);
create index oauth_token_account_id_grant_id_idx on oauth_token (account_id, grant_id, kind, generation);
create index oauth_token_expires_at_idx on oauth_token (expires_at);

-- The number of requests of each API key and app, per hour.
create table usage_hour (
    account_id bytea not null,
    hour bigint not null,
    -- The id of the API key or app.
    credential text not null,
    requests bigint not null,
    -- Requests that were rejected because the quota was exceeded.
    refused bigint not null,
    constraint usage_hour_pkey primary key (account_id, hour, credential),
    constraint usage_hour_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);
create index usage_hour_hour_idx on usage_hour (hour);
