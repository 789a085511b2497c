//! Collects the API's routes together with their OpenAPI descriptions.
//!
//! Every route is registered with its full path. Nesting would strip the prefix from the path of each request,
//! and links would have to add it again.
//!
//! The descriptions are collected as functions and called when the document is requested, because a service rarely
//! needs it, and it is large.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter};
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{HttpMethod, OpenApi};

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

/// Adds a part to the OpenAPI document.
type Describe = Box<dyn FnOnce(&mut OpenApi) + Send>;

/// The operations of one path, as `routes!` returns them.
#[derive(Default)]
pub struct Operations {
    path: String,
    handlers: MethodRouter<App>,
    descriptions: Vec<Describe>,
}

impl Operations {
    /// Adds an operation and its handler. `D` describes it.
    pub fn with<D, H, T>(mut self, handler: H) -> Self
    where
        D: utoipa::Path + SchemaReferences + for<'t> Tags<'t> + 'static,
        H: Handler<T, App>,
        T: 'static,
    {
        self.path = format!("{API}{}", D::path());
        for method in D::methods() {
            self.handlers = self.handlers.on(method_filter(&method), handler.clone());
        }
        self.descriptions.push(Box::new(describe::<D>));
        self
    }
}

/// Adds an operation, and the schemas that it refers to.
fn describe<D: utoipa::Path + SchemaReferences + for<'t> Tags<'t>>(document: &mut OpenApi) {
    let mut operation = D::operation();
    operation.tags = Some(D::tags().into_iter().map(str::to_owned).collect());
    document.paths.add_path_operation(D::path(), D::methods(), operation);
    let mut schemas = Vec::new();
    D::schemas(&mut schemas);
    document.components.get_or_insert_default().schemas.extend(schemas);
}

fn method_filter(method: &HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    }
}

/// The routes added so far, and what describes them.
#[derive(Default)]
pub struct Routes {
    router: Router<App>,
    descriptions: Vec<Describe>,
}

impl Routes {
    /// Adds the operations of one path.
    pub fn with(mut self, operations: Operations) -> Self {
        self.router = self.router.route(&operations.path, operations.handlers);
        self.descriptions.extend(operations.descriptions);
        self
    }

    /// Adds a schema that no operation refers to, such as the object of a notification.
    pub fn with_schema<T: ToSchema>(mut self) -> Self {
        self.descriptions.push(Box::new(|document| {
            let mut schemas = vec![(T::name().into_owned(), T::schema())];
            T::schemas(&mut schemas);
            document.components.get_or_insert_default().schemas.extend(schemas);
        }));
        self
    }

    /// Adds the schema of what notifications contain of an object (`OrderSnapshot` for `Order`): the object without these
    /// fields, and without parts that may be missing.
    pub fn with_snapshot(mut self, object: &'static str, omitted: &'static [&'static str]) -> Self {
        self.descriptions.push(Box::new(move |document| {
            let keys = Extensions::builder().add(SNAPSHOT_OF, object);
            let keys = keys.add(OMITTED_FIELDS, json!(omitted)).build();
            let schema = ObjectBuilder::new().extensions(Some(keys));
            let schemas = &mut document.components.get_or_insert_default().schemas;
            schemas.insert(format!("{object}Snapshot"), schema.into());
        }));
        self
    }

    /// The router of all operations.
    pub fn into_router(self) -> Router<App> {
        self.router
    }

    /// The OpenAPI document of all operations.
    pub fn into_document(self) -> OpenApi {
        let mut document = docs::base();
        for describe in self.descriptions {
            describe(&mut document);
        }
        document
    }
}
