//! A browser without scripts: keeps the session cookie and the CSRF token, and submits forms.

use std::net::SocketAddr;

use crate::{Client, TestResponse};

/// The HTML before the CSRF token in a form.
const CSRF: &str = "name=\"csrf\" value=\"";

/// A browser without scripts.
#[derive(Debug, Clone)]
pub struct Browser {
    client: Client,
    /// The value of the session cookie.
    pub cookie: Option<String>,
    /// The CSRF token of the last page with a form.
    pub csrf: Option<String>,
}

impl Browser {
    /// A browser without a session.
    pub fn new(address: SocketAddr) -> Self {
        let client = Client::new(address, None)
            .with_header("Accept", "text/html,application/xhtml+xml")
            .with_header("User-Agent", "Testkit/1.0");
        Self { client, cookie: None, csrf: None }
    }

    /// The same browser with one more header.
    #[must_use]
    pub fn with_header(&self, name: &str, value: &str) -> Self {
        Self { client: self.client.with_header(name, value), ..self.clone() }
    }

    /// The same browser with another session cookie.
    #[must_use]
    pub fn with_cookie(self, cookie: Option<String>) -> Self {
        Self { cookie, csrf: None, ..self }
    }

    /// Opens a page.
    pub async fn get(&mut self, path: &str) -> TestResponse {
        let answer = self.client().page("GET", path, None).await;
        self.save_tokens(answer)
    }

    /// The same browser at another node.
    pub fn at(self, address: SocketAddr) -> Self {
        Self { client: self.client.at(address), ..self }
    }

    /// Opens a page and follows up to five redirects within this service.
    pub async fn open(&mut self, path: &str) -> TestResponse {
        let mut answer = self.get(path).await;
        for _ in 0..5 {
            let Some(next) = answer.local_redirect().map(str::to_owned) else { break };
            answer = self.get(&next).await;
        }
        answer
    }

    /// Submits a form the way our own page would, with the CSRF token.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> TestResponse {
        let csrf = self.csrf.clone().unwrap_or_default();
        let fields: Vec<_> = fields.iter().copied().chain([("csrf", csrf.as_str())]).collect();
        let origin = format!("http://{}", self.client.address);
        let headers = [("Sec-Fetch-Site", "same-origin"), ("Origin", origin.as_str())];
        self.send(path, &fields, &headers).await
    }

    /// Submits a form with files the way our own page would, with the CSRF token.
    pub async fn upload(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        files: &[(&str, &str, &[u8])],
    ) -> TestResponse {
        let csrf = self.csrf.clone().unwrap_or_default();
        let fields: Vec<_> = fields.iter().copied().chain([("csrf", csrf.as_str())]).collect();
        let origin = format!("http://{}", self.client.address);
        let client = self.client().with_header("Sec-Fetch-Site", "same-origin");
        let client = client.with_header("Origin", &origin);
        let answer = client.upload_page(path, &fields, files).await;
        self.save_tokens(answer)
    }

    /// A client with the headers of a form submission, and the body of a form with these fields.
    pub fn form(&self, fields: &[(&str, &str)]) -> (Client, String) {
        let csrf = self.csrf.clone().unwrap_or_default();
        let fields = fields.iter().copied().chain([("csrf", csrf.as_str())]);
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let origin = format!("http://{}", self.client.address);
        let client = self.client().with_header("Content-Type", "application/x-www-form-urlencoded");
        (client.with_header("Sec-Fetch-Site", "same-origin").with_header("Origin", &origin), body)
    }

    /// Submits a form with exactly these fields and headers, plus the cookie.
    pub async fn send(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> TestResponse {
        let mut client =
            self.client().with_header("Content-Type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            client = client.with_header(name, value);
        }
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let answer = client.page("POST", path, Some(&body)).await;
        self.save_tokens(answer)
    }

    fn client(&self) -> Client {
        match &self.cookie {
            Some(cookie) => {
                self.client.with_header("Cookie", &format!("__Host-touchline={cookie}"))
            }
            None => self.client.clone(),
        }
    }

    fn save_tokens(&mut self, answer: TestResponse) -> TestResponse {
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

impl TestResponse {
    /// The target of a redirect, if it is a page of this service.
    pub fn local_redirect(&self) -> Option<&str> {
        let location = self.header("location").filter(|_| (300..400).contains(&self.status))?;
        location.starts_with('/').then_some(location)
    }

    /// Asserts a redirect (303) to this path.
    #[track_caller]
    pub fn redirects_to(self, path: &str) -> Self {
        assert_eq!(self.status, 303, "{}", self.text);
        assert_eq!(self.header("location"), Some(path));
        self
    }

    /// The page without its CSRF tokens, which may contain a short name by chance.
    pub fn text_without_csrf(&self) -> String {
        let mut parts = self.text.split(CSRF);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| text + part.split_once('"').map_or("", |(_, rest)| rest))
    }

    /// Asserts that the page contains this text.
    #[track_caller]
    pub fn shows(self, text: &str) -> Self {
        assert!(self.text.contains(text), "{} does not show {text}: {}", self.status, self.text);
        self
    }
}
