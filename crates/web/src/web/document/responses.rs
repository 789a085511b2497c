//! The responses: errors that operations share, headers, and examples.

use http::StatusCode;
use serde_json::Map;

use super::{reference, referenced_schema};
use crate::prelude::*;
use crate::web::document::payload_schema;

/// An error response: status, description. Its example is in [`problem_example`].
const ERRORS: &[(&str, &str)] = &[
    ("400", "The request is malformed, or a parameter or field is unknown or invalid."),
    ("401", "The credentials are missing or invalid."),
    ("403", "The credentials lack a required scope or permission."),
    ("404", "The object does not exist, or you do not have access to it."),
    ("408", "The body did not arrive in time."),
    ("409", "The change conflicts with the current state or with another object."),
    ("410", "The requested part of the log has been deleted."),
    ("412", "The object has changed since you read it."),
    ("413", "The body is too large."),
    ("415", "The content type of the body is not supported."),
    ("422", "Some fields are invalid, or the `Idempotency-Key` was used for a different request."),
    ("429", "Too many requests. Wait for the number of seconds in `Retry-After`."),
    ("500", "An internal error occurred. Retry later."),
    (
        "503",
        "The service is overloaded or unavailable. Wait for the number of seconds in `Retry-After`.",
    ),
];

/// What an error status means. Empty for a status that only some operations use.
pub fn error_description(status: u16) -> &'static str {
    let status = status.to_string();
    ERRORS.iter().find(|(known, _)| *known == status).map_or("", |(_, description)| description)
}

/// The name of the component with an error response: `NotFound`.
fn error_name(status: &str) -> String {
    let status = StatusCode::from_bytes(status.as_bytes()).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or_default().replace(' ', "")
}

/// A response header: name of the component, header, description, example.
const HEADERS: &[(&str, &str, &str, &str)] = &[
    (
        "RequestId",
        "Request-Id",
        "ID of the request. Include it when you report a problem.",
        "req_01kbm2x5q8f7vr0n3hd9tzc4wy",
    ),
    (
        "RateLimit",
        "RateLimit",
        "Requests left (`r`) and seconds until another request becomes available (`t`).",
        "\"default\";r=599;t=1",
    ),
    (
        "RateLimitPolicy",
        "RateLimit-Policy",
        "Quota (`q`, in requests) per window (`w`, in seconds).",
        "\"default\";q=600;w=60",
    ),
    ("RetryAfter", "Retry-After", "Seconds to wait before the next request.", "1"),
    ("WwwAuthenticate", "WWW-Authenticate", "The accepted authentication scheme.", "Bearer"),
    ("ETag", "ETag", "Version of the object, for `If-Match` and `If-None-Match`.", "\"1\""),
    (
        "Link",
        "Link",
        "URL of the next page with `rel=\"next\"`. Absent on the last page.",
        "</api/public/v1/teams?cursor=…>; rel=\"next\"",
    ),
    (
        "Location",
        "Location",
        "URL of the created object.",
        "https://club.example.org/api/public/v1/teams/team_01kbm2x5q8f7vr0n3hd9tzc4wy",
    ),
    (
        "IdempotentReplayed",
        "Idempotent-Replayed",
        "`true` if this is the stored response to an earlier request with the same `Idempotency-Key`.",
        "true",
    ),
];

/// Headers of every response to an authenticated request.
const COMMON_HEADERS: &[&str] = &["RequestId", "RateLimit", "RateLimitPolicy"];

/// Adds the shared responses and headers to the components.
pub(super) fn add_components(document: &mut Value) {
    let headers = HEADERS.iter().map(|(name, _, description, example)| {
        let header = json!({ "description": description, "schema": { "type": "string" }, "example": example });
        ((*name).to_owned(), header)
    });
    document["components"]["headers"] = Value::Object(headers.collect());
    let errors = ERRORS.iter().map(|(status, description)| {
        let extra: &[&str] = match *status {
            "401" => &["RequestId", "WwwAuthenticate"],
            "429" | "503" => &["RequestId", "RetryAfter"],
            _ => &["RequestId"],
        };
        let response = json!({
            "description": description,
            "headers": header_references(extra),
            "content": { "application/problem+json": {
                "schema": reference("schemas", "Problem"),
                "example": problem_example(status),
            } },
        });
        (error_name(status), response)
    });
    let mut responses: Map<_, _> = errors.collect();
    responses.insert(
        "NotModified".to_owned(),
        json!({ "description": "Not modified. The version you have is current.",
            "headers": header_references(&["RequestId", "ETag"]) }),
    );
    document["components"]["responses"] = Value::Object(responses);
}

