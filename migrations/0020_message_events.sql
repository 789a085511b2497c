-- The event that a message is about. The message stays when the event is deleted.
alter table message add column event_id bytea;
create index message_account_id_event_id_listed_at_idx on message (account_id, event_id, listed_at, id) where event_id is not null;
-- For the messages that a user has sent.
create index message_author_id_account_id_idx on message (author_id, account_id);
