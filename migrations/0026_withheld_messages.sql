-- Why a scheduled message was retracted instead of published.
alter table message add column withheld_reason text;
