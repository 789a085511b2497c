//! What a credential may do: scopes, and the teams it is narrowed to.

use std::fmt;

use kit::word::Word;
use kit::words;
use serde::{Serialize, Serializer};
use store::{Bound, Column, Value};

use crate::error::{Error, Result};
use crate::ids::TeamId;

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

/// Which teams a credential reaches: all of the account's, or only those listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Every team, also those that do not exist yet.
    Everywhere,
    /// These teams only.
    Teams(Vec<TeamId>),
}

impl Reach {
    /// Whether it is narrowed, and to which teams, as statements ask.
    pub fn narrowing(&self) -> (bool, Vec<TeamId>) {
        match self {
            Self::Everywhere => (false, Vec::new()),
            Self::Teams(teams) => (true, teams.clone()),
        }
    }

    /// A team outside the list answers as if it did not exist.
    pub fn check(&self, team: TeamId) -> Result<()> {
        match self {
            Self::Teams(teams) if !teams.contains(&team) => Err(Error::not_found()),
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
}
