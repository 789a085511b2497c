//! An operation of the API on its page: parameters, body, response and examples.

use askama::Template;
use serde_json::Value;

use super::schema::{Fields, Schemas};
use crate::web::docs::literal::Language;
use crate::web::docs::markdown;
use crate::web::docs::samples::{Body, Outcome, Request};

/// How many objects the example of a list requests.
const EXAMPLE_LIMIT: u32 = 10;

/// An operation as it is shown.
#[derive(Template)]
#[template(path = "docs/operation.html")]
pub struct Operation {
    /// The operation id, which is its anchor too.
    pub id: String,
    pub method: String,
    pub path: String,
    pub title: String,
    /// The description without its markup, for the search.
    pub text: String,
    description: String,
    scopes: Vec<String>,
    is_public: bool,
    /// Headings with their fields.
    groups: Vec<(&'static str, Fields)>,
    returns: Returns,
    errors: Vec<(String, String)>,
    samples: String,
    response: String,
}

/// The successful response.
#[derive(Default)]
struct Returns {
    status: String,
    description: String,
    media: String,
    /// The link to the fields of the object in `data`, and what it is called.
    data: Option<(String, String)>,
}

impl Operation {
    /// Reads an operation of the document.
    pub fn new(schemas: &Schemas<'_>, path: &str, method: &str, operation: &Value) -> Self {
        let text = |name: &str| operation[name].as_str().unwrap_or_default();
        let parameters = parameters(schemas, operation);
        let request = request(schemas, path, method, operation);
        let samples =
            [("sh", request.curl()), ("ts", request.typescript()), ("python", request.python())];
        let samples: Vec<_> = samples.iter().map(|(tab, code)| (*tab, code.as_str())).collect();
        let id = text("operationId").to_owned();
        let empty = Vec::new();
        let security = operation["security"].as_array().unwrap_or(&empty);
        let scopes = security.iter().flat_map(|one| one["oauth2"].as_array().into_iter().flatten());
        Self {
            method: method.to_uppercase(),
            path: path.to_owned(),
            title: text("summary").to_owned(),
            text: markdown::plain(text("description")),
            description: markdown::description(text("description")),
            scopes: scopes.filter_map(Value::as_str).map(str::to_owned).collect(),
            is_public: security.is_empty(),
            groups: groups(schemas, operation, &parameters),
            returns: returns(schemas, operation),
            errors: errors(schemas, operation),
            samples: markdown::sample(&format!("example-{id}"), &samples),
            response: response_example(operation),
            id,
        }
    }
}

fn parameters<'a>(schemas: &Schemas<'a>, operation: &'a Value) -> Vec<&'a Value> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.map(|parameter| schemas.component(parameter)).collect()
}

/// The parameters and fields that an operation accepts.
fn groups(
    schemas: &Schemas<'_>,
    operation: &Value,
    parameters: &[&Value],
) -> Vec<(&'static str, Fields)> {
    let places =
        [("Path parameters", "path"), ("Query parameters", "query"), ("Headers", "header")];
    let mut groups: Vec<_> = places
        .iter()
        .map(|(title, place)| {
            let matching = parameters.iter().filter(|parameter| parameter["in"] == *place);
            let fields = matching.map(|parameter| schemas.parameter(parameter)).collect();
            (*title, Fields { fields, ..Fields::default() })
        })
        .collect();
    if let Some((media, schema)) = body_schema(operation) {
        let form = media.starts_with("multipart");
        let title = if form { "Form fields" } else { "Body" };
        groups.insert(2, (title, schemas.fields(schema, true)));
    }
    groups.retain(|(_, fields)| !fields.fields.is_empty());
    groups
}

fn body_schema(operation: &Value) -> Option<(&str, &Value)> {
    let (media, content) = operation["requestBody"]["content"].as_object()?.iter().next()?;
    Some((media, &content["schema"]))
}

/// The status and the content of the successful response.
fn success(operation: &Value) -> Option<(&str, &Value)> {
    let responses = operation["responses"].as_object()?;
    let (status, response) = responses.iter().find(|(status, _)| status.starts_with('2'))?;
    Some((status, response))
}

/// The schema of `data` in a response, and whether it is one of several objects.
pub fn data_schema<'a>(schemas: &Schemas<'a>, operation: &Value) -> Option<(&'a str, bool, bool)> {
    let (_, response) = success(operation)?;
    let envelope = response.pointer("/content/application~1json/schema/$ref")?.as_str()?;
    let envelope = schemas.named(envelope.rsplit('/').next()?);
    let data = &envelope["properties"]["data"];
    let is_array = data["type"] == "array";
    let target = if is_array { &data["items"] } else { data };
    let name = target["$ref"].as_str()?.rsplit('/').next()?;
    Some((name, is_array, envelope["properties"].get("has_more").is_some()))
}