/// An example of the error response with this status.
fn problem_example(status: &str) -> Value {
    let error = match status {
        "400" => {
            let detail = "`limit`: Use a number from 1 to 100.";
            let fault = Fault::of_parameter("limit", "out_of_range", "Use a number from 1 to 100.");
            Error { faults: vec![fault], ..Error::new(Code::InvalidParameter, detail) }
        }
        "401" => Error::new(Code::InvalidCredentials, "This API key does not exist."),
        "403" => Error::forbidden(),
        "404" => Error::not_found(),
        "408" => Error::new(Code::RequestTimeout, "Send the request again."),
        "409" => {
            Error::new(Code::Taken, "Another object already has this value.").at("/external_id")
        }
        "410" => {
            let detail = "Older notifications have been deleted. The oldest available sequence number is 1200.";
            Error::new(Code::Gone, detail)
        }
        "412" => Error::new(Code::PreconditionFailed, "The object has changed. Read it again."),
        "413" => Error::new(Code::PayloadTooLarge, "The body can have at most 1 MiB."),
        "415" => Error::new(Code::UnsupportedMediaType, "Use `Content-Type: application/json`."),
        "422" => Error::invalid(vec![Fault::new("/name", "required", "This field is required.")]),
        "429" => Error::new(Code::RateLimited, "Try again in 1 second."),
        "503" => Error::new(
            Code::Overloaded,
            "The database is busy or cannot be reached. Try again later.",
        ),
        _ => Error::internal(""),
    };
    json!(error.problem("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))
}

fn header_references(names: &[&str]) -> Value {
    let references = names.iter().filter_map(|name| {
        let (_, header, ..) = HEADERS.iter().find(|(known, ..)| known == name)?;
        Some(((*header).to_owned(), reference("headers", name)))
    });
    Value::Object(references.collect())
}

/// The extension with what an operation changes in the example of its response.
const OUTCOME: &str = "x-outcome";

/// Copies the fields of the example request to the example of the response, so that both have the same values. Times are
/// left out, because requests may contain local times.
fn copy_sent_fields(data: &mut Value, sent: &Value) {
    let is_simple = |value: &Value| !value.is_object() && !value.is_array();
    let fields = sent.as_object().into_iter().flatten();
    for (name, value) in fields.filter(|(name, value)| is_simple(value) && !name.ends_with("_at")) {
        if let Some(shown) = data.get_mut(name).filter(|shown| is_simple(shown)) {
            *shown = value.clone();
        }
    }
}

/// Adds the error responses that an operation can have, and headers and an example to its success.
pub(super) fn complete(method: &str, operation: &mut Value, components: &Value) {
    let has_list = operation["responses"].to_string().contains("List\"");
    let sent = operation["requestBody"]["content"]["application/json"]["example"].clone();
    let outcome = operation.as_object_mut().and_then(|fields| fields.remove(OUTCOME));
    let responses = operation["responses"].as_object_mut().into_iter().flatten();
    for (status, response) in responses.filter(|(status, _)| status.starts_with('2')) {
        let mut names = COMMON_HEADERS.to_vec();
        names.extend((method != "get").then_some("IdempotentReplayed"));
        let is_batch = response.to_string().contains("BatchResponse\"");
        names.extend((status == "201" && !is_batch).then_some("Location"));
        names.extend(has_list.then_some("Link"));
        let schema = response.pointer("/content/application~1json/schema").cloned();
        if let Some(schema) = schema {
            names.extend(is_versioned(&schema, components).then_some("ETag"));
            let content = &mut response["content"]["application/json"];
            if content.get("example").is_none() {
                content["example"] = example(&schema, components);
                let data = &mut content["example"]["data"];
                if method != "get" {
                    copy_sent_fields(data, &sent);
                }
                if let (Some(fields), Value::Object(changed)) =
                    (data.as_object_mut(), outcome.clone().unwrap_or_default())
                {
                    fields.extend(changed);
                }
            }
        }
        response["headers"] = header_references(&names);
    }
    for (status, _) in ERRORS {
        if can_fail_with(method, operation, status) {
            operation["responses"][status] = reference("responses", &error_name(status));
        }
    }
}

/// Whether an operation can respond with this error.
fn can_fail_with(method: &str, operation: &Value, status: &str) -> bool {
    let changes = method != "get";
    let text = |field: &str| operation.get(field).map(ToString::to_string).unwrap_or_default();
    match status {
        "404" => {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            // An unknown object of a filter gives an empty list, unless it is a team or a required parameter.
            let mut referring = parameters.filter(|one| {
                one["name"] == "team_id" || (one["required"] == true && one["in"] != "header")
            });
            referring.next().is_some()
        }
        "408" | "409" | "413" | "415" | "422" => changes,
        "410" => operation["responses"].get(status).is_some(),
        "412" => text("parameters").contains("IfMatch"),
        _ => true,
    }
}

/// Whether a response contains one object with a version.
fn is_versioned(schema: &Value, components: &Value) -> bool {
    let schemas = &components["schemas"];
    let envelope = referenced_schema(schema).map_or(schema, |name| &schemas[name]);
    let data = &envelope["properties"]["data"];
    referenced_schema(data).is_some_and(|name| schemas[name]["properties"].get("version").is_some())
}

/// An example of a response, generated from its schema.
fn example(schema: &Value, components: &Value) -> Value {
    let standalone = payload_schema::standalone(schema, &components["schemas"]);
    let mut example = payload_schema::example_of(&standalone);
    // The only page of a list is its last one.
    if let Some(more) = example.get_mut("has_more") {
        *more = json!(false);
    }
    example
}
