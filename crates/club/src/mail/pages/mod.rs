//! Pages to stop emails, and to choose which ones to get.

mod settings;
mod unsubscribe;

use crate::web::prelude::*;

/// All pages of this module.
pub fn router() -> Router<App> {
    Router::new().merge(settings::router()).merge(unsubscribe::router())
}