fn returns(schemas: &Schemas<'_>, operation: &Value) -> Returns {
    let Some((status, response)) = success(operation) else { return Returns::default() };
    let media = response["content"].as_object().and_then(|content| content.keys().next());
    let data = data_schema(schemas, operation).and_then(|(name, ..)| schemas.link(name).cloned());
    Returns {
        status: status.to_owned(),
        description: markdown::inline_description(
            response["description"].as_str().unwrap_or_default(),
        ),
        media: media.cloned().unwrap_or_default(),
        data,
    }
}

/// The statuses of errors, with their descriptions.
fn errors(schemas: &Schemas<'_>, operation: &Value) -> Vec<(String, String)> {
    let responses = operation["responses"].as_object().into_iter().flatten();
    let errors = responses.filter(|(status, _)| status.starts_with(['4', '5']));
    errors
        .map(|(status, response)| {
            let description = schemas.component(response)["description"].as_str();
            (status.clone(), markdown::plain(description.unwrap_or_default()))
        })
        .collect()
}

fn response_example(operation: &Value) -> String {
    let example = success(operation)
        .and_then(|(_, response)| response.pointer("/content/application~1json/example"));
    let Some(example) = example else { return String::new() };
    let id = format!("response-{}", operation["operationId"].as_str().unwrap_or_default());
    markdown::sample(&id, &[("json", &Language::Json.literal(example, 0))])
}

/// The example request.
fn request<'a>(
    schemas: &Schemas<'_>,
    path: &str,
    method: &str,
    operation: &'a Value,
) -> Request<'a> {
    let parameters = parameters(schemas, operation);
    let example = |parameter: &Value| schemas.example(&parameter["schema"]).unwrap_or_default();
    let (mut ids, mut example_path) = (Vec::new(), path.to_owned());
    for parameter in parameters.iter().filter(|parameter| parameter["in"] == "path") {
        let value = example(parameter).as_str().unwrap_or("…").to_owned();
        let name = parameter["name"].as_str().unwrap_or_default();
        example_path = example_path.replace(&format!("{{{name}}}"), &value);
        ids.push((path.find(&format!("{{{name}}}")), value));
    }
    ids.sort();
    let result = outcome(schemas, path, operation);
    let mut query = Vec::new();
    for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
        let name = parameter["name"].as_str().unwrap_or_default().to_owned();
        if parameter["required"] == true {
            query.push((name, example(parameter)));
        } else if name == "limit" && matches!(result, Outcome::List(_)) {
            query.push((name, EXAMPLE_LIMIT.into()));
        } else if name == "after" && result == Outcome::Stream {
            query.push((name, 0.into()));
        }
    }
    let content = &operation["requestBody"]["content"];
    let body = match (content.get("application/json"), content.get("multipart/form-data")) {
        (Some(json), _) => Body::Json(json["example"].clone()),
        (_, Some(_)) => Body::Form { file: "logo.png", purpose: "logo" },
        _ => Body::None,
    };
    Request {
        id: operation["operationId"].as_str().unwrap_or_default(),
        method: method.to_uppercase(),
        path: example_path,
        ids: ids.into_iter().map(|(_, id)| id).collect(),
        query,
        body,
        result,
    }
}

fn outcome(schemas: &Schemas<'_>, path: &str, operation: &Value) -> Outcome {
    let media = success(operation).and_then(|(_, response)| response["content"].as_object());
    match media.and_then(|media| media.keys().next()).map(String::as_str) {
        Some("text/event-stream") => return Outcome::Stream,
        Some("text/csv") => {
            return Outcome::Csv(path.rsplit('/').next().unwrap_or_default().to_owned());
        }
        Some("application/json") => {}
        _ => return Outcome::File,
    }
    let Some((name, is_array, is_page)) = data_schema(schemas, operation) else {
        return Outcome::Object("result".to_owned());
    };
    let object = object_name(schemas, name);
    match (is_array, is_page) {
        (_, true) => Outcome::List(object),
        (true, false) => Outcome::Array(object),
        (false, false) => Outcome::Object(object),
    }
}

/// The name of an object in snake case: the value of its `object` field, or the name of its schema.
pub fn object_name(schemas: &Schemas<'_>, schema: &str) -> String {
    match schemas.named(schema)["properties"]["object"]["const"].as_str() {
        Some(name) => name.to_owned(),
        None if schema == "WebhookEvent" => "notification".to_owned(),
        None => snake_case(schema),
    }
}

/// The name of a schema in snake case: `created_webhook`.
pub fn snake_case(schema: &str) -> String {
    let mut name = String::new();
    for character in schema.chars() {
        if character.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(character.to_lowercase());
    }
    name
}
