-- Events of more than 12 hours, to find those that have begun and are not over.
create index event_account_id_ends_at_idx on event (account_id, ends_at) where ends_at - starts_at > 43200000000;
