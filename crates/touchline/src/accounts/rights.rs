//! What a credential may do: scopes, and the teams it is narrowed to.

use std::fmt;
use std::sync::Arc;

use kit::word::Word;
use kit::words;
use serde::{Serialize, Serializer};
use store::{Bound, Column, Value};

use crate::error::{Code, Error, Result};
use crate::ids::{PersonId, TeamId};

words! {
    /// A right that a credential can be given.
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
    /// What the scope allows, in words for people.
    pub fn allows(self) -> &'static str {
        match self {
            Self::TeamsRead => "Read team metadata",
            Self::TeamsWrite => "Create or update teams",
            Self::EventsRead => "Read event schedules",
            Self::EventsWrite => "Create, update or cancel events",
            Self::RosterRead => "Read team roster",
            Self::RosterWrite => "Add or remove roster members",
            Self::MessagesRead => "Read team messages",
            Self::MessagesWrite => "Post announcements and messages",
            Self::OrdersRead => "Read store orders",
            Self::OrdersWrite => "Create or refund orders",
            Self::StatsRead => "Read tournament and team stats",
            Self::WebhooksWrite => "Manage webhook subscriptions",
        }
    }
}

/// A set of scopes; `*` passes every check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scopes {
    bits: u32,
}

/// The bit of `*`, above those of the named scopes.
const EVERYTHING: u32 = 1 << 31;

impl Scopes {
    /// Every named scope, but not `*`.
    pub fn all_named() -> Self {
        Self { bits: (1 << ScopeName::ALL.len()) - 1 }
    }

    /// Reads a list separated by commas or spaces. An unknown word is told.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut bits = 0;
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            bits |= match ScopeName::parse(word) {
                Some(name) => 1 << name as u32,
                None if word == "*" => EVERYTHING,
                None => return Err(format!("{word} is not a scope")),
            };
        }
        if bits == 0 { Err("at least one scope is needed".to_owned()) } else { Ok(Self { bits }) }
    }

    /// The set of these scopes, which may be none.
    pub fn of(names: impl IntoIterator<Item = ScopeName>) -> Self {
        Self { bits: names.into_iter().fold(0, |bits, name| bits | 1 << name as u32) }
    }

    /// The scopes that are in both sets.
    pub fn shared(self, other: Self) -> Self {
        let named = |scopes: Self| {
            if scopes.everything() { scopes.bits | Self::all_named().bits } else { scopes.bits }
        };
        Self { bits: named(self) & named(other) }
    }

    /// Whether all of the other scopes are among these.
    pub fn cover(self, other: Self) -> bool {
        self.everything() || self.bits & other.bits == other.bits
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// The named scopes among them.
    pub fn names(self) -> impl Iterator<Item = ScopeName> {
        let all = ScopeName::ALL.iter().map(|(name, _)| *name);
        all.filter(move |name| self.bits & 1 << *name as u32 != 0)
    }

    /// Whether the scope is among them.
    pub fn allow(self, name: ScopeName) -> bool {
        self.bits & (EVERYTHING | 1 << name as u32) != 0
    }

    /// Whether `*` is among them.
    pub fn everything(self) -> bool {
        self.bits & EVERYTHING != 0
    }

    fn words(self) -> impl Iterator<Item = &'static str> {
        let named =
            ScopeName::ALL.iter().filter(move |(name, _)| self.bits & 1 << *name as u32 != 0);
        named.map(|(_, word)| *word).chain(self.everything().then_some("*"))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, word) in self.words().enumerate() {
            write!(f, "{}{word}", if place > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.words())
    }
}

impl Bound for Scopes {
    fn write(&self) -> Value<'_> {
        Value::Text(self.to_string().into())
    }
}

impl Column for Scopes {
    fn read(value: Value<'_>) -> store::Result<Self> {
        Self::parse(&String::read(value)?).map_err(store::Error::Corrupt)
    }
}

/// A list that is kept as words in one text column: the teams of a key, its networks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T>(pub Vec<T>);

impl<T: fmt::Display> Bound for Listed<T> {
    fn write(&self) -> Value<'_> {
        let words: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        Value::Text(words.join(" ").into())
    }
}

impl<T: std::str::FromStr + fmt::Display> Column for Listed<T> {
    fn read(value: Value<'_>) -> store::Result<Self> {
        let text = String::read(value)?;
        let items = text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>();
        items.map(Self).map_err(|_| store::Error::Corrupt(format!("the list {text:?}")))
    }
}

impl<T: fmt::Display> Serialize for Listed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ToString::to_string))
    }
}

/// Which teams a credential reaches, and how far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Every team, also those that do not exist yet.
    Everywhere,
    /// These teams only, and all of them: a key that is narrowed.
    Teams(Vec<TeamId>),
    /// What a user is on the rosters: some teams they lead, some they only see.
    User(Arc<Place>),
}

/// Where a user stands for what they are about to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The teams where they may do it at all.
    pub may: Vec<TeamId>,
    /// The teams they know of.
    pub sees: Vec<TeamId>,
    /// The teams of which everything is open to them.
    pub leads: Vec<TeamId>,
    /// Who they are.
    pub own: Vec<PersonId>,
    /// Those for whom they may do it: themselves and whom they look after. Nobody, where only those who
    /// lead a team may do it.
    pub family: Vec<PersonId>,
}

impl Reach {
    /// Whether it is narrowed, and to which teams, as statements ask.
    pub fn narrowing(&self) -> (bool, Vec<TeamId>) {
        match self {
            Self::Everywhere => (false, Vec::new()),
            Self::Teams(teams) => (true, teams.clone()),
            Self::User(place) => (true, place.may.clone()),
        }
    }

