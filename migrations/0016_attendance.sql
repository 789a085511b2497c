-- Who was at an event.
create table attendance (
    account_id bytea not null,
    event_id bytea not null,
    member_id bytea not null,
    status text not null,
    -- A note of the coach, which can contain health information.
    note text,
    recorded_by text not null,
    recorded_at bigint not null,
    version bigint not null,
    constraint attendance_pkey primary key (account_id, event_id, member_id),
    constraint attendance_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint attendance_event_id_fkey foreign key (account_id, event_id) references event (account_id, id) on delete cascade,
    constraint attendance_member_id_fkey foreign key (account_id, member_id) references member (account_id, id) on delete cascade,
    constraint attendance_status_check check (status in ('present', 'late', 'excused', 'absent'))
);
create index attendance_account_id_member_id_idx on attendance (account_id, member_id, event_id);
