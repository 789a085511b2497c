//! What a caller may do: OAuth scopes, and access to teams and people.

use std::fmt;
use std::sync::Arc;

use kit::string_enum;
use kit::string_enum::StringEnum;
use serde::{Serialize, Serializer};
use store::{Column, ToValue, Value};

use crate::error::{Code, Error, Result};
use crate::ids::{PersonId, TeamId};

string_enum! {
    /// A named scope.
    pub enum ScopeName {
        TeamsRead = "teams:read",
        TeamsWrite = "teams:write",
        EventsRead = "events:read",
        EventsWrite = "events:write",
        RosterRead = "roster:read",
        RosterWrite = "roster:write",
        MessagesRead = "messages:read",
        MessagesWrite = "messages:write",
        OrdersRead = "orders:read",
        OrdersWrite = "orders:write",
        StatsRead = "stats:read",
        WebhooksWrite = "webhooks:write",
    }
}

impl ScopeName {
    /// What the scope allows, for pages.
    pub fn description(self) -> &'static str {
        match self {
            Self::TeamsRead => mark!("Read team metadata"),
            Self::TeamsWrite => mark!("Create or update teams"),
            Self::EventsRead => mark!("Read event schedules"),
            Self::EventsWrite => mark!("Create, update or cancel events"),
            Self::RosterRead => mark!("Read team roster"),
            Self::RosterWrite => mark!("Add or remove roster members"),
            Self::MessagesRead => mark!("Read team messages"),
            Self::MessagesWrite => mark!("Post announcements and messages"),
            Self::OrdersRead => mark!("Read store orders"),
            Self::OrdersWrite => mark!("Create or refund orders"),
            Self::StatsRead => mark!("Read tournament and team stats"),
            Self::WebhooksWrite => mark!("Manage webhook subscriptions"),
        }
    }
}

/// A set of scopes. `*` contains every scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scopes {
    bits: u32,
}

/// The bit of `*`. The named scopes use the lower bits.
const WILDCARD: u32 = 1 << 31;

impl Scopes {
    /// Every named scope, but not `*`.
    pub fn all_named() -> Self {
        Self { bits: (1 << ScopeName::ALL.len()) - 1 }
    }

    /// Parses a list separated by commas or spaces. The error names the unknown scope.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut bits = 0;
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            bits |= match ScopeName::parse(word) {
                Some(name) => 1 << name as u32,
                None if word == "*" => WILDCARD,
                None => return Err(format!("unknown scope `{word}`")),
            };
        }
        if bits == 0 { Err("at least one scope is required".to_owned()) } else { Ok(Self { bits }) }
    }

    /// The set of these scopes, which may be empty.
    pub fn of(names: impl IntoIterator<Item = ScopeName>) -> Self {
        Self { bits: names.into_iter().fold(0, |bits, name| bits | 1 << name as u32) }
    }

    /// The scopes that are in both sets. `*` counts as all named scopes.
    pub fn intersection(self, other: Self) -> Self {
        let expanded = |scopes: Self| {
            if scopes.is_wildcard() { scopes.bits | Self::all_named().bits } else { scopes.bits }
        };
        Self { bits: expanded(self) & expanded(other) }
    }

    /// Whether the set contains all scopes of the other set.
    pub fn contains_all(self, other: Self) -> bool {
        self.is_wildcard() || self.bits & other.bits == other.bits
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// The named scopes in the set, without `*`.
    pub fn names(self) -> impl Iterator<Item = ScopeName> {
        let all = ScopeName::ALL.iter().map(|(name, _)| *name);
        all.filter(move |name| self.bits & 1 << *name as u32 != 0)
    }

    /// Whether the set contains the scope, by name or through `*`.
    pub fn contains(self, name: ScopeName) -> bool {
        self.bits & (WILDCARD | 1 << name as u32) != 0
    }

    /// Whether the set contains `*`.
    pub fn is_wildcard(self) -> bool {
        self.bits & WILDCARD != 0
    }

    /// The scopes as strings, with `*` last.
    fn words(self) -> impl Iterator<Item = &'static str> {
        self.names().map(StringEnum::as_str).chain(self.is_wildcard().then_some("*"))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words().enumerate() {
            write!(f, "{}{word}", if index > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.words())
    }
}

impl ToValue for Scopes {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self.to_string().into())
    }
}

impl Column for Scopes {
    fn from_value(value: Value<'_>) -> store::Result<Self> {
        Self::parse(&String::from_value(value)?).map_err(store::Error::Corrupt)
    }
}

/// A list stored in one text column, separated by spaces, such as the teams of an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceSeparated<T>(pub Vec<T>);

