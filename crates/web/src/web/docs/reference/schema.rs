//! Reads the JSON Schemas of the OpenAPI document as lists of fields.

use std::collections::BTreeMap;

use askama::Template;
use serde_json::Value;

use crate::web::docs::literal;
use crate::web::docs::markdown;

/// How deep nested objects are shown.
const MAX_DEPTH: usize = 5;
const SCHEMAS: &str = "#/components/schemas/";

/// The fields of an object or the parameters of an operation.
#[derive(Template, Debug, Default)]
#[template(path = "docs/fields.html")]
pub struct Fields {
    pub fields: Vec<Field>,
    /// A rule about several fields, as HTML.
    pub rules: Vec<String>,
}

/// A field or a parameter.
#[derive(Debug, Default)]
pub struct Field {
    pub name: String,
    kind: String,
    required: bool,
    /// As HTML.
    description: String,
    limits: Vec<String>,
    values: Vec<String>,
    /// The link to the fields of the object, and what it is called.
    link: Option<(String, String)>,
    /// The fields of an object without a page, as HTML.
    nested: String,
}

/// The schemas of a document.
#[derive(Debug)]
pub struct Schemas<'a> {
    document: &'a Value,
    /// Where objects are described: name of the schema, link and what the object is called.
    objects: BTreeMap<String, (String, String)>,
}

/// A schema without references and alternatives with `null`.
struct Resolved<'a> {
    schema: &'a Value,
    nullable: bool,
    /// The name of the last reference.
    name: Option<&'a str>,
    description: Option<&'a str>,
}

impl<'a> Schemas<'a> {
    pub fn new(document: &'a Value) -> Self {
        Self { document, objects: BTreeMap::new() }
    }

    /// Describes an object on a page, so that fields link there.
    pub fn set_link(&mut self, schema: &str, href: String, name: String) {
        self.objects.entry(schema.to_owned()).or_insert((href, name));
    }

    /// The link to an object that is described on a page, and what it is called.
    pub fn link(&self, schema: &str) -> Option<&(String, String)> {
        self.objects.get(schema)
    }

    /// A schema by name.
    pub fn named(&self, name: &str) -> &'a Value {
        &self.document["components"]["schemas"][name]
    }

    /// The component that a value refers to, or the value itself.
    pub fn component<'v>(&self, value: &'v Value) -> &'v Value
    where
        'a: 'v,
    {
        let pointer = value["$ref"].as_str().map(|target| target.trim_start_matches('#'));
        pointer.and_then(|pointer| self.document.pointer(pointer)).unwrap_or(value)
    }

    /// An example of a value.
    pub fn example(&self, schema: &Value) -> Option<Value> {
        let resolved = self.resolve(schema);
        let schema = resolved.schema;
        let known = [schema["examples"].get(0), schema.get("const"), schema["enum"].get(0)];
        if let Some(known) = known.into_iter().flatten().next() {
            return Some(known.clone());
        }
        match schema["type"].as_str()? {
            "array" => Some(Value::Array(vec![self.example(&schema["items"])?])),
            "boolean" => Some(Value::Bool(true)),
            _ => None,
        }
    }

    /// The fields of an object. `in_request` marks the required ones.
    pub fn fields(&self, schema: &Value, in_request: bool) -> Fields {
        self.fields_below(schema, in_request, &mut Vec::new())
    }

    /// A parameter of an operation.
    pub fn parameter(&self, parameter: &Value) -> Field {
        let name = parameter["name"].as_str().unwrap_or_default();
        let mut field = self.field(name, &parameter["schema"], true, &mut Vec::new());
        field.required = parameter["required"] == true;
        if let Some(description) = parameter["description"].as_str() {
            field.description = markdown::inline_description(description);
        }
        field
    }

    fn fields_below<'s>(
        &self,
        schema: &'s Value,
        in_request: bool,
        path: &mut Vec<&'s str>,
    ) -> Fields
    where
        'a: 's,
    {
        let schema = self.resolve(schema).schema;
        let required: Vec<_> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object();
        let mut properties = properties.map(literal::sorted).unwrap_or_default();
        if in_request {
            properties.sort_by_key(|(name, _)| !required.contains(&name.as_str()));
        }
        let field = |(name, property): (&'s String, &'s Value)| {
            let mut field = self.field(name, property, in_request, path);
            field.required = in_request && required.contains(&name.as_str());
            field
        };
        let fields = properties.into_iter().map(field).collect();
        Fields { fields, rules: rules(schema) }
    }

    fn field<'s>(
        &self,
        name: &str,
        schema: &'s Value,
        in_request: bool,
        path: &mut Vec<&'s str>,
    ) -> Field
    where
        'a: 's,
    {
        let resolved = self.resolve(schema);
        let is_list = resolved.schema["type"] == "array";
        let item =
            if is_list { self.resolve(&resolved.schema["items"]) } else { self.resolve(schema) };
        let link = item.name.and_then(|name| self.link(name)).cloned();
        let has_fields = item.schema["properties"].is_object();
        let is_repeated = item.name.is_some_and(|name| path.contains(&name));
        let nested = if has_fields && link.is_none() && !is_repeated && path.len() < MAX_DEPTH {
            path.push(item.name.unwrap_or_default());
            let fields = self.fields_below(item.schema, in_request, path);
            path.pop();
            fields.render().unwrap_or_default()
        } else {
            String::new()
        };
        Field {
            name: name.to_owned(),
            kind: self.kind(&resolved),
            required: false,
            description: resolved.description.map(markdown::inline_description).unwrap_or_default(),
            limits: limits(resolved.schema),
            values: values(item.schema),
            link,
            nested,
        }
    }

    fn resolve<'s>(&self, schema: &'s Value) -> Resolved<'s>
    where
        'a: 's,
    {
        let mut resolved = Resolved {
            schema,
            nullable: false,
            name: None,
            description: schema["description"].as_str(),
        };
        loop {
            let schema = resolved.schema;
            if let Some(target) = schema["$ref"].as_str() {
                resolved.name = target.strip_prefix(SCHEMAS);
                resolved.schema = self.component(schema);
            } else if let Some(only) = only_choice(schema) {
                resolved.nullable = true;
                resolved.schema = only;
            } else {
                break;
            }
            resolved.description = resolved.description.or(resolved.schema["description"].as_str());
        }
        let kinds = resolved.schema["type"].as_array();
        resolved.nullable |= kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"));
        resolved
    }

    /// The type of a field in words.
    fn kind(&self, resolved: &Resolved<'_>) -> String {
        let schema = resolved.schema;
        let kind = match kind_name(schema) {
            "array" => match kind_name(self.resolve(&schema["items"]).schema) {
                "" => "array".to_owned(),
                item => format!("array of {item}s"),
            },
            kind => kind.to_owned(),
        };
        if resolved.nullable { format!("{kind} or null") } else { kind }
    }
}

