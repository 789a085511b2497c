//! Permissions for the API, the pages and OAuth apps. Each module declares its own.
//!
//! Every handler names a permission in its type. An API key needs the permission's scope. A user needs at
//! least the permission's access level. An app that acts for a user needs both.

use std::sync::OnceLock;

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

/// A permission, as the API documentation shows it.
#[derive(Debug, Clone, Copy)]
pub struct PermissionInfo {
    pub name: &'static str,
    /// What it allows, for the API documentation.
    pub description: &'static str,
    pub scope: Option<ScopeName>,
    pub min_level: AccessLevel,
}

/// Declares the permissions of a module: a type for each of them, and the list `PERMISSIONS`.
#[macro_export]
macro_rules! permissions {
    ($($(#[doc = $description:literal])+ $name:ident: $scope:expr, $min_level:ident;)+) => {
        $(
            $(#[doc = $description])+
            #[derive(Debug)]
            pub enum $name {}
            impl $crate::accounts::permissions::Permission for $name {
                const NAME: &'static str = stringify!($name);
                const SCOPE: Option<$crate::rights::ScopeName> = $scope;
                const MIN_LEVEL: $crate::accounts::permissions::AccessLevel =
                    $crate::accounts::permissions::AccessLevel::$min_level;
            }
        )+
        /// The permissions of this module.
        pub const PERMISSIONS: &[$crate::accounts::permissions::PermissionInfo] = &[
            $($crate::accounts::permissions::PermissionInfo {
                name: stringify!($name),
                description: concat!($($description),+),
                scope: $scope,
                min_level: $crate::accounts::permissions::AccessLevel::$min_level,
            }),+
        ];
    };
}

permissions! {
    /// Retrieve the caller.
    AnyCredential: None, SignedIn;
    /// View results and statistics.
    StatsRead: Some(ScopeName::StatsRead), Family;
    /// Use the pages of your own account.
    OwnAccount: None, SignedIn;
    /// Use the admin area.
    AdminArea: None, Admin;
    /// Transfer ownership, and create keys with full access.
    Ownership: None, Owner;
}

static REGISTERED: OnceLock<Vec<&'static PermissionInfo>> = OnceLock::new();

/// Registers the permissions of all modules when the process starts. Later calls change nothing.
pub fn register(permissions: impl Iterator<Item = &'static PermissionInfo>) {
    REGISTERED.get_or_init(|| permissions.collect());
}

/// All permissions.
pub fn all() -> impl Iterator<Item = &'static PermissionInfo> {
    REGISTERED.get().into_iter().flatten().copied().chain(PERMISSIONS)
}

/// The scopes that a user with this access level can grant to an app.
pub fn grantable_scopes(level: AccessLevel) -> Scopes {
    let allowed = all().filter(|permission| permission.min_level <= level);
    Scopes::of(allowed.filter_map(|permission| permission.scope))
}
