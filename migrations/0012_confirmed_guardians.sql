-- Whether an admin, or a confirmed guardian of the same person, said that this is their guardian. A guardian whom
-- a coach named does not count as one until then.
alter table guardianship add column confirmed boolean not null default false;

-- Guardians whom an admin has confirmed as adults were confirmed with everybody they look after.
update guardianship set confirmed = true
where exists (select 1 from person g
              where g.account_id = guardianship.account_id and g.id = guardianship.guardian_id
                and g.adult_confirmed_at is not null);

create index guardianship_account_id_unconfirmed_idx on guardianship (account_id, guardian_id) where not confirmed;
