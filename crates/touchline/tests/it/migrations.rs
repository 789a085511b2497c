//! Tests of what migrations do with rows that an earlier version wrote.

use std::collections::BTreeMap;

use kit::Clock;
use store::{Db, Scope, Tx, bind};
use testkit::world::make_account;
use testkit::{Engine, TestDatabase};
use touchline::error::Error;
use touchline::ids::{AccountId, EventId, InvitationId, LocationId, MemberId, PersonId, TeamId};
use touchline::migrations::MIGRATIONS;

/// The number of migrations before shared locations and known minors were added.
const BEFORE: usize = 9;

const TEAM: &str = "insert into team (account_id, id, name, name_folded, age_group, timezone, unique_jerseys, status,
     roster_count, metadata, created_at, updated_at, version)
     values (:account, :id, :name, :name, :age_group, 'UTC', false, 'active', 0, '{}', 1, 1, 1)";
const PERSON: &str =
    "insert into person (account_id, id, first_name, name_folded, birth_date, email_opt_in, user_id,
     created_at, updated_at, version)
     values (:account, :id, :name, :name, :born, true, :user, 1, 1, 1)";
const MEMBER: &str =
    "insert into member (account_id, id, team_id, person_id, role, has_played, positions, status,
     metadata, created_at, updated_at, version)
     values (:account, :id, :team, :person, :role, :plays, '[]', 'active', '{}', 1, 1, 1)";
const GUARDIANSHIP: &str =
    "insert into guardianship (account_id, person_id, guardian_id, position, can_pick_up,
     receives_messages, created_at)
     values (:account, :child, :guardian, 0, true, true, 1)";
const LOCATION: &str = "insert into location (account_id, id, name, name_folded, status, metadata, created_at, updated_at, version)
     values (:account, :id, :name, :name, 'active', '{}', 1, 1, 1)";
const EVENT: &str = "insert into event (account_id, id, team_id, edited, kind, title, starts_at, ends_at, timezone, all_day,
     location_id, rsvp_enabled, duties, status, asked_count, yes_count, no_count, maybe_count, waitlisted_count, revision,
     revised_at, metadata, created_at, updated_at, version)
     values (:account, :id, :team, false, 'practice', 'x', 1, 2, 'UTC', false, :location, false, '[]', 'scheduled',
     0, 0, 0, 0, 0, 1, 1, '{}', 1, 1, 1)";
const INVITATION: &str =
    "insert into invitation (account_id, id, token_hash, role, email, created_by, expires_at,
     created_at, updated_at, version)
     values (:account, :id, :id, 'member', 'Ana@Example.org', 'cli', 1, 1, 1, 1)";

fn person(
    tx: &Tx<'_>,
    number: u128,
    name: &'static str,
    born: Option<&'static str>,
    signs_in: bool,
) -> PersonId {
    let id = PersonId::from_bits(number);
    let user = signs_in.then_some(id);
    tx.execute(PERSON, bind! { id, name, born, user }).unwrap();
    id
}

/// Writes people, locations and an invitation as the earlier version did.
fn fill(tx: &Tx<'_>) {
    let (youth, adults) = (TeamId::from_bits(1), TeamId::from_bits(2));
    tx.execute(TEAM, bind! { id: youth, name: "youth", age_group: Some("U12") }).unwrap();
    tx.execute(TEAM, bind! { id: adults, name: "adults", age_group: Some("Adult open") }).unwrap();
    let mut member_count = 0;
    let mut add_member = |team: TeamId, person: PersonId, role: &'static str| {
        member_count += 1;
        let (id, plays) = (MemberId::from_bits(member_count), role == "player");
        tx.execute(MEMBER, bind! { id, team, person, role, plays }).unwrap();
    };
    add_member(youth, person(tx, 1, "child", Some("2014-05-05"), false), "player");
    add_member(youth, person(tx, 2, "no birth date", None, false), "player");
    add_member(adults, person(tx, 3, "grown player", None, false), "player");
    add_member(youth, person(tx, 4, "coach who signs in", None, true), "coach");
    add_member(youth, person(tx, 5, "coach without a user", None, false), "coach");
    let mother = person(tx, 6, "mother who signs in", None, true);
    let father = person(tx, 7, "father without a user", None, false);
    for guardian in [mother, father] {
        tx.execute(GUARDIANSHIP, bind! { child: PersonId::from_bits(1), guardian }).unwrap();
    }
    let mut event_count = 0;
    for (number, name, teams) in [
        (1, "unused", vec![]),
        (2, "of one team", vec![youth, youth]),
        (3, "of two", vec![youth, adults]),
    ] {
        let location = LocationId::from_bits(number);
        tx.execute(LOCATION, bind! { id: location, name }).unwrap();
        for team in teams {
            event_count += 1;
            tx.execute(EVENT, bind! { id: EventId::from_bits(event_count), team, location })
                .unwrap();
        }
    }
    tx.execute(INVITATION, bind! { id: InvitationId::from_bits(1) }).unwrap();
}

/// Checks minors, confirmations, guardianships, locations and invitations after the migration.
async fn check(db: &Db, account: AccountId) {
    let read = db.read(Scope::account(account, "test"), |db| {
        let people: Vec<(String, bool, bool)> = db.all(
            "select first_name, known_minor, adult_confirmed_at is not null as confirmed
             from person where account_id = :account",
            bind! {},
        )?;
        let guardianships: Vec<(PersonId, bool)> = db.all(
            "select guardian_id, confirmed from guardianship where account_id = :account order by guardian_id",
            bind! {},
        )?;
        let locations: Vec<(String, bool)> =
            db.all("select name, shared from location where account_id = :account order by id", bind! {})?;
        let invitations: Vec<(Option<String>,)> =
            db.all("select email_folded from invitation where account_id = :account", bind! {})?;
        Ok::<_, Error>((people, guardianships, locations, invitations))
    });
    let (people, guardianships, locations, invitations) = read.await.unwrap();
    let people: BTreeMap<_, _> =
        people.iter().map(|(name, minor, known)| (name.as_str(), (*minor, *known))).collect();
    let expected = [
        ("child", (true, false)),
        ("no birth date", (true, false)),
        ("grown player", (false, false)),
        ("coach who signs in", (false, true)),
        ("coach without a user", (false, false)),
        ("mother who signs in", (false, true)),
        ("father without a user", (false, false)),
    ];
    assert_eq!(people, BTreeMap::from(expected));
    assert_eq!(guardianships, [(PersonId::from_bits(6), true), (PersonId::from_bits(7), false)]);
    let locations: Vec<_> =
        locations.iter().map(|(name, shared)| (name.as_str(), *shared)).collect();
    assert_eq!(locations, [("unused", true), ("of one team", false), ("of two", true)]);
    assert_eq!(invitations, [(Some("ana@example.org".to_owned()),)]);
}

async fn migrates_rows_of_an_earlier_version(engine: Engine) {
    let Some(database) = TestDatabase::with_migrations(engine, BEFORE).await else { return };
    let db = database.open(Clock::system());
    let account = make_account(&db, "Harbour", Clock::system().now()).await;
    let filled = db.write(Scope::account(account, "test"), |tx| {
        fill(tx);
        Ok::<_, Error>(())
    });
    filled.await.unwrap();
    db.migrate(MIGRATIONS).await.unwrap();
    check(&db, account).await;
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn migrates_rows_of_an_earlier_version_on_sqlite() {
    migrates_rows_of_an_earlier_version(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn migrates_rows_of_an_earlier_version_on_postgres() {
    migrates_rows_of_an_earlier_version(Engine::Postgres).await;
}
