-- Whether an admin, or a confirmed guardian of the same person, confirmed this guardian. A guardian whom a coach added
-- doesn't count as one before that.
alter table guardianship add column confirmed boolean not null default false;

-- Guardians whom an admin has confirmed as adults are confirmed for all people they are guardians of.
update guardianship set confirmed = true
where exists (select 1 from person g
              where g.account_id = guardianship.account_id and g.id = guardianship.guardian_id
                and g.adult_confirmed_at is not null);

create index guardianship_account_id_unconfirmed_idx on guardianship (account_id, guardian_id) where not confirmed;
