//! The JSON endpoint that lists the notification types.

use std::sync::OnceLock;

use crate::accounts::permissions::AnyCredential;
use crate::notification_kinds::{self, Kind};
use crate::prelude::*;
use crate::web::docs;
use crate::web::document::payload_schema;
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list))
}

/// A type of notification that webhooks can subscribe to.
#[macros::object("event_type")]
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventTypeInfo)]
struct EventType {
    /// Name of the type, as used in the `events` of a webhook.
    #[schema(examples("event.created"))]
    name: &'static str,
    /// What has happened when this notification is sent.
    description: &'static str,
    /// Scope that is needed to receive it; `null` if none is needed.
    scope: Option<ScopeName>,
    /// JSON Schema (2020-12) of the complete body, including all schemas it refers to.
    #[schema(value_type = Object)]
    schema: Value,
    /// Example of a body that matches the schema.
    #[schema(value_type = Object)]
    example: Value,
    /// Its position in the table of kinds.
    #[serde(skip)]
    number: i64,
}

impl Paged for &EventType {
    type SortKey = i64;

    fn sort_key(&self) -> i64 {
        self.number
    }
}

/// All types. They are built only once, because the OpenAPI description that they need is large.
fn types() -> Result<&'static [EventType]> {
    static TYPES: OnceLock<Vec<EventType>> = OnceLock::new();
    let describe_api = docs::DESCRIBE_API.get()?;
    Ok(TYPES.get_or_init(|| {
        let document: Value = serde_json::from_str(&describe_api()).unwrap_or_default();
        let build = |(number, kind)| build_type(number, kind, &document);
        (1..).zip(notification_kinds::all_kinds()).map(build).collect()
    }))
}

fn build_type(number: i64, kind: &'static Kind, document: &Value) -> EventType {
    let schema = payload_schema::standalone(
        &payload_schema::body_schema(kind),
        &document["components"]["schemas"],
    );
    let example = payload_schema::example(kind, &schema);
    let (name, description, scope) = (kind.name, kind.description, kind.scope);
    EventType { name, description, scope, schema, example, number }
}

/// List notification types
///
/// Returns every notification type that a webhook can receive, with the JSON Schema of its body and an example. `ping`
/// is sent by a test; all other types are in the account's log.
#[endpoint(get, "/event_types", id = "event_types.list", tag = "Webhooks",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of types per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`.")),
    200(ListResponse<EventType>, "A page of notification types."))]
async fn list(caller: Caller<AnyCredential>, paging: Paging<NoQuery>) -> Result<Response> {
    // The types are the same for every caller, so they are not put into the response cache.
    caller.bypass_cache().page(paging, |_, _, NoQuery, page| types_on_page(page)).await
}

/// The types on a page.
fn types_on_page(page: &Page<i64>) -> Result<Vec<&'static EventType>> {
    let after = page.after(0, i64::MAX);
    let limit = usize::try_from(page.fetch_limit()).unwrap_or(0);
    let types = types()?.iter();
    Ok(match page.order {
        Order::Asc => types.filter(|kind| kind.number > after).take(limit).collect(),
        Order::Desc => types.rev().filter(|kind| kind.number < after).take(limit).collect(),
    })
}
