//! What a module of the service consists of. Each domain module declares a `MODULE`, and the service is put together from
//! the list of all of them.

use axum::Router;

use super::app::App;
use super::routes::Routes;
use crate::accounts::permissions::PermissionInfo;
use crate::demo_club::DemoClub;
use crate::names::ObjectNames;
use crate::notification_kinds::Kind;
use crate::personal_data::{PersonMerge, PersonalData};
use crate::prelude::*;
use crate::signals::Reaction;

/// A module of the service.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// Adds its operations to the API, and the schemas of its notifications.
    pub api: fn(Routes) -> Routes,
    /// Its pages.
    pub pages: fn() -> Router<App>,
    /// What its handlers require.
    pub permissions: &'static [PermissionInfo],
    pub notification_kinds: &'static [Kind],
    /// How its objects are named on pages.
    pub object_names: &'static [ObjectNames],
    /// What it does when other modules publish something.
    pub reactions: &'static [Reaction],
    /// Registers its functions with the hooks of other modules.
    pub register_hooks: fn(),
    pub personal_data: Option<PersonalData>,
    /// How its data moves when two records of a person are merged.
    pub merge_person: Option<PersonMerge>,
    /// Adds its part of the demo club.
    pub demo: Option<fn(&Tx<'_>, &mut DemoClub) -> Result<()>>,
}

impl Module {
    /// A module with nothing. Declare the rest with `..Module::EMPTY`.
    pub const EMPTY: Self = Self {
        api: |routes| routes,
        pages: Router::new,
        permissions: &[],
        notification_kinds: &[],
        object_names: &[],
        reactions: &[],
        register_hooks: || {},
        personal_data: None,
        merge_person: None,
        demo: None,
    };
}
