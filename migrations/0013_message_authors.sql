-- Whether an API key wrote the message in the name of its author, who then gets it like everybody else if a minor does.
alter table message add column by_key boolean not null default false;
