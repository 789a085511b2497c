//! The API's routes: each under its whole address, with its part of the description beside it.
//!
//! Nesting would take the prefix off every request's address and put it back for every link.

use axum::Router;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::UtoipaMethodRouter;

use super::docs;
use super::edge::API;
use crate::app::App;

/// Routes and their description, as far as they were added.
pub struct Routes {
    router: Router<App>,
    document: OpenApi,
}

impl Routes {
    /// Nothing but the description's frame.
    pub fn empty() -> Self {
        Self { router: Router::new(), document: docs::base() }
    }

    /// Adds the operations of one address, as `routes!` gives them.
    pub fn with(mut self, (schemas, paths, handlers): UtoipaMethodRouter<App>) -> Self {
        let address = paths.paths.keys().next().map(|path| format!("{API}{path}"));
        let address = address.expect("operations have an address");
        self.router = self.router.route(&address, handlers);
        self.document.components.get_or_insert_default().schemas.extend(schemas);
        for (path, item) in paths.paths {
            match self.document.paths.paths.get_mut(&path) {
                Some(known) => known.merge_operations(item),
                None => {
                    self.document.paths.paths.insert(path, item);
                }
            }
        }
        self
    }

    /// The routes and the description.
    pub fn parts(self) -> (Router<App>, OpenApi) {
        (self.router, self.document)
    }
}