impl<T: fmt::Display> ToValue for SpaceSeparated<T> {
    fn to_value(&self) -> Value<'_> {
        let words: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        Value::Text(words.join(" ").into())
    }
}

impl<T: std::str::FromStr + fmt::Display> Column for SpaceSeparated<T> {
    fn from_value(value: Value<'_>) -> store::Result<Self> {
        let text = String::from_value(value)?;
        let items = text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>();
        items.map(Self).map_err(|_| store::Error::Corrupt(format!("invalid list {text:?}")))
    }
}

impl<T: fmt::Display> Serialize for SpaceSeparated<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ToString::to_string))
    }
}

/// The teams a caller has access to, and how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeamAccess {
    /// Full access to every team, including teams created later.
    AllTeams,
    /// Full access to these teams only, for a key that is restricted to teams.
    Teams(Vec<TeamId>),
    /// The access of a user, according to the rosters.
    User(Arc<UserAccess>),
}

/// The access of a user for one permission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserAccess {
    /// Teams for which the user has the permission.
    pub allowed_team_ids: Vec<TeamId>,
    /// Teams the user can see. Requests for other teams answer 404.
    pub visible_team_ids: Vec<TeamId>,
    /// Teams the user manages, with access to all their data.
    pub managed_team_ids: Vec<TeamId>,
    /// The user's own person records.
    pub own_person_ids: Vec<PersonId>,
    /// People for whom the user has the permission: the user and those they are a guardian of. Empty if
    /// only coaches and managers have the permission.
    pub family_person_ids: Vec<PersonId>,
}

impl TeamAccess {
    /// SQL parameters: whether access is restricted to teams, and to which.
    pub fn team_filter(&self) -> (bool, Vec<TeamId>) {
        match self {
            Self::AllTeams => (false, Vec::new()),
            Self::Teams(teams) => (true, teams.clone()),
            Self::User(user) => (true, user.allowed_team_ids.clone()),
        }
    }

    /// Checks access to a team. Fails with `forbidden` if the caller can see the team but lacks the
    /// permission, and with `not_found` if the caller cannot see the team.
    pub fn check(&self, team: TeamId) -> Result<()> {
        match self {
            Self::Teams(teams) if !teams.contains(&team) => Err(Error::not_found()),
            Self::User(user) if !user.allowed_team_ids.contains(&team) => {
                if user.visible_team_ids.contains(&team) {
                    Err(Error::forbidden())
                } else {
                    Err(Error::not_found())
                }
            }
            _ => Ok(()),
        }
    }

    /// Checks access to the teams of the query parameter `team_id`: a single team, or several.
    pub fn check_filter(&self, one: Option<TeamId>, several: &[TeamId]) -> Result<()> {
        let teams = one.iter().chain(several);
        let result = teams.into_iter().try_for_each(|team| self.check(*team));
        result.map_err(|error| error.at_parameter("team_id"))
    }

    /// Checks the teams of the query parameter `team_id` for lists in which users find their family's own objects, even
    /// of a team that they have left. So only keys that are limited to certain teams are checked.
    pub fn check_key_filter(&self, one: Option<TeamId>, several: &[TeamId]) -> Result<()> {
        if matches!(self, Self::Teams(_)) { self.check_filter(one, several) } else { Ok(()) }
    }

    /// Whether the caller has access to all data of a team, not only to that of their family.
    pub fn has_full_access(&self, team: TeamId) -> bool {
        match self {
            Self::AllTeams => true,
            Self::Teams(teams) => teams.contains(&team),
            Self::User(user) => user.managed_team_ids.contains(&team),
        }
    }

    /// Whether the person is the caller or somebody they are a guardian of.
    pub fn is_family(&self, person: PersonId) -> bool {
        matches!(self, Self::User(user) if user.family_person_ids.contains(&person))
    }

    /// Whether the person is the caller.
    pub fn is_self(&self, person: PersonId) -> bool {
        matches!(self, Self::User(user) if user.own_person_ids.contains(&person))
    }

    /// Checks access to the data of a person on a team: the caller needs full access to the team, or the
    /// person must belong to the caller's family.
    pub fn check_person(&self, team: TeamId, person: PersonId) -> Result<()> {
        let allowed = self.has_full_access(team) || self.is_family(person);
        if allowed { Ok(()) } else { Err(Error::forbidden()) }
    }

    /// SQL parameters: whether the caller has full access to all teams that they can access, and otherwise
    /// the teams to which they have full access.
    pub fn full_access_filter(&self) -> (bool, Vec<TeamId>) {
        match self {
            Self::User(user) => (false, user.managed_team_ids.clone()),
            _ => (true, Vec::new()),
        }
    }

