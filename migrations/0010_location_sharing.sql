-- Whether all teams of the club can use the location, and who added it.
alter table location add column shared boolean not null default true;
alter table location add column created_by text not null default '';

-- A location that only one team uses may be a private home.
update location set shared = false
where 1 = (
    select count(distinct event.team_id) from event
    where event.account_id = location.account_id and event.location_id = location.id);
