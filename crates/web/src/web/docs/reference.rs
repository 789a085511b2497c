//! The API reference: a page for each group of operations, rendered from the OpenAPI document.

pub mod notification_types;
pub mod operation;
pub mod schema;

use askama::Template;
use serde_json::Value;

use self::operation::{Operation, data_schema, object_name, snake_case};
use self::schema::{Fields, Schemas};
use super::literal::Language;
use super::markdown::{self, CodeLinks, Heading};
use super::page::{Content, render};
use super::search::{Entry, Kind};
use crate::error::Result;

/// The path of the page with the notification types.
pub const NOTIFICATION_TYPES: &str = "/docs/reference/notification-types";
pub const REFERENCE: &str = "/docs/reference";

/// A group of operations with its objects.
pub struct Group {
    pub title: String,
    description: String,
    pub path: String,
    pub operations: Vec<Operation>,
    objects: Vec<Object>,
}

/// An object that operations return.
struct Object {
    id: String,
    /// What it is called: `calendar feed`.
    name: String,
    title: String,
    description: String,
    fields: Fields,
    example: String,
    /// The name of its schema.
    schema: String,
}

#[derive(Template)]
#[template(path = "docs/group.html")]
struct GroupPage<'a> {
    group: &'a Group,
}

#[derive(Template)]
#[template(path = "docs/reference.html")]
struct Index<'a> {
    groups: &'a [Group],
}

impl Object {
    /// The object with this schema, which does not have its fields yet.
    fn new(schemas: &Schemas<'_>, schema: &str) -> Self {
        Self::named(object_name(schemas, schema).replace('_', " "), schema)
    }

    fn named(name: String, schema: &str) -> Self {
        Self {
            id: format!("{}-object", name.replace(' ', "-")),
            title: format!("The {name} object"),
            name,
            description: String::new(),
            fields: Fields::default(),
            example: String::new(),
            schema: schema.to_owned(),
        }
    }
}

impl Group {
    /// The operations of a tag in the document, in the order in which people use them.
    fn operations_of<'a>(document: &'a Value, tag: &str) -> Vec<(&'a str, &'a str, &'a Value)> {
        let paths = document["paths"].as_object().into_iter().flatten();
        let mut operations: Vec<_> = paths
            .flat_map(|(path, item)| {
                let methods = item.as_object().into_iter().flatten();
                methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
            })
            .filter(|(.., operation)| operation["tags"][0] == tag)
            .collect();
        let rank = |method: &str| {
            ["post", "get", "patch", "put", "delete"].iter().position(|one| *one == method)
        };
        operations.sort_by_key(|(path, method, operation)| {
            let id = operation["operationId"].as_str().unwrap_or_default();
            let is_list = id.rsplit('.').next() == Some("list");
            // The resource that the page is named after comes first.
            let is_other = resource(id) != markdown::slug(tag);
            (is_other, resource(id), *path, !is_list, rank(method))
        });
        operations
    }
}

/// The resource of an operation: `dues.payments` for `dues.payments.create`.
fn resource(id: &str) -> &str {
    id.rsplit_once('.').map_or(id, |(resource, _)| resource)
}

/// Reads the groups of the document, in its order.
pub fn groups(document: &Value) -> Vec<Group> {
    let mut schemas = Schemas::new(document);
    let mut groups = Vec::new();
    for tag in document["tags"].as_array().into_iter().flatten() {
        let title = tag["name"].as_str().unwrap_or_default();
        let path = format!("{REFERENCE}/{}", markdown::slug(title));
        let mut objects: Vec<Object> = Vec::new();
        for (.., operation) in Group::operations_of(document, title) {
            let Some((schema, ..)) = data_schema(&schemas, operation) else { continue };
            // An object is described on the first page that needs it, and notifications are on their own page.
            if schema == "WebhookEvent" {
                schemas.set_link(schema, NOTIFICATION_TYPES.to_owned(), "notification".to_owned());
            } else if schemas.link(schema).is_none() {
                let mut object = Object::new(&schemas, schema);
                if objects.iter().any(|other| other.id == object.id) {
                    object = Object::named(snake_case(schema).replace('_', " "), schema);
                }
                schemas.set_link(schema, format!("{path}#{}", object.id), object.name.clone());
                objects.push(object);
            }
        }
        let description = tag["description"].as_str().unwrap_or_default().to_owned();
        groups.push(Group {
            title: title.to_owned(),
            description,
            path,
            operations: Vec::new(),
            objects,
        });
    }
    for group in &mut groups {
        for object in &mut group.objects {
            complete_object(&schemas, document, object);
        }
        let operations = Group::operations_of(document, &group.title);
        group.operations = operations
            .into_iter()
            .map(|(path, method, operation)| Operation::new(&schemas, path, method, operation))
            .collect();
    }
    groups
}

