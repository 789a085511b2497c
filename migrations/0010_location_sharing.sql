-- Whether a location is offered to every team of the club, and who added it.
alter table location add column shared boolean not null default true;
alter table location add column created_by text not null default '';

-- A place that a single team uses may be somebody's home.
update location set shared = false
where 1 = (
    select count(distinct event.team_id) from event
    where event.account_id = location.account_id and event.location_id = location.id);
