//! Somebody with a browser: keeps the cookie, fills in forms, goes where it is sent.

use std::net::SocketAddr;

use crate::{Answer, Client};

/// What stands before the token in a form.
const CSRF: &str = "name=\"csrf\" value=\"";

/// A browser without scripts.
#[derive(Debug, Clone)]
pub struct Browser {
    client: Client,
    /// The value of our cookie.
    pub cookie: Option<String>,
    /// What the last page with a form would send along.
    pub csrf: Option<String>,
}

impl Browser {
    /// A browser that has never been here.
    pub fn new(address: SocketAddr) -> Self {
        let client = Client::new(address, None)
            .with("Accept", "text/html,application/xhtml+xml")
            .with("User-Agent", "Stories/1.0");
        Self { client, cookie: None, csrf: None }
    }

    /// The same browser with one more header.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        Self { client: self.client.with(name, value), ..self.clone() }
    }

    /// The same browser with this cookie, wherever it is from.
    #[must_use]
    pub fn holding(self, cookie: Option<String>) -> Self {
        Self { cookie, csrf: None, ..self }
    }

    /// Opens a page.
    pub async fn get(&mut self, path: &str) -> Answer {
        let answer = self.client().page("GET", path, None).await;
        self.keep(answer)
    }

    /// The same browser at another node.
    pub fn at(self, address: SocketAddr) -> Self {
        Self { client: self.client.at(address), ..self }
    }

    /// Opens a page and follows wherever it leads on this service.
    pub async fn open(&mut self, path: &str) -> Answer {
        let mut answer = self.get(path).await;
        for _ in 0..5 {
            let Some(next) = answer.next().map(str::to_owned) else { break };
            answer = self.get(&next).await;
        }
        answer
    }

    /// Sends a form as our own page would.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf.clone().unwrap_or_default();
        let fields: Vec<_> = fields.iter().copied().chain([("csrf", csrf.as_str())]).collect();
        let origin = format!("http://{}", self.client.address);
        let headers = [("Sec-Fetch-Site", "same-origin"), ("Origin", origin.as_str())];
        self.send(path, &fields, &headers).await
    }

    /// A client that sends forms as our own page would, and the body of one with these fields.
    pub fn form(&self, fields: &[(&str, &str)]) -> (Client, String) {
        let csrf = self.csrf.clone().unwrap_or_default();
        let fields = fields.iter().copied().chain([("csrf", csrf.as_str())]);
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let origin = format!("http://{}", self.client.address);
        let client = self.client().with("Content-Type", "application/x-www-form-urlencoded");
        (client.with("Sec-Fetch-Site", "same-origin").with("Origin", &origin), body)
    }

    /// Sends a form with exactly these fields and headers beside the cookie.
    pub async fn send(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut client = self.client().with("Content-Type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            client = client.with(name, value);
        }
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let answer = client.page("POST", path, Some(&body)).await;
        self.keep(answer)
    }

    fn client(&self) -> Client {
        match &self.cookie {
            Some(cookie) => self.client.with("Cookie", &format!("__Host-touchline={cookie}")),
            None => self.client.clone(),
        }
    }

    fn keep(&mut self, answer: Answer) -> Answer {
        for (_, line) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let value = line.strip_prefix("__Host-touchline=").expect("our only cookie");
            let value = value.split(';').next().unwrap_or_default().to_owned();
            self.cookie = Some(value).filter(|value| !value.is_empty());
        }
        let token = answer.text.split(CSRF).nth(1);
        if let Some(token) = token.and_then(|rest| rest.split('"').next()) {
            self.csrf = Some(token.to_owned());
        }
        answer
    }
}

impl Answer {
    /// Where a redirect leads, if it leads to a page of this service.
    pub fn next(&self) -> Option<&str> {
        let place = self.header("location").filter(|_| (300..400).contains(&self.status))?;
        place.starts_with('/').then_some(place)
    }

    /// It leads to this page.
    #[track_caller]
    pub fn leads_to(self, path: &str) -> Self {
        assert_eq!(self.status, 303, "{}", self.text);
        assert_eq!(self.header("location"), Some(path));
        self
    }

    /// A page without the tokens of its forms, in which a short name may stand by chance.
    pub fn words(&self) -> String {
        let mut parts = self.text.split(CSRF);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |words, part| words + part.split_once('"').map_or("", |(_, rest)| rest))
    }

    /// A page that shows this text.
    #[track_caller]
    pub fn shows(self, text: &str) -> Self {
        assert!(self.text.contains(text), "{} does not show {text}: {}", self.status, self.text);
        self
    }
}
