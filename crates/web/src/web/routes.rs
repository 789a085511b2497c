//! Collects the API's routes together with their OpenAPI descriptions.
//!
//! Every route is registered with its full path. Nesting would strip the prefix from the path of each request,
//! and links would have to add it again.

use axum::Router;
use utoipa::openapi::OpenApi;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa_axum::router::UtoipaMethodRouter;

use super::docs;
use super::edge::API;
use crate::accounts::permissions::Permission;
use crate::prelude::*;
use crate::web::app::App;

/// The scope that a permission needs, for the description of an operation.
pub fn scope<N: Permission>() -> Option<&'static str> {
    N::SCOPE.map(StringEnum::as_str)
}

/// Keys in the schema of a snapshot until it is completed: the original object, and the fields that are left out.
pub(super) const SNAPSHOT_OF: &str = "x-snapshot-of";
pub(super) const OMITTED_FIELDS: &str = "x-omitted-fields";

/// The routes added so far, and the OpenAPI document that describes them.
pub struct Routes {
    router: Router<App>,
    document: OpenApi,
}

impl Default for Routes {
    /// No routes, and the document without operations.
    fn default() -> Self {
        Self { router: Router::new(), document: docs::base() }
    }
}

impl Routes {
    /// Adds the operations of one path, as `routes!` returns them.
    pub fn with(mut self, (schemas, paths, handlers): UtoipaMethodRouter<App>) -> Self {
        let path = paths.paths.keys().next().map(|path| format!("{API}{path}"));
        let path = path.expect("operations have a path");
        self.router = self.router.route(&path, handlers);
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

    /// Adds a schema that no operation refers to, such as the object of a notification.
    pub fn with_schema<T: ToSchema>(mut self) -> Self {
        let mut schemas = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        self.document.components.get_or_insert_default().schemas.extend(schemas);
        self
    }

    /// Adds the schema of what notifications contain of an object (`OrderSnapshot` for `Order`): the object without these
    /// fields, and without parts that may be missing.
    pub fn with_snapshot(mut self, object: &str, omitted: &[&str]) -> Self {
        let keys = Extensions::builder().add(SNAPSHOT_OF, object);
        let keys = keys.add(OMITTED_FIELDS, json!(omitted)).build();
        let schema = ObjectBuilder::new().extensions(Some(keys));
        let schemas = &mut self.document.components.get_or_insert_default().schemas;
        schemas.insert(format!("{object}Snapshot"), schema.into());
        self
    }

    /// Splits into the router and the OpenAPI document.
    pub fn into_parts(self) -> (Router<App>, OpenApi) {
        (self.router, self.document)
    }
}
