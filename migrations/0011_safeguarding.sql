-- Which people are treated as minors, and which adults count as the second adult in conversations with them.

-- Set as soon as the person is known to be a minor. Only an admin can clear it.
alter table person add column known_minor boolean not null default false;
-- When an admin confirmed that the person is an adult known to the club, and which admin.
alter table person add column adult_confirmed_at bigint;
alter table person add column adult_confirmed_by text;
-- When the person opened the link that was sent to their email address.
alter table person add column email_confirmed_at bigint;

create index person_account_id_unconfirmed_idx on person (account_id, id) where adult_confirmed_at is null;

-- Existing people: those who are minors according to the recorded data are marked as minors.
update person set known_minor = true
where erased_at is null
  and (birth_date > '2008-11-18'
    or (birth_date is null
        and (exists (select 1 from guardianship g
                     where g.account_id = person.account_id and g.person_id = person.id)
          or exists (select 1 from member m
                     join team t on t.account_id = m.account_id and t.id = m.team_id
                     where m.account_id = person.account_id and m.person_id = person.id and m.has_played
                       and lower(coalesce(t.age_group, '')) not like '%adult%'
                       and lower(coalesce(t.age_group, '')) not like '%senior%'
                       and lower(coalesce(t.age_group, '')) not like '%master%'
                       and lower(coalesce(t.age_group, '')) not like '%veteran%'
                       and lower(coalesce(t.age_group, '')) not like '%open%'))));

-- Coaches, staff and guardians who sign in were approved earlier. All others must be confirmed.
update person set adult_confirmed_at = created_at
where erased_at is null and user_id is not null and not known_minor
  and (exists (select 1 from guardianship g
               where g.account_id = person.account_id and g.guardian_id = person.id)
    or exists (select 1 from member m
               where m.account_id = person.account_id and m.person_id = person.id and m.role <> 'player'));

-- The email address of an invitation, normalized for comparing.
alter table invitation add column email_folded text;
update invitation set email_folded = lower(email);
create index invitation_email_folded_idx on invitation (email_folded) where email_folded is not null;

-- Users who signed up through an invitation, so they find it again when they sign in later.
create table invitation_visit (
    account_id bytea not null,
    invitation_id bytea not null,
    user_id bytea not null,
    created_at bigint not null,
    constraint invitation_visit_pkey primary key (account_id, invitation_id, user_id),
    constraint invitation_visit_invitation_id_fkey foreign key (account_id, invitation_id) references invitation (account_id, id) on delete cascade,
    constraint invitation_visit_user_id_fkey foreign key (user_id) references app_user (id) on delete cascade
);
create index invitation_visit_user_id_idx on invitation_visit (user_id);
