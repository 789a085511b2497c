-- Uploaded files. Their bytes are in the file store, with the ids of the account and of the file as the key.
create table file (
    account_id bytea not null,
    id bytea not null,
    purpose text not null,
    name text not null,
    content_type text not null,
    size bigint not null,
    width bigint,
    height bigint,
    -- The SHA-256 hash of the bytes, in hexadecimal digits.
    sha256 text not null,
    -- The key or user that uploaded it. Nobody else sees the file until it is attached.
    uploaded_by text not null,
    -- The message, team or person that shows it.
    attached_to text,
    -- When it was removed. A job deletes the bytes, and then the row.
    removed_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint file_pkey primary key (account_id, id),
    constraint file_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint file_purpose_check check (purpose in ('attachment', 'logo', 'photo'))
);
create index file_account_id_attached_to_idx on file (account_id, attached_to);
-- Files that were never attached.
create index file_account_id_uploaded_by_idx on file (account_id, uploaded_by) where attached_to is null;
create index file_created_at_idx on file (created_at, id) where attached_to is null;
create index file_id_idx on file (id) where removed_at is not null;

alter table team add column logo_file_id bytea;
alter table person add column photo_file_id bytea;
-- The attached files, as JSON. They never change, so a message is read without another query.
alter table message add column attachments text not null default '[]';
