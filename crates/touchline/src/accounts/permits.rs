//! Who may do what: one table for the API, the pages and the apps that act for people.
//!
//! Every handler names a permit in its type. A key needs the permit's scope. A user needs to be at
//! least what the permit says; an app that acts for a user needs both.

use super::rights::{ScopeName, Scopes};
use super::user::Role;

/// What somebody must at least be. Whoever is more may do what those below may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Least {
    /// Anybody who signed in.
    Anybody,
    /// Somebody the club knows: a player or a guardian, also one who has left every team.
    Known,
    /// A player or a guardian, for the teams they belong to.
    Family,
    /// A coach or manager, for the teams they lead.
    Staff,
    /// An admin of the account.
    Admin,
    /// An owner of the account.
    Owner,
}

impl Least {
    /// Who that is, in words for people.
    pub fn who(self) -> &'static str {
        match self {
            Self::Anybody => "anybody",
            Self::Known => "player or guardian, also a former one",
            Self::Family => "player or guardian",
            Self::Staff => "coach or manager",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
}

impl From<Role> for Least {
    /// What a role is by itself; what members are beyond that, the roster says.
    fn from(role: Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Admin => Self::Admin,
            Role::Member => Self::Anybody,
        }
    }
}

/// What a handler needs, as a type.
pub trait Needs: Send + Sync + 'static {
    /// The permit's name.
    const NAME: &'static str;
    /// The scope that a key or an app needs; `None`: any will do.
    const SCOPE: Option<ScopeName>;
    /// What a user must at least be.
    const LEAST: Least;
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Permit {
    pub name: &'static str,
    /// What it is for, in words.
    pub says: &'static str,
    pub scope: Option<ScopeName>,
    pub least: Least,
}

macro_rules! permits {
    ($($(#[doc = $says:literal])+ $name:ident: $scope:expr, $least:ident;)+) => {
        $(
            $(#[doc = $says])+
            #[derive(Debug)]
            pub enum $name {}
            impl Needs for $name {
                const NAME: &'static str = stringify!($name);
                const SCOPE: Option<ScopeName> = $scope;
                const LEAST: Least = Least::$least;
            }
        )+
        /// Every permit there is.
        pub const PERMITS: &[Permit] = &[
            $(Permit {
                name: stringify!($name),
                says: concat!($($says),+),
                scope: $scope,
                least: Least::$least,
            }),+
        ];
    };
}

permits! {
    /// Asking who one is.
    Anything: None, Anybody;
    /// Looking at teams.
    TeamsRead: Some(ScopeName::TeamsRead), Family;
    /// Changing a team.
    TeamsWrite: Some(ScopeName::TeamsWrite), Staff;
    /// Making, archiving and restoring teams.
    TeamsManage: Some(ScopeName::TeamsWrite), Admin;
    /// Looking at a team's roster.
    RosterRead: Some(ScopeName::RosterRead), Family;
    /// Looking at people whatever their team, and downloading rosters.
    PeopleRead: Some(ScopeName::RosterRead), Staff;
    /// Adding, changing and removing members.
    RosterWrite: Some(ScopeName::RosterWrite), Staff;
    /// Confirming that people are adults.
    AdultsConfirm: Some(ScopeName::RosterWrite), Admin;
    /// Handing over all that is held of a person.
    PrivacyExport: Some(ScopeName::RosterRead), Admin;
    /// Erasing all that is held of a person.
    PrivacyManage: Some(ScopeName::RosterWrite), Admin;
    /// Looking at schedules and answers.
    EventsRead: Some(ScopeName::EventsRead), Family;
    /// Looking at what was answered before and who has not answered, and downloading schedules.
    EventsOversee: Some(ScopeName::EventsRead), Staff;
    /// Planning events, and adding the places where they are held.
    EventsWrite: Some(ScopeName::EventsWrite), Staff;
    /// Answering for oneself or one's children, taking duties, subscribing to calendars.
    EventsAnswer: Some(ScopeName::EventsWrite), Family;
    /// Changing and archiving the places where events are held, which all teams share.
    LocationsManage: Some(ScopeName::EventsWrite), Admin;
    /// Reading messages.
    MessagesRead: Some(ScopeName::MessagesRead), Family;
    /// Writing messages.
    MessagesWrite: Some(ScopeName::MessagesWrite), Family;
    /// Looking at the letters that were sent.
    OutboxRead: Some(ScopeName::MessagesRead), Admin;
    /// Ordering, and paying one's dues.
    OrdersPlace: Some(ScopeName::OrdersWrite), Known;
    /// Looking at orders and dues.
    OrdersRead: Some(ScopeName::OrdersRead), Known;
    /// Looking at all orders and dues of a team, and downloading them.
    OrdersOversee: Some(ScopeName::OrdersRead), Staff;
    /// Looking at every movement of money.
    LedgerRead: Some(ScopeName::OrdersRead), Admin;
    /// Selling, handing out, charging, and writing down what was paid.
    OrdersManage: Some(ScopeName::OrdersWrite), Staff;
    /// Deciding how the account handles money, and making codes that make orders cheaper.
    MoneyManage: Some(ScopeName::OrdersWrite), Admin;
    /// Looking at results and statistics.
    StatsRead: Some(ScopeName::StatsRead), Family;
    /// Being told what happens.
    WebhooksManage: Some(ScopeName::WebhooksWrite), Admin;
    /// The pages of one's own account.
    OwnAccount: None, Anybody;
    /// The admin area.
    AdminArea: None, Admin;
    /// Handing ownership on, and keys that may do everything.
    Ownership: None, Owner;
}

/// The scopes that somebody who is this much can let an app use.
pub fn grantable(standing: Least) -> Scopes {
    let open = PERMITS.iter().filter(|permit| permit.least <= standing);
    Scopes::of(open.filter_map(|permit| permit.scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_standing_can_grant_what_it_may_do() {
        let family = grantable(Least::Family);
        assert!(family.allow(ScopeName::EventsWrite) && family.allow(ScopeName::OrdersWrite));
        assert!(!family.allow(ScopeName::RosterWrite) && !family.allow(ScopeName::WebhooksWrite));
        assert!(grantable(Least::Staff).allow(ScopeName::RosterWrite));
        assert_eq!(grantable(Least::Admin), Scopes::all_named());
        assert!(!grantable(Least::Owner).everything(), "nobody can grant everything to an app");
        assert!(grantable(Least::Anybody).is_empty());
    }

    #[test]
    fn every_scope_is_needed_for_something() {
        use kit::word::Word;
        for (scope, word) in ScopeName::ALL {
            assert!(PERMITS.iter().any(|permit| permit.scope == Some(*scope)), "{word}");
        }
    }
}
