-- Whether an API key wrote the message in the name of its author, who then gets it like everybody else if a minor does.
alter table message add column by_key boolean not null default false;
-- Whether an admin, or an API key for the whole club, wrote it.
alter table message add column by_club boolean not null default false;
