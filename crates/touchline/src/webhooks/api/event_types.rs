//! The JSON endpoint that says what there is to be told.

use std::sync::LazyLock;

use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::accounts::rights::ScopeName;
use crate::error::Result;
use crate::paging::{Order, Page, Paged};
use crate::web::caller::{Anything, Caller};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::query::{Nothing, Query};
use crate::web::reply::Many;
use crate::web::routes::Routes;
use crate::webhooks::{kinds, shape};

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list))
}

/// A kind of notification.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "event_type")]
#[schema(as = NotificationType)]
struct EventType {
    /// What webhooks ask for.
    #[schema(examples("event.created"))]
    name: &'static str,
    /// What has happened.
    description: &'static str,
    /// What one must be allowed to read to be told; `null`: nothing in particular.
    scope: Option<ScopeName>,
    /// The JSON Schema (2020-12) of the whole body, with everything it refers to.
    #[schema(value_type = Object)]
    schema: Value,
    /// A body that fits the schema.
    #[schema(value_type = Object)]
    example: Value,
    /// Its place in the table.
    #[serde(skip)]
    number: i64,
}

impl Paged for &EventType {
    type Place = i64;

    fn place(&self) -> i64 {
        self.number
    }
}

/// Every kind there is. Put together once: the description of the API is large.
static TYPES: LazyLock<Vec<EventType>> = LazyLock::new(|| {
    let document: Value = serde_json::from_str(&crate::document()).unwrap_or_default();
    let described = |(number, kind): (i64, &'static kinds::Kind)| {
        let schema = shape::alone(&shape::schema(kind), &document["components"]["schemas"]);
        let example = shape::example(kind, &schema);
        let (name, description, scope) = (kind.name, kind.says, kind.scope);
        EventType { name, description, scope, schema, example, number }
    };
    (1..).zip(kinds::sent()).map(described).collect()
});

/// List event types
///
/// Everything a webhook can be told, with the JSON Schema of its body and an example. `ping` is what a test
/// sends; the others stand in the account's log.
#[utoipa::path(get, path = "/event_types", operation_id = "event_types_list", tag = "Webhooks",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many kinds to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out.")),
    responses((status = 200, description = "A page of kinds.", body = Many<EventType>), Problems),
    security(("key" = [])))]
async fn list(caller: Caller<Anything>, Query(paging): Query<Paging<Nothing>>) -> Result<Response> {
    // The same for everybody, so it takes no room among remembered answers.
    caller.afresh().page(paging, |_, _, Nothing, page| Ok(some(page))).await
}

/// The kinds of a page.
fn some(page: &Page<i64>) -> Vec<&'static EventType> {
    let after = page.after(0, i64::MAX);
    let limit = usize::try_from(page.fetch()).unwrap_or(0);
    match page.order {
        Order::Asc => TYPES.iter().filter(|kind| kind.number > after).take(limit).collect(),
        Order::Desc => TYPES.iter().rev().filter(|kind| kind.number < after).take(limit).collect(),
    }
}