    /// SQL parameters: whether the caller sees everything, and otherwise the teams whose data they see in full.
    pub fn managed_filter(&self) -> (bool, Vec<TeamId>) {
        match self {
            Self::AllTeams => (true, Vec::new()),
            Self::Teams(teams) => (false, teams.clone()),
            Self::User(user) => (false, user.managed_team_ids.clone()),
        }
    }

    /// SQL parameters: the caller's own person records, and those of their family.
    pub fn own_and_family_ids(&self) -> (Vec<PersonId>, Vec<PersonId>) {
        match self {
            Self::User(user) => (user.own_person_ids.clone(), user.family_person_ids.clone()),
            _ => (Vec::new(), Vec::new()),
        }
    }

    /// The access to a person's private data. For people outside their family, users have access only on
    /// the teams they manage.
    pub fn for_private_data_of(&self, person: PersonId) -> Result<Self> {
        match self {
            Self::User(user) if !user.family_person_ids.contains(&person) => {
                if user.managed_team_ids.is_empty() {
                    return Err(Error::forbidden());
                }
                let allowed_team_ids = user.managed_team_ids.clone();
                Ok(Self::User(Arc::new(UserAccess { allowed_team_ids, ..(**user).clone() })))
            }
            _ => Ok(self.clone()),
        }
    }
}

/// The people in whose name a caller may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderIdentity {
    /// Anybody: an API key, which acts for the club.
    Anybody,
    /// One of these people: the user's own person records.
    OneOf(Vec<PersonId>),
}

impl SenderIdentity {
    /// Checks that the caller may write in the name of this person.
    pub fn check(&self, author: Option<PersonId>) -> Result<()> {
        match (self, author) {
            (Self::OneOf(own), Some(person)) if !own.contains(&person) => {
                let detail = "You can only act for yourself. Omit `on_behalf_of`.";
                Err(Error::new(Code::Forbidden, detail))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_parse_display_and_check() {
        let scopes = Scopes::parse("teams:write, events:read").unwrap();
        assert_eq!(scopes.to_string(), "teams:write events:read");
        assert!(scopes.contains(ScopeName::TeamsWrite) && !scopes.contains(ScopeName::TeamsRead));
        assert!(Scopes::parse("*").unwrap().contains(ScopeName::WebhooksWrite));
        assert!(!Scopes::all_named().is_wildcard());
        assert_eq!(Scopes::parse("teams:fly"), Err("unknown scope `teams:fly`".to_owned()));
        assert!(Scopes::parse(" ").is_err());
    }

    #[test]
    fn a_team_without_permission_is_403_if_visible_and_404_if_not() {
        let team = |bits| TeamId::from_bits(bits);
        let (managed, visible, other) = (team(1), team(2), team(3));
        let person = PersonId::from_bits;
        let user = UserAccess {
            allowed_team_ids: vec![managed],
            visible_team_ids: vec![managed, visible],
            managed_team_ids: vec![managed],
            own_person_ids: vec![person(1)],
            family_person_ids: vec![person(1), person(2)],
        };
        let access = TeamAccess::User(Arc::new(user));
        assert!(access.check(managed).is_ok());
        assert_eq!(access.check(visible).unwrap_err().code, Code::Forbidden);
        assert_eq!(access.check(other).unwrap_err().code, Code::NotFound);
        assert!(access.has_full_access(managed) && !access.has_full_access(visible));
        assert!(access.check_person(managed, person(9)).is_ok());
        assert!(access.check_person(visible, person(2)).is_ok());
        assert_eq!(access.check_person(visible, person(9)).unwrap_err().code, Code::Forbidden);
        assert!(access.is_self(person(1)) && !access.is_self(person(2)));
        assert_eq!(
            access.for_private_data_of(person(9)).unwrap().team_filter(),
            (true, vec![managed])
        );
        assert_eq!(access.for_private_data_of(person(2)).unwrap(), access);
        assert_eq!(
            TeamAccess::Teams(vec![managed]).check(visible).unwrap_err().code,
            Code::NotFound
        );
    }

    #[test]
    fn a_user_writes_only_in_their_own_name() {
        let own = SenderIdentity::OneOf(vec![PersonId::from_bits(1)]);
        assert!(own.check(None).is_ok() && own.check(Some(PersonId::from_bits(1))).is_ok());
        assert_eq!(own.check(Some(PersonId::from_bits(2))).unwrap_err().code, Code::Forbidden);
        assert!(SenderIdentity::Anybody.check(Some(PersonId::from_bits(2))).is_ok());
    }
}