    /// A team that the caller knows of but may not do this with is refused; one they do not know of
    /// answers as if it did not exist.
    pub fn check(&self, team: TeamId) -> Result<()> {
        match self {
            Self::Teams(teams) if !teams.contains(&team) => Err(Error::not_found()),
            Self::User(place) if !place.may.contains(&team) => {
                if place.sees.contains(&team) {
                    Err(Error::forbidden())
                } else {
                    Err(Error::not_found())
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether everything of a team is open, not only what concerns the caller's family.
    pub fn opens(&self, team: TeamId) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Teams(teams) => teams.contains(&team),
            Self::User(place) => place.leads.contains(&team),
        }
    }

    /// Whether this is the caller or somebody they look after.
    pub fn is_family(&self, person: PersonId) -> bool {
        matches!(self, Self::User(place) if place.family.contains(&person))
    }

    /// Whether this is who the caller is.
    pub fn is_own(&self, person: PersonId) -> bool {
        matches!(self, Self::User(place) if place.own.contains(&person))
    }

    /// Refuses what concerns a person of a team, unless the team or the person is open.
    pub fn check_person(&self, team: TeamId, person: PersonId) -> Result<()> {
        let open = self.opens(team) || self.is_family(person);
        if open { Ok(()) } else { Err(Error::forbidden()) }
    }

    /// The teams of which everything is open, as statements ask: all if the first value says so.
    pub fn opening(&self) -> (bool, Vec<TeamId>) {
        match self {
            Self::User(place) => (false, place.leads.clone()),
            _ => (true, Vec::new()),
        }
    }

    /// The caller's own persons and their family, as statements ask.
    pub fn kin(&self) -> (Vec<PersonId>, Vec<PersonId>) {
        match self {
            Self::User(place) => (place.own.clone(), place.family.clone()),
            _ => (Vec::new(), Vec::new()),
        }
    }

    /// The reach for what is somebody's own business: of people outside their family, a user learns it
    /// only on the teams they lead.
    pub fn around(&self, person: PersonId) -> Result<Self> {
        match self {
            Self::User(place) if !place.family.contains(&person) => {
                if place.leads.is_empty() {
                    return Err(Error::forbidden());
                }
                let may = place.leads.clone();
                Ok(Self::User(Arc::new(Place { may, ..(**place).clone() })))
            }
            _ => Ok(self.clone()),
        }
    }
}

/// In whose name a caller speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Voice {
    /// In that of whomever they name: a key, which acts for the club.
    Anybodys,
    /// In their own only, as one of these persons: a user.
    Own(Vec<PersonId>),
}

impl Voice {
    /// Refuses to speak in the name of somebody else.
    pub fn check(&self, named: Option<PersonId>) -> Result<()> {
        match (self, named) {
            (Self::Own(own), Some(person)) if !own.contains(&person) => {
                let detail = "You can only speak for yourself here.";
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
    fn scopes_are_read_shown_and_checked() {
        let scopes = Scopes::parse("teams:write, events:read").unwrap();
        assert_eq!(scopes.to_string(), "teams:write events:read");
        assert!(scopes.allow(ScopeName::TeamsWrite) && !scopes.allow(ScopeName::TeamsRead));
        assert!(Scopes::parse("*").unwrap().allow(ScopeName::WebhooksWrite));
        assert!(!Scopes::all_named().everything());
        assert_eq!(Scopes::parse("teams:fly"), Err("teams:fly is not a scope".to_owned()));
        assert!(Scopes::parse(" ").is_err());
    }
    #[test]
    fn a_team_that_is_only_seen_is_refused_and_one_that_is_not_is_not_there() {
        let team = |bits| TeamId::from_bits(bits);
        let (led, seen, other) = (team(1), team(2), team(3));
        let person = PersonId::from_bits;
        let place = Place {
            may: vec![led],
            sees: vec![led, seen],
            leads: vec![led],
            own: vec![person(1)],
            family: vec![person(1), person(2)],
        };
        let reach = Reach::User(Arc::new(place));
        assert!(reach.check(led).is_ok());
        assert_eq!(reach.check(seen).unwrap_err().code, Code::Forbidden);
        assert_eq!(reach.check(other).unwrap_err().code, Code::NotFound);
        assert!(reach.opens(led) && !reach.opens(seen));
        assert!(reach.check_person(led, person(9)).is_ok());
        assert!(reach.check_person(seen, person(2)).is_ok());
        assert_eq!(reach.check_person(seen, person(9)).unwrap_err().code, Code::Forbidden);
        assert!(reach.is_own(person(1)) && !reach.is_own(person(2)));
        assert_eq!(reach.around(person(9)).unwrap().narrowing(), (true, vec![led]));
        assert_eq!(reach.around(person(2)).unwrap(), reach);
        assert_eq!(Reach::Teams(vec![led]).check(seen).unwrap_err().code, Code::NotFound);
    }

    #[test]
    fn a_user_speaks_for_nobody_else() {
        let own = Voice::Own(vec![PersonId::from_bits(1)]);
        assert!(own.check(None).is_ok() && own.check(Some(PersonId::from_bits(1))).is_ok());
        assert_eq!(own.check(Some(PersonId::from_bits(2))).unwrap_err().code, Code::Forbidden);
        assert!(Voice::Anybodys.check(Some(PersonId::from_bits(2))).is_ok());
    }
}
