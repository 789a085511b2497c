-- The result of a game as JSON, seen from the team of the event; null until it is recorded.
alter table event add column result text;
