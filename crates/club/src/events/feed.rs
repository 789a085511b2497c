//! Calendar feeds: secret URLs for calendar apps to subscribe to the events of a team or a person.
//!
//! The URL is the only credential. It is shown once, and only its hash is stored. It gives access to the schedule and
//! nothing else, until it is revoked.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::secret::sha256;
use macros::{inputs, query};

use crate::accounts::user;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::roster::{access, preferences};
use crate::teams::team;

record! {
    /// A calendar that calendar apps can subscribe to.
    #[inputs(
        /// A new feed of a team or a person.
        create(NewFeed, as = CreateCalendarFeedRequest, faults,
            require_any(&["team_id", "person_id"], "Set either `team_id` or `person_id`.")),
    )]
    #[macros::object("calendar_feed")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = CalendarFeed)]
    pub struct Feed in calendar_feed {
        pub id: FeedId,
        #[serde(skip)]
        pub account_id: AccountId,
        #[serde(skip)]
        pub token_hash: [u8; 32],
        /// Name of the feed; `null` if it has none.
        #[schema(examples("For the parents"))]
        #[input(line(120), no_example)]
        pub name: Option<String>,
        /// Team whose events the feed contains; `null` for a feed of a person.
        #[input(create = "Team of the feed. Set either this or `person_id`.")]
        pub team_id: Option<TeamId>,
        /// Person whose events the feed contains: those of their own teams and of their dependents' teams; `null` for a
        /// feed of a team.
        #[input(create = "Person of the feed. Set either this or `team_id`.")]
        pub person_id: Option<PersonId>,
        /// Whether the feed contains only games and tournaments.
        #[input(default, create = "Whether the feed contains only games and tournaments. Default: `false`.")]
        pub games_only: bool,
        /// ID of the user or key that created the feed.
        #[schema(examples("key_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        #[value(tx.actor().to_owned())]
        pub created_by: String,
        /// When the feed was revoked and its URL stopped working; `null` if it was not.
        #[value(None)]
        pub revoked_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Increases with every change.
        pub version: i64,
    }
}

/// A new feed with its URL, which is shown only once.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CreatedCalendarFeed)]
pub struct CreatedFeed {
    #[serde(flatten)]
    pub feed: Feed,
    /// URL to subscribe to. It is shown only in this response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, examples("https://club.example.org/calendar/3q2-7w….ics"))]
    pub url: Option<String>,
}

impl Versioned for CreatedFeed {
    fn version(&self) -> i64 {
        self.feed.version
    }
}

/// Filters for listing feeds.
#[query(items = "feeds")]
#[derive(Default)]
pub struct FeedFilter {
    /// Only feeds of these teams, separated by commas; at most 50.
    #[param(name = "team_id")]
    pub team_ids: Vec<TeamId>,
    /// Only feeds of this person.
    pub person_id: Option<PersonId>,
}

impl NewFeed {
    /// The faults that can be found without the database.
    fn faults(&self) -> Vec<Fault> {
        let detail = "Set either `team_id` or `person_id`, not both.";
        let both = self.team_id.is_some() && self.person_id.is_some();
        both.then(|| Fault::new("/person_id", "mutually_exclusive", detail)).into_iter().collect()
    }
}

/// Creates a feed. The second value is the secret token of its URL.
pub fn create(tx: &Tx<'_>, access: &TeamAccess, new: NewFeed) -> Result<(Feed, String)> {
    let mut violations = Violations::default();
    if let Some(team) = new.team_id {
        team::find_referenced(tx, access, team, &mut violations)?;
    }
    if let Some(person) = new.person_id {
        check_person(tx, access, person, &mut violations)?;
    }
    violations.finish()?;
    let token = URL_SAFE_NO_PAD.encode(tx.rng().bytes::<32>());
    let feed = new.into_record(tx, sha256(token.as_bytes()));
    tx.execute(Feed::INSERT, &feed.bind())?;
    tx.publish("calendar_feed.created", &feed)?;
    Ok((feed, token))
}

impl_resource!(Feed by FeedId: Subject Versioned Paged Saved);

/// Checks that the person of a new feed exists and that the caller can access their whole calendar.
fn check_person(
    tx: &Tx<'_>,
    access: &TeamAccess,
    person: PersonId,
    violations: &mut Violations,
) -> Result<()> {
    match access {
        TeamAccess::User(_) if !access.is_family(person) => return Err(Error::forbidden()),
        TeamAccess::Teams(_) => {
            let detail =
                "This key is limited to certain teams, so it can only create feeds of teams.";
            violations.invalid("/person_id", "not_allowed", detail);
        }
        _ if preferences::find(tx, person).or_none()?.is_none() => {
            violations.not_found("/person_id");
        }
        _ => {}
    }
    Ok(())
}

