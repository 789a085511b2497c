//! Tests of the complete OAuth flow, and helpers for the other OAuth tests: a registered app, a
//! user who consents, token requests.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::secret::sha256;
use store::Scope;
use testkit::{Browser, Client, TestResponse, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::oauth::app::{App, Kind};
use touchline::oauth::secret;

pub(crate) const VERIFIER: &str = "a-verifier-of-more-than-forty-three-letters.~_1";
pub(crate) const CALLBACK: &str = "https://scores.example/cb";

/// A registered app with its client id and secret.
#[derive(Clone)]
pub(crate) struct TestApp {
    pub(crate) app: App,
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
}

pub(crate) async fn register_app(w: &World, kind: Kind, uri: &str, scopes: &str) -> TestApp {
    let app = w.app(kind, uri, scopes).await;
    let id = app.id;
    let mut secret_text = None;
    if kind.is_confidential() {
        let scope = Scope::account(w.harbour, "test");
        let added = w.db().write(scope, move |tx| secret::add(tx, id)).await.unwrap();
        secret_text = Some(added.1.reveal().to_owned());
    }
    TestApp { app, id: id.to_string(), secret: secret_text }
}

pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes()))
}

pub(crate) fn encode_form(fields: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(fields);
    text.finish()
}

impl TestApp {
    /// The URL of a valid authorization request with some parameters replaced; `None` leaves one
    /// out.
    pub(crate) fn authorize_url(&self, changes: &[(&str, Option<&str>)]) -> String {
        let challenge = challenge(VERIFIER);
        let defaults = [
            ("response_type", "code"),
            ("client_id", self.id.as_str()),
            ("redirect_uri", self.app.redirect_uris.0[0].as_str()),
            ("scope", "teams:read"),
            ("state", "xyz"),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        let mut fields: Vec<_> = defaults
            .into_iter()
            .filter(|(name, _)| !changes.iter().any(|(n, _)| n == name))
            .collect();
        fields.extend(changes.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
        format!("/oauth/authorize?{}", encode_form(&fields))
    }

    /// Lets the user consent and returns the code.
    pub(crate) async fn obtain_code(
        &self,
        browser: &mut Browser,
        changes: &[(&str, Option<&str>)],
    ) -> String {
        let url = answer_consent(browser, &self.authorize_url(changes), "allow").await;
        query_parameter(&url, "code").unwrap_or_else(|| panic!("no code in {url}"))
    }

    /// Sends a token request, with the client secret if there is one.
    pub(crate) async fn request_token(&self, w: &World, fields: &[(&str, &str)]) -> TestResponse {
        let mut all = vec![("client_id", self.id.as_str())];
        all.extend(self.secret.as_deref().map(|secret| ("client_secret", secret)));
        all.extend(fields);
        post_form(&w.nobody, "/oauth/token", &all).await
    }

    pub(crate) async fn exchange(&self, w: &World, code: &str) -> TestResponse {
        let fields =
            [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
        self.request_token(w, &fields).await
    }

    pub(crate) async fn refresh(&self, w: &World, token: &str) -> TestResponse {
        self.request_token(w, &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// The first access and refresh token.
    pub(crate) async fn obtain_tokens(&self, w: &World, browser: &mut Browser) -> (String, String) {
        let code = self.obtain_code(browser, &[]).await;
        token_pair(&self.exchange(w, &code).await)
    }
}

/// Access and refresh token of a response.
#[track_caller]
pub(crate) fn token_pair(answer: &TestResponse) -> (String, String) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let text = |name: &str| answer.body[name].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}

/// Sends a form as an app does.
pub(crate) async fn post_form(
    client: &Client,
    path: &str,
    fields: &[(&str, &str)],
) -> TestResponse {
    let client = client.with_header("Content-Type", "application/x-www-form-urlencoded");
    client.page("POST", path, Some(&encode_form(fields))).await
}

/// Asserts an OAuth error response that is not cached.
#[track_caller]
pub(crate) fn assert_oauth_error(answer: &TestResponse, status: u16, error: &str) {
    assert_eq!(
        (answer.status, answer.body["error"].as_str()),
        (status, Some(error)),
        "{}",
        answer.text
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let description = answer.body["error_description"].as_str().unwrap();
    assert!(description.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\'));
}

/// Opens the consent page and answers it; returns the URL the user is redirected to.
pub(crate) async fn answer_consent(
    browser: &mut Browser,
    authorize_url: &str,
    answer: &str,
) -> String {
    let page = browser.get(authorize_url).await;
    assert_eq!(page.status, 303, "{}", page.text);
    let consent = page.header("location").unwrap().to_owned();
    assert!(consent.starts_with("/oauth/consent/tlrq_"), "{consent}");
    browser.get(&consent).await.ok();
    let sent = browser.post(&consent, &[("answer", answer)]).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    sent.header("location").unwrap().to_owned()
}

/// A query parameter of a URL.
pub(crate) fn query_parameter(url: &str, name: &str) -> Option<String> {
    let query = url.split_once('?')?.1;
    let mut matches = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
    let value = matches.next()?.1.into_owned();
    assert!(matches.next().is_none(), "{name} is repeated in {url}");
    Some(value)
}

/// The actions in the audit log, oldest first.
pub(crate) async fn audit_actions(w: &World) -> Vec<String> {
    let scope = Scope::account(w.harbour, "test");
    let read = w.db().read(scope, |db| -> Result<Vec<(String,)>, store::Error> {
        let text = "select action from audit_entry where account_id = :account order by position";
        db.all(text, store::bind! {})
    });
    read.await.unwrap().into_iter().map(|(action,)| action).collect()
}

pub(crate) fn bearer(w: &World, token: &str) -> Client {
    Client::new(w.node.address, Some(token))
}

both! {
    async fn public_app_completes_the_whole_flow(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read teams:write").await;
        let mut browser = w.anonymous_browser();
        let sent = browser.get(&app.authorize_url(&[])).await;
        let next = sent.header("location").unwrap().to_owned();
        assert!(next.starts_with("/sign-in?next=%2Foauth%2Fconsent%2Ftlrq_"), "{next}");
        let consent = query_parameter(&next, "next").unwrap();
        browser.get(&consent).await.redirects_to(&next);
        let mut browser = w.browser(ana.id).await;
        let page = browser.get(&consent).await.ok();
        for text in ["Scores", "Harbour", "scores.example", "See your teams", "ana@example.org", "90 days"] {
            assert!(page.text.contains(text), "{text}: {}", page.text);
        }
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.ends_with("form-action 'self' https://scores.example"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        let sent = browser.post(&consent, &[("answer", "allow")]).await;
        let url = sent.header("location").unwrap();
        assert!(url.starts_with("https://scores.example/cb?code=tlac_"), "{url}");
        assert_eq!(query_parameter(url, "state").as_deref(), Some("xyz"));
        assert_eq!(query_parameter(url, "iss").as_deref(), Some(w.node.app.base_url.as_str()));
        assert_eq!(sent.header("referrer-policy"), Some("no-referrer"));
        let tokens = app.exchange(w, &query_parameter(url, "code").unwrap()).await.ok();
        assert_eq!(tokens.body["token_type"], "Bearer");
        assert_eq!(tokens.body["expires_in"], 3600);
        assert_eq!(tokens.body["scope"], "teams:read");
        assert_eq!(tokens.header("cache-control"), Some("no-store"));
        let (access, refresh) = token_pair(&tokens);
        bearer(w, &access).get("/teams").await.ok();
        bearer(w, &access).get("/me").await.ok();
        let (renewed, _) = token_pair(&app.refresh(w, &refresh).await);
        bearer(w, &renewed).get("/teams").await.ok();
        let (_, last) = token_pair(&app.refresh(w, &refresh).await);
        let revoked = post_form(&w.nobody, "/oauth/revoke", &[("client_id", &app.id), ("token", &last)]).await;
        assert_eq!((revoked.status, revoked.text.as_str()), (200, "{}"));
        for token in [&access, &renewed] {
            bearer(w, token).get("/teams").await.assert_problem(401, "invalid_credentials");
        }
        assert_oauth_error(&app.refresh(w, &last).await, 400, "invalid_grant");
        let log = audit_actions(w).await;
        for action in ["oauth_consent.given", "oauth_grant.created", "oauth_grant.revoked"] {
            assert!(log.iter().any(|entry| entry == action), "{action}: {log:?}");
        }
    }

    async fn confidential_apps_skip_repeated_consent(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let no_pkce = [("code_challenge", None), ("code_challenge_method", None)];
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read events:read").await;
        let code = server.obtain_code(&mut browser, &no_pkce).await;
        let fields = [("grant_type", "authorization_code"), ("code", code.as_str())];
        server.request_token(w, &fields).await.ok();
        let second = browser.get(&server.authorize_url(&no_pkce)).await;
        let url = second.header("location").unwrap().to_owned();
        assert!(url.starts_with("https://scores.example/cb?code=tlac_"), "{url}");
        let code = query_parameter(&url, "code").unwrap();
        let fields = [("grant_type", "authorization_code"), ("code", code.as_str())];
        server.request_token(w, &fields).await.ok();
        let asks_for_consent = async |browser: &mut Browser, changes: &[(&str, Option<&str>)]| {
            let sent = browser.get(&server.authorize_url(changes)).await;
            sent.header("location").unwrap().starts_with("/oauth/consent/")
        };
        assert!(asks_for_consent(&mut browser, &[("prompt", Some("consent"))]).await);
        assert!(asks_for_consent(&mut browser, &[("scope", Some("teams:read events:read"))]).await, "the scope grew");
        let spa = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        spa.obtain_tokens(w, &mut browser).await;
        let sent = browser.get(&spa.authorize_url(&[])).await;
        assert!(sent.header("location").unwrap().starts_with("/oauth/consent/"));
        // After disconnecting the app, the user is asked again.
        let page = browser.get("/account/apps").await.ok().shows("Scores").shows("See your teams");
        assert!(page.text.contains(&format!("/account/apps/{}/revoke", server.id)));
        let path = format!("/account/apps/{}/revoke", server.id);
        browser.get(&path).await.ok().shows("signed out immediately");
        browser.post(&path, &[]).await.redirects_to("/account/apps?done");
        browser.get("/account/apps?done").await.ok().shows("The app was disconnected.");
        assert!(asks_for_consent(&mut browser, &no_pkce).await);
        let revoke_page = browser.get(&path).await;
        assert_eq!(revoke_page.status, 404, "{}", revoke_page.text);
    }

    async fn serves_authorization_server_metadata(w: &World) {
        let home = w.node.app.base_url.as_str().to_owned();
        for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
            let metadata = w.nobody.with_header("Origin", "https://spa.example").page("GET", path, None).await.ok();
            assert_eq!(metadata.header("content-type"), Some("application/json"));
            assert_eq!(metadata.header("access-control-allow-origin"), Some("*"));
            assert_eq!(metadata.header("access-control-allow-credentials"), None);
            assert_eq!(metadata.body["issuer"], home);
            assert!(!home.ends_with('/'));
            for name in ["authorization", "token", "revocation", "introspection"] {
                let address = metadata.body[format!("{name}_endpoint")].as_str().unwrap();
                assert!(address.starts_with(&format!("{home}/oauth/")), "{address}");
            }
            assert_eq!(metadata.body["code_challenge_methods_supported"], testkit::json!(["S256"]));
            assert_eq!(metadata.body["authorization_response_iss_parameter_supported"], true);
            let methods = testkit::json!(["none", "client_secret_post", "client_secret_basic"]);
            assert_eq!(metadata.body["token_endpoint_auth_methods_supported"], methods);
            assert_eq!(metadata.body["scopes_supported"].as_array().unwrap().len(), 12);
        }
    }

    async fn cors_allows_only_the_token_and_revocation_endpoints(w: &World) {
        let other = w.nobody.with_header("Origin", "https://spa.example");
        for path in ["/oauth/token", "/oauth/revoke"] {
            let preflight = other.with_header("Access-Control-Request-Method", "POST").page("OPTIONS", path, None).await;
            assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some("*")));
            let sent = post_form(&other, path, &[]).await;
            assert_eq!(sent.header("access-control-allow-origin"), Some("*"), "{path}");
            assert!(sent.header("access-control-expose-headers").unwrap().contains("www-authenticate"));
        }
        for path in ["/oauth/authorize", "/oauth/introspect", "/oauth/consent/x", "/account/apps"] {
            let preflight = other.with_header("Access-Control-Request-Method", "POST").page("OPTIONS", path, None).await;
            assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (405, None), "{path}");
            let sent = other.page("GET", path, None).await;
            assert_eq!(sent.header("access-control-allow-origin"), None, "{path}");
        }
        for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
            w.nobody.page("GET", path, None).await.assert_problem(405, "method_not_allowed");
        }
    }

    async fn deletes_expired_requests_codes_tokens_and_grants(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, refresh) = app.obtain_tokens(w, &mut browser).await;
        app.refresh(w, &refresh).await.ok();
        touchline::jobs::delete_expired_records(&w.node.app).await;
        let counts = async || {
            (w.count("oauth_request").await, w.count("oauth_code").await, w.count("oauth_token").await, w.count("oauth_grant").await)
        };
        assert_eq!(counts().await, (1, 1, 4, 1));
        w.advance_clock(seconds(2 * 86_400));
        touchline::jobs::delete_expired_records(&w.node.app).await;
        assert_eq!(counts().await, (0, 0, 2, 1));
        w.advance_clock(seconds(30 * 86_400));
        touchline::jobs::delete_expired_records(&w.node.app).await;
        assert_eq!(counts().await, (0, 0, 0, 1));
        w.advance_clock(seconds(90 * 86_400));
        touchline::jobs::delete_expired_records(&w.node.app).await;
        assert_eq!(counts().await, (0, 0, 0, 0));
    }
}
