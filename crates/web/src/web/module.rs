//! What a module of the service consists of. Each domain module declares a `MODULE`, and the service is put together from
//! the list of all of them.

use axum::Router;
use http::Extensions;

use super::app::App;
use super::routes::Routes;
use crate::notification_kinds::Kind;
use crate::prelude::*;
use crate::signals::Reaction;

/// A module of the service.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// Adds its operations to the API, and the schemas of its notifications.
    pub api: fn(Routes) -> Routes,
    /// Its pages.
    pub pages: fn() -> Router<App>,
    pub notification_kinds: &'static [Kind],
    /// What it does when other modules publish something.
    pub reactions: &'static [Reaction],
    /// Registers its functions with the hooks of other modules.
    pub register_hooks: fn(),
    pub personal_data: Option<PersonalData>,
    /// Adds its part of the demo club.
    pub demo: Option<fn(&Tx<'_>, &mut DemoClub) -> Result<()>>,
}

impl Module {
    /// A module with nothing. Declare the rest with `..Module::EMPTY`.
    pub const EMPTY: Self = Self {
        api: |routes| routes,
        pages: Router::new,
        notification_kinds: &[],
        reactions: &[],
        register_hooks: || {},
        personal_data: None,
        demo: None,
    };
}

/// The personal data that a module stores about people.
#[derive(Debug, Clone, Copy)]
pub struct PersonalData {
    /// The name of its section in the export of a person's data.
    pub section: &'static str,
    /// What the section contains, for the API description.
    pub description: &'static str,
    /// Whether the section is a list.
    pub is_list: bool,
    /// The scope that is needed to see the section; `None` if the export itself is enough.
    pub scope: Option<ScopeName>,
    pub export: fn(&Reader<'_>, PersonId) -> Result<Value>,
    /// Erases the data of a person. Returns the ids of the objects whose copies in logs must be redacted.
    pub erase: fn(&Tx<'_>, PersonId) -> Result<Vec<String>>,
}

/// The demo club while it is created. Modules put what later modules need into it.
pub struct DemoClub {
    pub app: App,
    objects: Extensions,
}

impl DemoClub {
    /// A club without anything.
    pub fn new(app: App) -> Self {
        Self { app, objects: Extensions::new() }
    }

    /// Keeps a value for later modules.
    pub fn insert<T: Clone + Send + Sync + 'static>(&mut self, value: T) {
        self.objects.insert(value);
    }

    /// The value that an earlier module has kept.
    pub fn get<T: Send + Sync + 'static>(&self) -> Result<&T> {
        let missing = || Error::internal(format!("{} is missing", std::any::type_name::<T>()));
        self.objects.get().ok_or_else(missing)
    }
}
