//! Example requests of an operation in curl, TypeScript and Python.

use serde_json::Value;

use super::ORIGIN;
use super::literal::Language;
use crate::web::edge::API;

/// What an example request needs to know about an operation.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The operation id: `dues.payments.create`.
    pub id: &'a str,
    /// The method in upper case.
    pub method: String,
    /// The path with the ids of the example.
    pub path: String,
    /// The ids in the path.
    pub ids: Vec<String>,
    /// The query of the example.
    pub query: Vec<(String, Value)>,
    pub body: Body,
    pub result: Outcome,
}

/// The body of an example request.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    None,
    Json(Value),
    /// A form with a file.
    Form {
        file: &'static str,
        purpose: &'static str,
    },
}

/// What an operation returns. Names are those of a variable in snake case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Object(String),
    Array(String),
    List(String),
    /// A CSV file, with its name.
    Csv(String),
    /// The bytes of a file.
    File,
    Stream,
}

/// `calendar_feeds` as `calendarFeeds`.
pub fn camel_case(name: &str) -> String {
    let mut upper = false;
    let mut camel = String::new();
    for character in name.chars() {
        match character {
            '_' => upper = true,
            character if upper => {
                camel.extend(character.to_uppercase());
                upper = false;
            }
            character => camel.push(character),
        }
    }
    camel
}

impl Request<'_> {
    fn url(&self) -> String {
        format!("{ORIGIN}{API}{}", self.path)
    }

    /// The query as it is in the URL.
    fn query_string(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.query {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            query.append_pair(name, &text);
        }
        query.finish()
    }

    fn query_object(&self) -> Value {
        Value::Object(self.query.iter().cloned().collect())
    }

    /// A command for a shell.
    pub fn curl(&self) -> String {
        let query = self.query_string();
        let url = self.url();
        let url = if query.is_empty() { url } else { format!("'{url}?{query}'") };
        let implied = if self.body == Body::None { "GET" } else { "POST" };
        let method =
            if self.method == implied { String::new() } else { format!("-X {} ", self.method) };
        let stream = if self.result == Outcome::Stream { "-N " } else { "" };
        let mut parts = vec![
            format!("curl {stream}{method}{url}"),
            "-H \"Authorization: Bearer $TOUCHLINE_API_KEY\"".to_owned(),
        ];
        match &self.body {
            Body::None => {}
            Body::Json(body) => {
                let body = Language::Json.literal(body, 2).replace('\'', "'\\''");
                parts.push("-H 'Content-Type: application/json'".to_owned());
                parts.push(format!("-d '{body}'"));
            }
            Body::Form { file, purpose } => {
                parts.push(format!("-F file=@{file} -F purpose={purpose}"));
            }
        }
        match &self.result {
            Outcome::Csv(name) => parts.push(format!("-o {name}")),
            Outcome::File => parts.push("-o photo.jpg".to_owned()),
            _ => {}
        }
        parts.join(" \\\n  ")
    }

    /// A call of the TypeScript client.
    pub fn typescript(&self) -> String {
        let method: Vec<_> = self.id.split('.').map(camel_case).collect();
        let mut arguments: Vec<_> =
            self.ids.iter().map(|id| Language::TypeScript.string(id)).collect();
        match &self.body {
            Body::None => {}
            Body::Json(body) => arguments.push(Language::TypeScript.literal(body, 0)),
            Body::Form { purpose, .. } => {
                arguments.push(format!("{{ file: content, purpose: '{purpose}' }}"));
            }
        }
        if !self.query.is_empty() {
            arguments.push(Language::TypeScript.literal(&self.query_object(), 0));
        }
        let call = format!("touchline.{}({})", method.join("."), arguments.join(", "));
        let (imports, before) = match &self.body {
            Body::Form { file, .. } => (
                "import { readFile } from 'node:fs/promises'\n",
                format!("const content = new Blob([await readFile('{file}')])\n"),
            ),
            _ => ("", String::new()),
        };
        let rest = match &self.result {
            Outcome::Object(name) => format!("const {} = await {call}", variable(name)),
            Outcome::Array(name) => format!("const {} = await {call}", plural(&variable(name))),
            Outcome::List(name) => {
                let name = variable(name);
                format!("for await (const {name} of {call}) {{\n  console.log({name})\n}}")
            }
            Outcome::Csv(_) => {
                format!("const response = await {call}\nconst csv = await response.text()")
            }
            Outcome::File => {
                format!("const response = await {call}\nconst bytes = await response.arrayBuffer()")
            }
            Outcome::Stream => format!(
                "for await (const notification of {call}) {{\n  console.log(notification.sequence, notification.type)\n}}"
            ),
        };
        format!(
            "{imports}import {{ Touchline }} from 'touchline'\n\nconst touchline = new Touchline({{\n  baseUrl: '{ORIGIN}',\n  \
             apiKey: process.env.TOUCHLINE_API_KEY,\n}})\n\n{before}{rest}"
        )
    }

    /// A request with the Python package `requests`.
    pub fn python(&self) -> String {
        let function = self.method.to_lowercase();
        let mut arguments = vec![
            format!("\"{}\"", self.url()),
            "headers={\"Authorization\": f\"Bearer {os.environ['TOUCHLINE_API_KEY']}\"}".to_owned(),
        ];
        if !self.query.is_empty() {
            let query = Language::Python.literal(&self.query_object(), 4);
            arguments.push(format!("params={query}"));
        }
        match &self.body {
            Body::None => {}
            Body::Json(body) => {
                arguments.push(format!("json={}", Language::Python.literal(body, 4)));
            }
            Body::Form { file, purpose } => {
                arguments.push(format!("files={{\"file\": open(\"{file}\", \"rb\")}}"));
                arguments.push(format!("data={{\"purpose\": \"{purpose}\"}}"));
            }
        }
        if self.result == Outcome::Stream {
            arguments.push("stream=True".to_owned());
        }
        let rest = match &self.result {
            Outcome::Object(name) => format!("{name} = response.json()[\"data\"]"),
            Outcome::Array(name) => format!("{} = response.json()[\"data\"]", plural(name)),
            Outcome::List(name) => {
                format!("for {name} in response.json()[\"data\"]:\n    print({name})")
            }
            Outcome::Csv(_) => "csv = response.text".to_owned(),
            Outcome::File => "data = response.content".to_owned(),
            Outcome::Stream => {
                "for line in response.iter_lines(decode_unicode=True):\n    print(line)".to_owned()
            }
        };
        format!(
            "import os\n\nimport requests\n\nresponse = requests.{function}(\n    {},\n)\nresponse.raise_for_status()\n{rest}",
            arguments.join(",\n    ")
        )
    }
}

