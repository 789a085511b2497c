//! The page with all notification types, each with an example of what webhooks receive.

use askama::Template;
use serde_json::Value;

use super::NOTIFICATION_TYPES;
use crate::error::Result;
use crate::notification_kinds::{self, Kind as NotificationKind};
use crate::prelude::*;
use crate::web::docs::literal::Language;
use crate::web::docs::markdown::{self, Heading};
use crate::web::docs::page::{Content, render};
use crate::web::docs::search::{Entry, Kind};
use crate::web::document::payload_schema;

/// A notification type as it is shown.
struct NotificationType {
    name: &'static str,
    description: String,
    scope: Option<&'static str>,
    example: String,
}

#[derive(Template)]
#[template(path = "docs/notification_types.html")]
struct NotificationTypes {
    /// The types by their first word.
    groups: Vec<(&'static str, Vec<NotificationType>)>,
}

/// The page of all types.
pub fn page(document: &Value) -> Result<Content> {
    let mut groups: Vec<(&str, Vec<NotificationType>)> = Vec::new();
    let mut entries = Vec::new();
    for kind in notification_kinds::all_kinds() {
        let group = kind.name.split('.').next().unwrap_or(kind.name);
        let shown = notification_type(document, kind);
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, types)) => types.push(shown),
            None => groups.push((group, vec![shown])),
        }
        entries.push(Entry {
            kind: Kind::Notification,
            href: format!("{NOTIFICATION_TYPES}#{}", kind.name),
            title: kind.name.to_owned(),
            place: "Notification types".to_owned(),
            keywords: "webhook event notification".to_owned(),
            text: kind.description.to_owned(),
        });
    }
    let heading = |id: &str, level: u8| Heading { id: id.to_owned(), title: id.to_owned(), level };
    let contents =
        groups.iter().flat_map(|(_, types)| types).map(|one| heading(one.name, 2)).collect();
    Ok(Content {
        path: NOTIFICATION_TYPES.to_owned(),
        title: "Notification types".to_owned(),
        summary: "All notifications that webhooks and the notification log contain.".to_owned(),
        html: render(&NotificationTypes { groups })?,
        contents,
        entries,
        is_reference: true,
    })
}

fn notification_type(document: &Value, kind: &'static NotificationKind) -> NotificationType {
    let schema = payload_schema::body_schema(kind);
    let schema = payload_schema::standalone(&schema, &document["components"]["schemas"]);
    let example = Language::Json.literal(&payload_schema::example(kind, &schema), 0);
    NotificationType {
        name: kind.name,
        description: markdown::inline_description(kind.description),
        scope: kind.scope.map(StringEnum::as_str),
        example: markdown::sample(&format!("example-{}", kind.name), &[("json", &example)]),
    }
}