/// Adds the fields and an example, which may refer to other objects.
fn complete_object(schemas: &Schemas<'_>, document: &Value, object: &mut Object) {
    let schema = schemas.named(&object.schema);
    object.description = markdown::description(schema["description"].as_str().unwrap_or_default());
    object.fields = schemas.fields(schema, false);
    if let Some(example) = example_of(document, &object.schema) {
        let example = Language::Json.literal(&example, 0);
        object.example = markdown::sample(&object.id, &[("json", &example)]);
    }
}

/// An example of an object: what the first operation that returns it has as its example.
fn example_of(document: &Value, schema: &str) -> Option<Value> {
    let schemas = Schemas::new(document);
    let items = document["paths"].as_object()?.iter().filter_map(|(_, item)| item.as_object());
    let operations = items.flat_map(|item| item.iter().map(|(_, operation)| operation));
    let mut returning = operations.filter(|operation| {
        data_schema(&schemas, operation).is_some_and(|(name, ..)| name == schema)
    });
    let responses = returning.next()?["responses"].as_object()?;
    let (_, response) = responses.iter().find(|(status, _)| status.starts_with('2'))?;
    let data = response.pointer("/content/application~1json/example/data")?;
    Some(data.get(0).unwrap_or(data).clone())
}

/// Names that guides link to: all endpoints and notification types.
pub fn code_links(groups: &[Group]) -> CodeLinks {
    let mut links = CodeLinks::default();
    for group in groups {
        for operation in &group.operations {
            let href = format!("{}#{}", group.path, operation.id);
            links.add_endpoint(&operation.method, &operation.path, &href);
        }
    }
    for kind in crate::notification_kinds::all_kinds() {
        links.add(kind.name, &format!("{NOTIFICATION_TYPES}#{}", kind.name));
    }
    for path in ["/docs/errors", REFERENCE, "/docs"] {
        links.add(path, path);
    }
    links
}

/// The pages of the reference.
pub fn pages(document: &Value, groups: &[Group]) -> Result<Vec<Content>> {
    let mut pages = vec![Content {
        path: REFERENCE.to_owned(),
        title: "API reference".to_owned(),
        summary: "All operations and objects of the API.".to_owned(),
        html: render(&Index { groups })?,
        ..Content::default()
    }];
    for group in groups {
        pages.push(group_page(group)?);
    }
    pages.push(notification_types::page(document)?);
    Ok(pages)
}

fn group_page(group: &Group) -> Result<Content> {
    let entry = |kind: Kind, id: &str, title: &str, text: String, keywords: String| Entry {
        kind,
        href: format!("{}#{id}", group.path),
        title: title.to_owned(),
        place: group.title.clone(),
        keywords,
        text,
    };
    let operations = group.operations.iter().map(|operation| {
        let keywords = format!("{} {} {}", operation.id, operation.method, operation.path);
        entry(Kind::Operation, &operation.id, &operation.title, operation.text.clone(), keywords)
    });
    let objects = group.objects.iter().map(|object| {
        let names: Vec<_> = object.fields.fields.iter().map(|field| field.name.as_str()).collect();
        let text = format!("Fields: {}.", names.join(", "));
        entry(Kind::Object, &object.id, &object.title, text, object.schema.clone())
    });
    let entries = operations.chain(objects).collect();
    let heading =
        |id: &str, title: &str| Heading { id: id.to_owned(), title: title.to_owned(), level: 2 };
    let contents = group
        .operations
        .iter()
        .map(|operation| heading(&operation.id, &operation.title))
        .chain(group.objects.iter().map(|object| heading(&object.id, &object.title)))
        .collect();
    Ok(Content {
        path: group.path.clone(),
        title: group.title.clone(),
        summary: group.description.clone(),
        html: render(&GroupPage { group })?,
        contents,
        entries,
        is_reference: true,
    })
}