/// A variable for an object in TypeScript.
fn variable(name: &str) -> String {
    camel_case(name)
}

fn plural(name: &str) -> String {
    format!("{name}s")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(id: &'static str, result: Outcome) -> Request<'static> {
        Request {
            id,
            method: "GET".to_owned(),
            path: "/teams/team_1".to_owned(),
            ids: vec!["team_1".to_owned()],
            query: Vec::new(),
            body: Body::None,
            result,
        }
    }

    #[test]
    fn a_call_follows_the_operation_id() {
        let request = request("calendar_feeds.list", Outcome::List("calendar_feed".to_owned()));
        let code = request.typescript();
        assert!(
            code.contains(
                "for await (const calendarFeed of touchline.calendarFeeds.list('team_1'))"
            ),
            "{code}"
        );
        assert!(request.python().contains("for calendar_feed in response.json()[\"data\"]:"));
    }

    #[test]
    fn a_body_is_quoted_for_the_shell() {
        let body = Body::Json(json!({ "name": "Rui's team" }));
        let result = Outcome::Object("team".to_owned());
        let request =
            Request { method: "PATCH".to_owned(), body, ..request("teams.update", result) };
        let code = request.curl();
        assert!(code.contains("curl -X PATCH https://"), "{code}");
        assert!(code.contains(r#"-d '{ "name": "Rui'\''s team" }'"#), "{code}");
        let code = request.typescript();
        assert!(
            code.contains(r"touchline.teams.update('team_1', { name: 'Rui\'s team' })"),
            "{code}"
        );
    }
}
