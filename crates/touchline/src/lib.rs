//! Touchline: a service for sports teams.
//!
//! Each module uses only the modules listed above it: first the vocabulary, then the HTTP layer, then the domain, then
//! what runs the service. `ARCHITECTURE.md` describes how the parts fit together.

/// Makes `t!`, `message!` and the other macros for texts available everywhere, also in templates.
#[macro_use]
pub extern crate i18n;

pub use touchline_commerce::*;
pub use touchline_identity::*;
pub use touchline_integrations::*;

pub mod privacy;
pub mod backup;
pub mod doctor;
pub mod admin;
pub mod people;
pub mod home;
pub mod demo;
pub mod example_ids;
pub mod jobs;
pub mod cli;

use crate::accounts::permissions;
use crate::personal_data::PersonalData;
use crate::prelude::*;
use crate::web::module::Module;
use crate::web::prelude::*;
use crate::web::{assets, docs, health, offline, team_look};

/// All modules. A module comes after those it uses.
pub const MODULES: &[&Module] = &[
    &me::MODULE,
    &files::MODULE,
    &teams::MODULE,
    &roster::MODULE,
    &events::MODULE,
    &attendance::MODULE,
    &away_dates::MODULE,
    &mail::MODULE,
    &message_templates::MODULE,
    &messages::MODULE,
    &event_emails::MODULE,
    &event_reminders::MODULE,
    &money::MODULE,
    &shop::MODULE,
    &dues::MODULE,
    &cards::MODULE,
    &privacy::MODULE,
    &signin::MODULE,
    &joining::MODULE,
    &oauth::MODULE,
    &admin::MODULE,
    &people::MODULE,
    &home::MODULE,
    &webhooks::MODULE,
    &demo::MODULE,
];

/// Registers what modules provide to each other. Every process does this before it opens the database.
pub fn register_modules() {
    permissions::register(MODULES.iter().flat_map(|module| module.permissions));
    notification_kinds::register(MODULES.iter().flat_map(|module| module.notification_kinds));
    let names = MODULES.iter().flat_map(|module| module.object_names);
    names::register(accounts::OBJECT_NAMES.iter().chain(names));
    let reactions = MODULES.iter().flat_map(|module| module.reactions);
    signals::register_reactions(reactions.copied());
    docs::DESCRIBE_API.register(openapi_json);
    docs::EXAMPLE_IDS.register(example_ids::find);
    for module in MODULES {
        (module.register_hooks)();
    }
}

/// The personal data of all modules but the roster, which has the people themselves.
fn personal_data() -> impl Iterator<Item = PersonalData> {
    MODULES.iter().filter_map(|module| module.personal_data)
}

/// The API's routes, and what describes them.
fn api() -> Routes {
    MODULES.iter().fold(Routes::default(), |routes, module| (module.api)(routes))
}

/// The OpenAPI document, as it is checked in and served.
pub fn openapi_json() -> String {
    register_modules();
    docs::json(api().into_document())
}

/// The router of the whole service: API, pages, documentation and health checks.
pub fn service(app: App) -> Router {
    let shared = Router::new()
        .merge(api().into_router())
        .merge(health::router())
        .merge(docs::router())
        .merge(assets::router())
        .merge(offline::router())
        .merge(team_look::router());
    let with_pages = |router: Router<App>, module: &&Module| router.merge((module.pages)());
    MODULES
        .iter()
        .fold(shared, with_pages)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app)
}

async fn not_found() -> Result<Response> {
    Err(Error::new(Code::NotFound, "There is no resource at this URL. Check the path."))
}

async fn method_not_allowed() -> Result<Response> {
    Err(Error::new(
        Code::MethodNotAllowed,
        "This URL does not support that HTTP method. See the `Allow` header.",
    ))
}
