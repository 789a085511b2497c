//! Permissions: one table for the API, the pages and OAuth apps.
//!
//! Every handler names a permission in its type. An API key needs the permission's scope. A user needs at
//! least the permission's access level. An app that acts for a user needs both.

use super::user::Role;
use crate::rights::{ScopeName, Scopes};

/// How much access a user has. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessLevel {
    /// Any signed-in user.
    SignedIn,
    /// A player or guardian, including one who has left every team.
    KnownPerson,
    /// A player or guardian, for the teams they belong to.
    Family,
    /// A coach or manager, for the teams they manage.
    Staff,
    /// An admin of the account.
    Admin,
    /// An owner of the account.
    Owner,
}

impl AccessLevel {
    /// The level as the API documentation names it.
    pub fn label(self) -> &'static str {
        match self {
            Self::SignedIn => "any user",
            Self::KnownPerson => "current or former player or guardian",
            Self::Family => "player or guardian",
            Self::Staff => "coach or manager",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
}

impl From<Role> for AccessLevel {
    /// The level of the role alone. Rosters can give a `Member` a higher one.
    fn from(role: Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Admin => Self::Admin,
            Role::Member => Self::SignedIn,
        }
    }
}

/// A permission that a handler requires, as a type.
pub trait Permission: Send + Sync + 'static {
    /// The permission's name.
    const NAME: &'static str;
    /// The scope that a key or app needs. `None` if any credential will do.
    const SCOPE: Option<ScopeName>;
    /// The access level that a user needs.
    const MIN_LEVEL: AccessLevel;
}

/// An entry of [`PERMISSIONS`].
#[derive(Debug, Clone, Copy)]
pub struct PermissionInfo {
    pub name: &'static str,
    /// What it allows, for the API documentation.
    pub description: &'static str,
    pub scope: Option<ScopeName>,
    pub min_level: AccessLevel,
}

macro_rules! permissions {
    ($($(#[doc = $description:literal])+ $name:ident: $scope:expr, $min_level:ident;)+) => {
        $(
            $(#[doc = $description])+
            #[derive(Debug)]
            pub enum $name {}
            impl Permission for $name {
                const NAME: &'static str = stringify!($name);
                const SCOPE: Option<ScopeName> = $scope;
                const MIN_LEVEL: AccessLevel = AccessLevel::$min_level;
            }
        )+
        /// All permissions.
        pub const PERMISSIONS: &[PermissionInfo] = &[
            $(PermissionInfo {
                name: stringify!($name),
                description: concat!($($description),+),
                scope: $scope,
                min_level: AccessLevel::$min_level,
            }),+
        ];
    };
}

permissions! {
    /// Retrieve the caller.
    AnyCredential: None, SignedIn;
    /// View teams.
    TeamsRead: Some(ScopeName::TeamsRead), Family;
    /// Update a team.
    TeamsWrite: Some(ScopeName::TeamsWrite), Staff;
    /// Create, archive and restore teams.
    TeamsManage: Some(ScopeName::TeamsWrite), Admin;
    /// View a team's roster.
    RosterRead: Some(ScopeName::RosterRead), Family;
    /// View people across teams, and export rosters.
    PeopleRead: Some(ScopeName::RosterRead), Staff;
    /// Add, update and remove roster members.
    RosterWrite: Some(ScopeName::RosterWrite), Staff;
    /// Confirm that people are adults.
    AdultsConfirm: Some(ScopeName::RosterWrite), Admin;
    /// Export a person's data.
    PrivacyExport: Some(ScopeName::RosterRead), Admin;
    /// Erase a person's data.
    PrivacyManage: Some(ScopeName::RosterWrite), Admin;
    /// View schedules and RSVPs.
    EventsRead: Some(ScopeName::EventsRead), Family;
    /// View RSVP history and missing RSVPs, and export schedules.
    EventsOversee: Some(ScopeName::EventsRead), Staff;
    /// Create and update events, and add locations.
    EventsWrite: Some(ScopeName::EventsWrite), Staff;
    /// Answer RSVPs for yourself or your children, sign up for duties, and subscribe to calendars.
    EventsAnswer: Some(ScopeName::EventsWrite), Family;
    /// Update and archive locations, which all teams share.
    LocationsManage: Some(ScopeName::EventsWrite), Admin;
    /// Read messages.
    MessagesRead: Some(ScopeName::MessagesRead), Family;
    /// Send messages.
    MessagesWrite: Some(ScopeName::MessagesWrite), Family;
    /// View sent emails.
    OutboxRead: Some(ScopeName::MessagesRead), Admin;
    /// Place orders, and pay your own dues.
    OrdersPlace: Some(ScopeName::OrdersWrite), KnownPerson;
    /// View orders and dues.
    OrdersRead: Some(ScopeName::OrdersRead), KnownPerson;
    /// View and export all orders and dues of a team.
    OrdersOversee: Some(ScopeName::OrdersRead), Staff;
    /// View the ledger.
    LedgerRead: Some(ScopeName::OrdersRead), Admin;
    /// Manage products, fulfill orders, charge dues, and record payments.
    OrdersManage: Some(ScopeName::OrdersWrite), Staff;
    /// Manage payment settings and discount codes.
    MoneyManage: Some(ScopeName::OrdersWrite), Admin;
    /// View results and statistics.
    StatsRead: Some(ScopeName::StatsRead), Family;
    /// Manage webhooks.
    WebhooksManage: Some(ScopeName::WebhooksWrite), Admin;
    /// Use the pages of your own account.
    OwnAccount: None, SignedIn;
    /// Use the admin area.
    AdminArea: None, Admin;
    /// Transfer ownership, and create keys with full access.
    Ownership: None, Owner;
}

/// The scopes that a user with this access level can grant to an app.
pub fn grantable_scopes(level: AccessLevel) -> Scopes {
    let allowed = PERMISSIONS.iter().filter(|permission| permission.min_level <= level);
    Scopes::of(allowed.filter_map(|permission| permission.scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_level_can_grant_the_scopes_of_its_permissions() {
        let family = grantable_scopes(AccessLevel::Family);
        assert!(family.contains(ScopeName::EventsWrite) && family.contains(ScopeName::OrdersWrite));
        assert!(
            !family.contains(ScopeName::RosterWrite) && !family.contains(ScopeName::WebhooksWrite)
        );
        assert!(grantable_scopes(AccessLevel::Staff).contains(ScopeName::RosterWrite));
        assert_eq!(grantable_scopes(AccessLevel::Admin), Scopes::all_named());
        assert!(
            !grantable_scopes(AccessLevel::Owner).is_wildcard(),
            "nobody can grant everything to an app"
        );
        assert!(grantable_scopes(AccessLevel::SignedIn).is_empty());
    }

    #[test]
    fn every_scope_is_required_by_some_permission() {
        use kit::string_enum::StringEnum;
        for (scope, word) in ScopeName::ALL {
            assert!(PERMISSIONS.iter().any(|entry| entry.scope == Some(*scope)), "{word}");
        }
    }
}
