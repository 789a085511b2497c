-- The language of a user's pages and emails, and of an email that waits to be sent.
alter table app_user add column language text;
alter table mail add column language text;