/// The only alternative that is not `null`.
fn only_choice(schema: &Value) -> Option<&Value> {
    let mut choices = schema["oneOf"].as_array()?.iter().filter(|one| one["type"] != "null");
    let first = choices.next()?;
    let is_rule = schema.get("properties").is_some();
    (choices.next().is_none() && !is_rule).then_some(first)
}

fn kind_name(schema: &Value) -> &str {
    let first =
        schema["type"].as_array().and_then(|kinds| kinds.iter().find(|kind| *kind != "null"));
    match first.unwrap_or(&schema["type"]).as_str() {
        Some("string") => match schema["format"].as_str() {
            Some("date-time") => "timestamp",
            Some("date") => "date",
            Some("uri") => "URL",
            _ => "string",
        },
        Some(kind) => kind,
        None if schema.get("anyOf").is_some() => "string",
        None if schema.get("oneOf").is_some() => "object",
        None => "",
    }
}

/// The known values of an enum, which may allow others.
fn values(schema: &Value) -> Vec<String> {
    let known = schema["enum"].as_array().or_else(|| schema["anyOf"][0]["enum"].as_array());
    let known = known.into_iter().flatten().chain(schema.get("const"));
    known.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
}

/// The limits of a value in words.
fn limits(schema: &Value) -> Vec<String> {
    let number = |name: &str| schema[name].as_i64();
    let mut limits = Vec::new();
    let mut range = |low: Option<i64>, high: Option<i64>, unit: &str| {
        let text = match (low, high) {
            (Some(low), Some(high)) if low > 0 || unit.is_empty() => {
                format!("{} to {}{unit}.", grouped(low), grouped(high))
            }
            (_, Some(high)) => format!("At most {}{unit}.", grouped(high)),
            (Some(low), None) if low != 0 => format!("At least {}{unit}.", grouped(low)),
            _ => return,
        };
        limits.push(text);
    };
    range(number("minLength"), number("maxLength"), " characters");
    range(number("minItems"), number("maxItems"), " items");
    range(number("minimum"), number("maximum"), "");
    limits
}

/// A number with commas: `10,000`.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    if number < 10_000 {
        return digits;
    }
    let start = digits.len() % 3;
    let mut text = digits[..start].to_owned();
    for group in digits.as_bytes()[start..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&String::from_utf8_lossy(group));
    }
    text
}

/// Rules about which fields have to be sent together, as HTML.
fn rules(schema: &Value) -> Vec<String> {
    let mut rules = Vec::new();
    for (keyword, start) in [("oneOf", "Send exactly one of"), ("anyOf", "Send at least one of")] {
        let groups = schema[keyword].as_array().into_iter().flatten();
        let groups: Vec<_> = groups.filter_map(|group| group["required"].as_array()).collect();
        let names = |group: &&Vec<Value>| {
            let names = group.iter().filter_map(Value::as_str);
            names.map(|name| format!("<code>{name}</code>")).collect::<Vec<_>>().join(" with ")
        };
        if groups.len() > 1 {
            let groups: Vec<_> = groups.iter().map(names).collect();
            rules.push(format!("{start} {}.", groups.join(", ")));
        }
    }
    rules
}
