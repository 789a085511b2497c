//! Calendar feeds: unguessable addresses under which calendar programs find a team's or a person's events.
//!
//! The address is a secret of its own, shown once; only its hash is kept. Whoever has it sees the
//! schedule and nothing else, until it is revoked.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::Timestamp;
use kit::secret::sha256;
use serde::Serialize;
use store::{Reader, Tx, bind, record, row, sql};
use utoipa::ToSchema;

use crate::accounts::rights::Reach;
use crate::accounts::user;
use crate::error::{Error, Fault, Result};
use crate::expected::{Expected, Versioned};
use crate::ids::{AccountId, FeedId, PersonId, TeamId, UserId};
use crate::paging::{Order, Page};
use crate::roster::standing;
use crate::signals::Tell;
use crate::teams::team;
use crate::thing::thing;

record! {
    /// A calendar that can be subscribed to.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "calendar_feed")]
    pub struct Feed in calendar_feed {
        pub id: FeedId,
        #[serde(skip)]
        pub account_id: AccountId,
        #[serde(skip)]
        pub token_hash: [u8; 32],
        #[schema(examples("For the parents"), max_length = 120)]
        pub name: Option<String>,
        /// The team whose events it shows.
        pub team_id: Option<TeamId>,
        /// The person whose teams' events it shows: their own and those of the children they look after.
        pub person_id: Option<PersonId>,
        /// Whether it shows games and tournaments only.
        pub games_only: bool,
        /// Who made it.
        #[schema(examples("key_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub created_by: String,
        /// Since when its address no longer works.
        pub revoked_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

/// A feed that was just made, with the address that is shown only now.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = NewFeedAnswer)]
pub struct Made {
    #[serde(flatten)]
    pub feed: Feed,
    /// The address to subscribe to. It is shown only now; where an `Idempotency-Key` repeats the answer,
    /// it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, examples("https://club.example.org/calendar/3q2-7w….ics"))]
    pub url: Option<String>,
}

impl Versioned for Made {
    fn version(&self) -> i64 {
        self.feed.version
    }
}

/// A feed to be made: of a team, or of a person.
#[derive(Debug, ToSchema)]
pub struct NewFeed {
    #[schema(max_length = 120)]
    pub name: Option<String>,
    /// Give this or `person_id`.
    pub team_id: Option<TeamId>,
    /// Give this or `team_id`.
    pub person_id: Option<PersonId>,
    /// `false` if left out.
    #[schema(required = false)]
    pub games_only: bool,
}

/// Which feeds to list.
#[derive(Debug, Default)]
pub struct FeedFilter {
    pub team_id: Option<TeamId>,
    pub person_id: Option<PersonId>,
}

/// Makes a feed; the second value is the secret part of its address.
pub fn create(tx: &Tx<'_>, reach: &Reach, new: NewFeed) -> Result<(Feed, String)> {
    if let Some(fault) = subject_fault(tx, reach, &new)? {
        return Err(Error::invalid(vec![fault]));
    }
    if let Some(team) = new.team_id {
        team::playing(tx, team)?;
    }
    let token = URL_SAFE_NO_PAD.encode(tx.dice().bytes::<32>());
    let feed = Feed {
        id: tx.new_id(),
        account_id: tx.account(),
        token_hash: sha256(token.as_bytes()),
        name: new.name,
        team_id: new.team_id,
        person_id: new.person_id,
        games_only: new.games_only,
        created_by: tx.actor().to_owned(),
        revoked_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.run(Feed::INSERT, &feed.bind())?;
    tx.tell("calendar_feed.created", &feed)?;
    Ok((feed, token))
}

thing!(Feed by FeedId: Subject Versioned Paged);

/// A feed is of one team or of one person, whom the caller reaches.
fn subject_fault(tx: &Tx<'_>, reach: &Reach, new: &NewFeed) -> Result<Option<Fault>> {
    let (pointer, found) = match (new.team_id, new.person_id) {
        (Some(team), None) => ("/team_id", reach.check(team).is_ok() && known_team(tx, team)?),
        (None, Some(person)) if reach.is_family(person) => {
            ("/person_id", known_person(tx, person)?)
        }
        (None, Some(_)) if matches!(reach, Reach::User(_)) => return Err(Error::forbidden()),
        (None, Some(_)) if *reach != Reach::Everywhere => {
            let detail = "A person may join other teams, which this key does not reach.";
            return Ok(Some(Fault::new("/person_id", "not_allowed", detail)));
        }
        (None, Some(person)) => ("/person_id", known_person(tx, person)?),
        _ => {
            let detail = "Give either team_id or person_id.";
            return Ok(Some(Fault::new("/team_id", "required", detail)));
        }
    };
    let unknown = || Fault::new(pointer, "unknown", "There is nothing with this id.");
    Ok((!found).then(unknown))
}

fn known_team(db: &Reader<'_>, id: TeamId) -> Result<bool> {
    let text = "select id from team where account_id = :account and id = :id";
    Ok(db.maybe::<(TeamId,)>(text, bind! { id })?.is_some())
}

fn known_person(db: &Reader<'_>, id: PersonId) -> Result<bool> {
    let text = "select id from person
        where account_id = :account and id = :id and erased_at is null";
    Ok(db.maybe::<(PersonId,)>(text, bind! { id })?.is_some())
}

/// The teams a person is on, and those of the children they look after.
pub fn teams_of(db: &Reader<'_>, person: PersonId) -> Result<Vec<TeamId>> {
    let own: Vec<(TeamId,)> = db.all(
        "select distinct team_id from member
         where account_id = :account and status in ('active', 'injured')
           and (person_id = :person or person_id in (
               select person_id from guardianship
               where account_id = :account and guardian_id = :person))
         order by team_id",
        bind! { person },
    )?;
    Ok(own.into_iter().map(|(team,)| team).collect())
}

/// One feed.
pub fn find(db: &Reader<'_>, reach: &Reach, id: FeedId) -> Result<Feed> {
    let text = sql!(Feed::SELECT, " where account_id = :account and id = :id");
    let feed: Feed = db.one(text, bind! { id })?;
    let open = match reach {
        Reach::Everywhere => true,
        Reach::User(_) if feed.created_by == db.actor() => true,
        _ => feed.team_id.is_some_and(|team| reach.opens(team)),
    };
    if open { Ok(feed) } else { Err(Error::not_found()) }
}

/// A page of feeds, in order of creation.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &FeedFilter,
    page: &Page<FeedId>,
) -> Result<Vec<Feed>> {
    let FeedFilter { team_id, person_id } = filter;
    let (after, limit) = (page.after(FeedId::LEAST, FeedId::GREATEST), page.fetch());
    let (narrowed, teams) = match reach {
        Reach::User(place) => (true, place.leads.clone()),
        _ => reach.narrowing(),
    };
    // What users made is their own, also of teams that others lead.
    let made_by = matches!(reach, Reach::User(_)).then(|| db.actor());
    let text = match page.order {
        Order::Asc => sql!(Feed::SELECT, FILTER, " and id > :after order by id limit :limit"),
        Order::Desc => sql!(Feed::SELECT, FILTER, " and id < :after order by id desc limit :limit"),
    };
    Ok(db.all(text, bind! { team_id, person_id, narrowed, teams, made_by, after, limit })?)
}

const FILTER: &str = " where account_id = :account
    and (cast(:team_id as bytea) is null or team_id = :team_id)
    and (cast(:person_id as bytea) is null or person_id = :person_id)
    and (not cast(:narrowed as boolean) or team_id in (:teams) or created_by = cast(:made_by as text))";

/// Revokes a feed: its address stops working at once.
pub fn revoke(tx: &Tx<'_>, reach: &Reach, id: FeedId, expected: &Expected) -> Result<Feed> {
    let before = expected.check(find(tx, reach, id))?;
    if before.revoked_at.is_some() {
        return Err(Error::invalid_state("The feed is already revoked."));
    }
    let after = Feed {
        revoked_at: Some(tx.now()),
        updated_at: tx.now(),
        version: before.version + 1,
        ..before.clone()
    };
    tx.run(
        "update calendar_feed set revoked_at = :revoked_at, updated_at = :updated_at,
             version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    )?;
    tx.tell_change("calendar_feed.revoked", &before, &after)?;
    Ok(after)
}

/// Every feed of a person.
pub fn of_person(db: &Reader<'_>, person: PersonId) -> Result<Vec<Feed>> {
    let text =
        sql!(Feed::SELECT, " where account_id = :account and person_id = :person order by id");
    Ok(db.all(text, bind! { person })?)
}

/// Revokes every feed of a person.
pub fn revoke_all_of(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    for feed in of_person(tx, person)? {
        if feed.revoked_at.is_none() {
            revoke(tx, &Reach::Everywhere, feed.id, &Expected::Anything)?;
        }
    }
    Ok(())
}

row! {
    /// What the secret part of an address leads to.
    #[derive(Debug, Clone)]
    pub struct Subscribed {
        pub account_id: AccountId,
        pub team_id: Option<TeamId>,
        pub person_id: Option<PersonId>,
        pub games_only: bool,
        pub created_by: String,
        /// How often anything in the account has changed.
        pub sequence: i64,
    }
}

/// The feed behind the secret part of an address, if it works.
pub fn subscribed(db: &Reader<'_>, token: &str) -> Result<Subscribed> {
    let hash = sha256(token.as_bytes());
    Ok(db.one(
        "select f.account_id, f.team_id, f.person_id, f.games_only, f.created_by, j.sequence
         from calendar_feed f join journal j on j.account_id = f.account_id
         where f.token_hash = :hash and f.revoked_at is null /* any account */",
        bind! { hash },
    )?)
}

/// A feed that a user made works only as long as that user sees what it shows.
pub fn check_maker(db: &Reader<'_>, feed: &Subscribed) -> Result<()> {
    let Ok(user) = feed.created_by.parse::<UserId>() else { return Ok(()) };
    match user::role_of(db, user)? {
        None => return Err(Error::not_found()),
        Some(user::Role::Owner | user::Role::Admin) => return Ok(()),
        Some(user::Role::Member) => {}
    }
    let standing = standing::of(db, user)?;
    let seen = feed.team_id.is_some_and(|team| standing.sees.contains(&team))
        || feed.person_id.is_some_and(|person| standing.family().contains(&person));
    if seen { Ok(()) } else { Err(Error::not_found()) }
}