/// The teams of a person and of their dependents.
pub fn teams_of(db: &Reader<'_>, person: PersonId) -> Result<Vec<TeamId>> {
    db.ids(
        "select distinct team_id from member
         where account_id = :account and status in ('active', 'injured')
           and (person_id = :person or person_id in (
               select person_id from guardianship
               where account_id = :account and guardian_id = :person))
         order by team_id",
        bind! { person },
    )
}

/// One feed that the caller may see.
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: FeedId) -> Result<Feed> {
    let text = sql!(Feed::SELECT, " where account_id = :account and id = :id");
    let feed: Feed = db.one(text, bind! { id })?;
    let visible = match access {
        TeamAccess::AllTeams => true,
        TeamAccess::User(_) if feed.created_by == db.actor() => true,
        _ => feed.team_id.is_some_and(|team| access.has_full_access(team)),
    };
    Error::not_found().fail_if(!visible)?;
    Ok(feed)
}

/// A page of feeds, in order of creation.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &FeedFilter,
    page: &Page<FeedId>,
) -> Result<Vec<Feed>> {
    let FeedFilter { team_ids, person_id } = filter;
    let any_team = team_ids.is_empty();
    access.check_key_filter(None, team_ids)?;
    let (after, limit) = page.bounds();
    let (narrowed, teams) = match access {
        TeamAccess::User(place) => (true, place.managed_team_ids.clone()),
        _ => access.team_filter(),
    };
    // Users also see the feeds they created, even for teams that they do not manage.
    let creator = matches!(access, TeamAccess::User(_)).then(|| db.actor());
    let text = page_sql!(page, Feed::SELECT, FILTER);
    let values = bind! { any_team, team_ids, person_id, narrowed, teams, creator, after, limit };
    Ok(db.all(text, values)?)
}

const FILTER: &str = " where account_id = :account
    and (cast(:any_team as boolean) or team_id in (:team_ids))
    and (cast(:person_id as bytea) is null or person_id = :person_id)
    and (not cast(:narrowed as boolean) or team_id in (:teams) or created_by = cast(:creator as text))";

/// Revokes a feed: its URL stops working at once.
pub fn revoke(tx: &Tx<'_>, access: &TeamAccess, id: FeedId, expected: &IfMatch) -> Result<Feed> {
    let before = expected.check(find(tx, access, id))?;
    Error::invalid_state("The feed is already revoked.").fail_if(before.revoked_at.is_some())?;
    let after = Feed { revoked_at: Some(tx.now()), ..before.clone() }.save(tx)?;
    tx.publish_change("calendar_feed.revoked", &before, &after)?;
    Ok(after)
}

/// The feeds that the caller created and has not revoked, in order of creation.
pub fn own(db: &Reader<'_>) -> Result<Vec<Feed>> {
    let text = sql!(
        Feed::SELECT,
        " where account_id = :account and created_by = :creator and revoked_at is null
          order by id limit 100"
    );
    Ok(db.all(text, bind! { creator: db.actor() })?)
}

/// All feeds of a person.
pub fn of_person(db: &Reader<'_>, person: PersonId) -> Result<Vec<Feed>> {
    let text =
        sql!(Feed::SELECT, " where account_id = :account and person_id = :person order by id");
    Ok(db.all(text, bind! { person })?)
}

/// Revokes all feeds of a person.
pub fn revoke_all_of(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    for feed in of_person(tx, person)? {
        if feed.revoked_at.is_none() {
            revoke(tx, &TeamAccess::AllTeams, feed.id, &IfMatch::Absent)?;
        }
    }
    Ok(())
}

row! {
    /// A feed that was found by the token of its URL.
    #[derive(Debug, Clone)]
    pub struct Subscription {
        pub account_id: AccountId,
        pub team_id: Option<TeamId>,
        pub person_id: Option<PersonId>,
        pub games_only: bool,
        pub created_by: String,
        /// Number of changes in the account; used to invalidate the cached calendar.
        pub sequence: i64,
    }
}

/// The feed with this token, unless it is revoked.
pub fn find_by_token(db: &Reader<'_>, token: &str) -> Result<Subscription> {
    let hash = sha256(token.as_bytes());
    Ok(db.one(
        "select f.account_id, f.team_id, f.person_id, f.games_only, f.created_by, j.sequence
         from calendar_feed f join journal j on j.account_id = f.account_id
         where f.token_hash = :hash and f.revoked_at is null /* any account */",
        bind! { hash },
    )?)
}

/// Checks that the user who created the feed may still see its events.
pub fn check_creator(db: &Reader<'_>, feed: &Subscription) -> Result<()> {
    let Ok(user) = feed.created_by.parse::<UserId>() else { return Ok(()) };
    match user::role_of(db, user)?.ok_or_else(Error::not_found)? {
        user::Role::Owner | user::Role::Admin => return Ok(()),
        user::Role::Member => {}
    }
    let access = access::for_user(db, user)?;
    let visible = feed.team_id.is_some_and(|team| access.visible_team_ids.contains(&team))
        || feed.person_id.is_some_and(|person| access.family_person_ids().contains(&person));
    Error::not_found().fail_if(!visible)
}
