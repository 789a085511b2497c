//! Stories about an app from the first question to the last answer, and what the other stories about apps
//! need: a registered app, somebody who says yes, a form for tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::secret::sha256;
use store::Scope;
use testkit::{Answer, Browser, Client, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::oauth::app::{App, Kind};
use touchline::oauth::secret;

pub(crate) const VERIFIER: &str = "a-verifier-of-more-than-forty-three-letters.~_1";
pub(crate) const CALLBACK: &str = "https://scores.example/cb";

/// An app with all it needs to ask.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) app: App,
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
}

pub(crate) async fn registered(w: &World, kind: Kind, uri: &str, scopes: &str) -> Registered {
    let app = w.app(kind, uri, scopes).await;
    let id = app.id;
    let mut made = None;
    if kind.is_confidential() {
        let scope = Scope::account(w.harbour, "test");
        let added = w.db().write(scope, move |tx| secret::add(tx, id)).await.unwrap();
        made = Some(added.1.reveal().to_owned());
    }
    Registered { app, id: id.to_string(), secret: made }
}

pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes()))
}

pub(crate) fn query(fields: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(fields);
    text.finish()
}

impl Registered {
    /// The usual question with some parameters different; `None` leaves one out.
    pub(crate) fn asks(&self, changes: &[(&str, Option<&str>)]) -> String {
        let challenge = challenge(VERIFIER);
        let usual = [
            ("response_type", "code"),
            ("client_id", self.id.as_str()),
            ("redirect_uri", self.app.redirect_uris.0[0].as_str()),
            ("scope", "teams:read"),
            ("state", "xyz"),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        let mut fields: Vec<_> =
            usual.into_iter().filter(|(name, _)| !changes.iter().any(|(n, _)| n == name)).collect();
        fields.extend(changes.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
        format!("/oauth/authorize?{}", query(&fields))
    }

    /// The user says yes; the code that the app is sent.
    pub(crate) async fn code(
        &self,
        browser: &mut Browser,
        changes: &[(&str, Option<&str>)],
    ) -> String {
        let place = answered(browser, &self.asks(changes), "allow").await;
        parameter(&place, "code").unwrap_or_else(|| panic!("no code in {place}"))
    }

    /// Asks for tokens, with the secret if there is one.
    pub(crate) async fn token(&self, w: &World, fields: &[(&str, &str)]) -> Answer {
        let mut all = vec![("client_id", self.id.as_str())];
        all.extend(self.secret.as_deref().map(|secret| ("client_secret", secret)));
        all.extend(fields);
        send(&w.nobody, "/oauth/token", &all).await
    }

    pub(crate) async fn exchange(&self, w: &World, code: &str) -> Answer {
        let fields =
            [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
        self.token(w, &fields).await
    }

    pub(crate) async fn refresh(&self, w: &World, token: &str) -> Answer {
        self.token(w, &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// The first two tokens: access, refresh.
    pub(crate) async fn tokens(&self, w: &World, browser: &mut Browser) -> (String, String) {
        let code = self.code(browser, &[]).await;
        pair(&self.exchange(w, &code).await)
    }
}

/// Access and refresh token of an answer.
#[track_caller]
pub(crate) fn pair(answer: &Answer) -> (String, String) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let text = |name: &str| answer.body[name].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}

/// Sends a form as an app does.
pub(crate) async fn send(client: &Client, path: &str, fields: &[(&str, &str)]) -> Answer {
    let client = client.with("Content-Type", "application/x-www-form-urlencoded");
    client.page("POST", path, Some(&query(fields))).await
}

/// It was refused in the words of the standard, and nobody keeps the answer.
#[track_caller]
pub(crate) fn refused(answer: &Answer, status: u16, error: &str) {
    assert_eq!(
        (answer.status, answer.body["error"].as_str()),
        (status, Some(error)),
        "{}",
        answer.text
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let described = answer.body["error_description"].as_str().unwrap();
    assert!(described.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\'));
}

/// Opens the question and answers it; where the app's user is sent.
pub(crate) async fn answered(browser: &mut Browser, question: &str, answer: &str) -> String {
    let page = browser.get(question).await;
    assert_eq!(page.status, 303, "{}", page.text);
    let consent = page.header("location").unwrap().to_owned();
    assert!(consent.starts_with("/oauth/consent/tlrq_"), "{consent}");
    browser.get(&consent).await.ok();
    let sent = browser.post(&consent, &[("answer", answer)]).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    sent.header("location").unwrap().to_owned()
}

/// A parameter of an address.
pub(crate) fn parameter(place: &str, name: &str) -> Option<String> {
    let query = place.split_once('?')?.1;
    let mut found = form_urlencoded::parse(query.as_bytes()).filter(|(known, _)| known == name);
    let value = found.next()?.1.into_owned();
    assert!(found.next().is_none(), "{name} stands twice in {place}");
    Some(value)
}

/// What the audit log says was done, oldest first.
pub(crate) async fn audited(w: &World) -> Vec<String> {
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
    async fn a_public_app_goes_all_the_way(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read teams:write").await;
        let mut browser = w.newcomer();
        let sent = browser.get(&app.asks(&[])).await;
        let next = sent.header("location").unwrap().to_owned();
        assert!(next.starts_with("/sign-in?next=%2Foauth%2Fconsent%2Ftlrq_"), "{next}");
        let consent = parameter(&next, "next").unwrap();
        browser.get(&consent).await.leads_to(&next);
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
        let place = sent.header("location").unwrap();
        assert!(place.starts_with("https://scores.example/cb?code=tlac_"), "{place}");
        assert_eq!(parameter(place, "state").as_deref(), Some("xyz"));
        assert_eq!(parameter(place, "iss").as_deref(), Some(w.node.app.home.as_str()));
        assert_eq!(sent.header("referrer-policy"), Some("no-referrer"));
        let given = app.exchange(w, &parameter(place, "code").unwrap()).await.ok();
        assert_eq!(given.body["token_type"], "Bearer");
        assert_eq!(given.body["expires_in"], 3600);
        assert_eq!(given.body["scope"], "teams:read");
        assert_eq!(given.header("cache-control"), Some("no-store"));
        let (access, refresh) = pair(&given);
        bearer(w, &access).get("/teams").await.ok();
        bearer(w, &access).get("/me").await.ok();
        let (renewed, _) = pair(&app.refresh(w, &refresh).await);
        bearer(w, &renewed).get("/teams").await.ok();
        let (_, last) = pair(&app.refresh(w, &refresh).await);
        let back = send(&w.nobody, "/oauth/revoke", &[("client_id", &app.id), ("token", &last)]).await;
        assert_eq!((back.status, back.text.as_str()), (200, "{}"));
        for token in [&access, &renewed] {
            bearer(w, token).get("/teams").await.refused(401, "invalid_credentials");
        }
        refused(&app.refresh(w, &last).await, 400, "invalid_grant");
        let log = audited(w).await;
        for action in ["oauth_consent.given", "oauth_grant.created", "oauth_grant.revoked"] {
            assert!(log.iter().any(|known| known == action), "{action}: {log:?}");
        }
    }

    async fn an_app_with_a_secret_is_not_asked_twice_and_one_without_always(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let bare = [("code_challenge", None), ("code_challenge_method", None)];
        let server = registered(w, Kind::Server, CALLBACK, "teams:read events:read").await;
        let code = server.code(&mut browser, &bare).await;
        let fields = [("grant_type", "authorization_code"), ("code", code.as_str())];
        server.token(w, &fields).await.ok();
        let again = browser.get(&server.asks(&bare)).await;
        let place = again.header("location").unwrap().to_owned();
        assert!(place.starts_with("https://scores.example/cb?code=tlac_"), "{place}");
        let code = parameter(&place, "code").unwrap();
        let fields = [("grant_type", "authorization_code"), ("code", code.as_str())];
        server.token(w, &fields).await.ok();
        let asked = async |browser: &mut Browser, changes: &[(&str, Option<&str>)]| {
            let sent = browser.get(&server.asks(changes)).await;
            sent.header("location").unwrap().starts_with("/oauth/consent/")
        };
        assert!(asked(&mut browser, &[("prompt", Some("consent"))]).await);
        assert!(asked(&mut browser, &[("scope", Some("teams:read events:read"))]).await, "it grew");
        let spa = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        spa.tokens(w, &mut browser).await;
        let sent = browser.get(&spa.asks(&[])).await;
        assert!(sent.header("location").unwrap().starts_with("/oauth/consent/"));
        // Whoever takes it back is asked again.
        let page = browser.get("/account/apps").await.ok().shows("Scores").shows("See your teams");
        assert!(page.text.contains(&format!("/account/apps/{}/revoke", server.id)));
        let path = format!("/account/apps/{}/revoke", server.id);
        browser.get(&path).await.ok().shows("signed out at once");
        browser.post(&path, &[]).await.leads_to("/account/apps?done");
        browser.get("/account/apps?done").await.ok().shows("The app is disconnected.");
        assert!(asked(&mut browser, &bare).await);
        let left = browser.get(&path).await;
        assert_eq!(left.status, 404, "{}", left.text);
    }

    async fn what_there_is_can_be_found_out(w: &World) {
        let home = w.node.app.home.as_str().to_owned();
        for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
            let known = w.nobody.with("Origin", "https://spa.example").page("GET", path, None).await.ok();
            assert_eq!(known.header("content-type"), Some("application/json"));
            assert_eq!(known.header("access-control-allow-origin"), Some("*"));
            assert_eq!(known.header("access-control-allow-credentials"), None);
            assert_eq!(known.body["issuer"], home);
            assert!(!home.ends_with('/'));
            for name in ["authorization", "token", "revocation", "introspection"] {
                let address = known.body[format!("{name}_endpoint")].as_str().unwrap();
                assert!(address.starts_with(&format!("{home}/oauth/")), "{address}");
            }
            assert_eq!(known.body["code_challenge_methods_supported"], testkit::json!(["S256"]));
            assert_eq!(known.body["authorization_response_iss_parameter_supported"], true);
            let ways = testkit::json!(["none", "client_secret_post", "client_secret_basic"]);
            assert_eq!(known.body["token_endpoint_auth_methods_supported"], ways);
            assert_eq!(known.body["scopes_supported"].as_array().unwrap().len(), 12);
        }
    }

    async fn pages_of_other_origins_get_tokens_but_never_ask_in_our_place(w: &World) {
        let other = w.nobody.with("Origin", "https://spa.example");
        for path in ["/oauth/token", "/oauth/revoke"] {
            let asked = other.with("Access-Control-Request-Method", "POST").page("OPTIONS", path, None).await;
            assert_eq!((asked.status, asked.header("access-control-allow-origin")), (204, Some("*")));
            let sent = send(&other, path, &[]).await;
            assert_eq!(sent.header("access-control-allow-origin"), Some("*"), "{path}");
            assert!(sent.header("access-control-expose-headers").unwrap().contains("www-authenticate"));
        }
        for path in ["/oauth/authorize", "/oauth/introspect", "/oauth/consent/x", "/account/apps"] {
            let asked = other.with("Access-Control-Request-Method", "POST").page("OPTIONS", path, None).await;
            assert_eq!((asked.status, asked.header("access-control-allow-origin")), (405, None), "{path}");
            let sent = other.page("GET", path, None).await;
            assert_eq!(sent.header("access-control-allow-origin"), None, "{path}");
        }
        for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
            w.nobody.page("GET", path, None).await.refused(405, "method_not_allowed");
        }
    }

    async fn what_apps_no_longer_need_is_forgotten(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, refresh) = app.tokens(w, &mut browser).await;
        app.refresh(w, &refresh).await.ok();
        touchline::jobs::forget_what_ended(&w.node.app).await;
        let counts = async || {
            (w.count("oauth_request").await, w.count("oauth_code").await, w.count("oauth_token").await, w.count("oauth_grant").await)
        };
        assert_eq!(counts().await, (1, 1, 4, 1));
        w.pass(seconds(2 * 86_400));
        touchline::jobs::forget_what_ended(&w.node.app).await;
        assert_eq!(counts().await, (0, 0, 2, 1));
        w.pass(seconds(30 * 86_400));
        touchline::jobs::forget_what_ended(&w.node.app).await;
        assert_eq!(counts().await, (0, 0, 0, 1));
        w.pass(seconds(90 * 86_400));
        touchline::jobs::forget_what_ended(&w.node.app).await;
        assert_eq!(counts().await, (0, 0, 0, 0));
    }
}
