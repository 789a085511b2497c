-- When the time, the place or the status of an event last changed, for the changes on Home.
alter table event add column changed_at bigint;
update event set changed_at = revised_at where revision > 0;
