//! Tests of the authorization request: which errors redirect to the app and which show a page.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use testkit::{Browser, World, both};
use touchline::accounts::user::Role;
use touchline::oauth::app::Kind;
use touchline::oauth::redirect::is_registered;

use crate::oauth_flow::{CALLBACK, answer_consent, encode_form, query_parameter, register_app};

/// Where the browser is redirected.
async fn redirect_from(browser: &mut Browser, url: &str) -> String {
    let sent = browser.get(url).await;
    assert_eq!(sent.status, 303, "{url}: {}", sent.text);
    assert_eq!(sent.header("cache-control"), Some("no-store"));
    sent.header("location").unwrap().to_owned()
}

/// Parameters that differ from a valid request.
type Changes<'a> = &'a [(&'a str, Option<&'a str>)];

both! {
    async fn never_redirects_to_an_unverified_uri(w: &World) {
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let id = app.id.as_str();
        let ana = w.user(Role::Owner, "ana@example.org").await;
        for mut browser in [w.anonymous_browser(), w.browser(ana.id).await] {
            let mut assert_stops = async |url: String| {
                let page = browser.get(&url).await;
                assert_eq!((page.status, page.header("location")), (400, None), "{url}");
                assert!(page.text.contains("This app cannot connect"), "{}", page.text);
                let policy = page.header("content-security-policy").unwrap();
                assert!(policy.contains("frame-ancestors 'none'"));
                assert_eq!(page.header("x-frame-options"), Some("DENY"));
                assert_eq!(page.header("cache-control"), Some("no-store"));
                assert_eq!(page.header("access-control-allow-origin"), None);
            };
            assert_stops("/oauth/authorize".to_owned()).await;
            let unknown = "app_01kbm2x5q8f7vr0n3hd9tzc4wy";
            let upper = id.to_uppercase();
            for client in [None, Some(""), Some("nobody"), Some(unknown), Some(upper.as_str()), Some("%00")] {
                assert_stops(app.authorize_url(&[("client_id", client)])).await;
            }
            assert_stops(app.authorize_url(&[]) + "&client_id=" + id).await;
            assert_stops(app.authorize_url(&[]) + "&redirect_uri=" + CALLBACK).await;
            assert_stops(app.authorize_url(&[]) + "&padding=" + &"x".repeat(8200)).await;
            for uri in ["https://evil.example/cb", "https://scores.example/cb/", "javascript:alert(1)",
                        "https://scores.example/cb#x", "https://a@scores.example/cb", "https://scores.example/cb\r\n"] {
                assert_stops(app.authorize_url(&[("redirect_uri", Some(uri))])).await;
            }
            let script = browser.get(&app.authorize_url(&[("client_id", Some("<script>alert(1)</script>"))])).await;
            assert!(!script.text.contains("<script>alert"));
        }
        // With several redirect URIs, the app must name one.
        let scope = store::Scope::account(w.harbour, "test");
        let (change, id) = (touchline::oauth::app::AppChange {
            redirect_uris: Some(vec![CALLBACK.to_owned(), "https://scores.example/two".to_owned()]),
            ..Default::default()
        }, app.app.id);
        let mut browser = w.anonymous_browser();
        let redirect = redirect_from(&mut browser, &app.authorize_url(&[("redirect_uri", None)])).await;
        assert!(redirect.starts_with("/sign-in?next="), "{redirect}");
        let any_version = touchline::if_match::IfMatch::Absent;
        w.db().write(scope.clone(), move |tx| touchline::oauth::app::change(tx, id, change, &any_version)).await.unwrap();
        assert_eq!(browser.get(&app.authorize_url(&[("redirect_uri", None)])).await.status, 400);
        w.db().write(scope, move |tx| touchline::oauth::app::disable(tx, id)).await.unwrap();
        assert_eq!(browser.get(&app.authorize_url(&[])).await.status, 400);
    }

    async fn redirects_other_errors_to_the_app(w: &World) {
        let app = register_app(w, Kind::Spa, "https://scores.example/cb?from=touchline", "teams:read").await;
        let server = register_app(w, Kind::Server, CALLBACK, "events:read").await;
        let long = "x".repeat(2049);
        let (short, padded) = ("A".repeat(42), format!("{}=", "A".repeat(43)));
        let rows: &[(Changes<'_>, &str)] = &[
            (&[("response_type", None)], "invalid_request"),
            (&[("response_type", Some(""))], "invalid_request"),
            (&[("response_type", Some("token"))], "unsupported_response_type"),
            (&[("response_type", Some("code token"))], "unsupported_response_type"),
            (&[("response_mode", Some("fragment"))], "invalid_request"),
            (&[("response_mode", Some("form_post"))], "invalid_request"),
            (&[("code_challenge", None), ("code_challenge_method", None)], "invalid_request"),
            (&[("code_challenge", None)], "invalid_request"),
            (&[("code_challenge_method", None)], "invalid_request"),
            (&[("code_challenge_method", Some("plain"))], "invalid_request"),
            (&[("code_challenge_method", Some("s256"))], "invalid_request"),
            (&[("code_challenge_method", Some("S512"))], "invalid_request"),
            (&[("code_challenge", Some(&short))], "invalid_request"),
            (&[("code_challenge", Some(&padded))], "invalid_request"),
            (&[("code_challenge", Some("+/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))], "invalid_request"),
            (&[("scope", Some("teams:fly"))], "invalid_scope"),
            (&[("scope", Some("*"))], "invalid_scope"),
            (&[("scope", Some("teams:read,events:read"))], "invalid_scope"),
            (&[("scope", Some("teams:read events:read"))], "invalid_scope"),
            (&[("scope", Some("teams:read\tx"))], "invalid_scope"),
            (&[("resource", Some("https://elsewhere.example"))], "invalid_target"),
            (&[("resource", Some("nothing"))], "invalid_target"),
            (&[("prompt", Some("none"))], "login_required"),
            (&[("prompt", Some("none login"))], "invalid_request"),
            (&[("prompt", Some("maybe"))], "invalid_request"),
            (&[("request", Some("e30."))], "request_not_supported"),
            (&[("request_uri", Some("https://a.example"))], "request_uri_not_supported"),
            (&[("state", Some(&long))], "invalid_request"),
            (&[("scope", Some("teams:read")), ("scope", Some("teams:read"))], "invalid_request"),
            (&[("response_type", Some("code")), ("response_type", Some("code"))], "invalid_request"),
            (&[("code_challenge_method", Some("S256")), ("code_challenge_method", Some("plain"))], "invalid_request"),
        ];
        let mut browser = w.anonymous_browser();
        for (changes, error) in rows {
            let redirect = redirect_from(&mut browser, &app.authorize_url(changes)).await;
            assert!(redirect.starts_with("https://scores.example/cb?from=touchline&error="), "{redirect}");
            assert_eq!(query_parameter(&redirect, "error").as_deref(), Some(*error), "{changes:?}");
            let description = query_parameter(&redirect, "error_description").unwrap();
            assert!(description.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\'), "{description}");
            assert_eq!(query_parameter(&redirect, "iss").as_deref(), Some(w.node.app.base_url.as_str()));
            let state = changes.iter().all(|(name, _)| *name != "state").then_some("xyz");
            assert_eq!(query_parameter(&redirect, "state").as_deref(), state, "{changes:?}");
        }
        let redirect = redirect_from(&mut browser, &(app.authorize_url(&[]) + "&state=abc")).await;
        assert_eq!(query_parameter(&redirect, "error").as_deref(), Some("invalid_request"));
        assert_eq!(query_parameter(&redirect, "state"), None, "an ambiguous state is not returned");
        // The default scope is the smallest read scope that the app has.
        let redirect = redirect_from(&mut browser, &server.authorize_url(&[("scope", None)])).await;
        assert_eq!(query_parameter(&redirect, "error").as_deref(), Some("invalid_scope"));
        assert_eq!(w.count("oauth_request").await, 0);
    }

    async fn ignores_unknown_and_empty_parameters(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read events:read").await;
        let ours = format!("{}/api/public/v1", w.node.app.base_url.as_str());
        let rows: &[&[(&str, Option<&str>)]] = &[
            &[("nonce", Some("n")), ("max_age", Some("5")), ("utm_source", Some("a")), ("utm_source", Some("b"))],
            &[("prompt", Some("")), ("response_mode", Some("")), ("request", Some(""))],
            &[("response_mode", Some("query")), ("resource", Some(&ours))],
            &[("scope", None)],
            &[("scope", Some("teams:read  teams:read"))],
            &[("prompt", Some("consent"))],
        ];
        for changes in rows {
            let redirect = answer_consent(&mut browser, &app.authorize_url(changes), "allow").await;
            assert!(redirect.starts_with("https://scores.example/cb?code=tlac_"), "{changes:?} {redirect}");
        }
        let redirect = answer_consent(&mut browser, &app.authorize_url(&[("state", None)]), "deny").await;
        assert_eq!(query_parameter(&redirect, "state"), None);
        assert_eq!(query_parameter(&redirect, "error").as_deref(), Some("access_denied"));
    }

    async fn returns_the_state_byte_for_byte(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let base = app.authorize_url(&[("state", None)]);
        for (sent, back) in [
            ("a%20b", "a%20b"),
            ("a+b", "a%20b"),
            ("a%2Bb%26c%3Dd%23e%25", "a%2Bb%26c%3Dd%23e%25"),
            ("%3Cscript%3Ealert(1)%3C%2Fscript%3E", "%3Cscript%3Ealert%281%29%3C%2Fscript%3E"),
            ("%0D%0ALocation:%20https://evil.example", "%0D%0ALocation%3A%20https%3A%2F%2Fevil.example"),
            ("%FF%FE%00", "%FF%FE%00"),
            ("%E2%80%AE", "%E2%80%AE"),
            ("code%3Dx%26iss%3Dy", "code%3Dx%26iss%3Dy"),
        ] {
            for answer in ["allow", "deny"] {
                let redirect = answer_consent(&mut browser, &format!("{base}&state={sent}"), answer).await;
                let state = redirect.split('&').find_map(|pair| pair.strip_prefix("state="));
                assert_eq!(state, Some(back), "{redirect}");
                assert!(query_parameter(&redirect, "iss").is_some());
            }
        }
    }

    async fn head_request_changes_nothing_and_post_is_refused(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        app.obtain_tokens(w, &mut browser).await;
        let before = (w.count("oauth_request").await, w.count("oauth_code").await);
        let cookie = format!("__Host-touchline={}", browser.cookie.clone().unwrap());
        let client = w.nobody.with_header("Cookie", &cookie).with_header("Accept", "text/html");
        client.page("HEAD", &app.authorize_url(&[]), None).await.ok();
        let after = (w.count("oauth_request").await, w.count("oauth_code").await);
        assert_eq!(before, after);
        let posted = client.with_header("Content-Type", "application/x-www-form-urlencoded");
        let posted = posted.page("POST", &app.authorize_url(&[]), Some("a=b")).await;
        assert_eq!(posted.status, 405);
    }

    async fn prompt_none_never_grants_without_consent(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = register_app(w, Kind::Server, CALLBACK, "teams:read events:read").await;
        let spa = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let no_prompt = [("prompt", Some("none"))];
        let error = async |browser: &mut Browser, url: String| {
            query_parameter(&redirect_from(browser, &url).await, "error")
        };
        assert_eq!(error(&mut w.anonymous_browser(), app.authorize_url(&no_prompt)).await.as_deref(), Some("login_required"));
        let mut browser = w.browser(ana.id).await;
        assert_eq!(error(&mut browser, app.authorize_url(&no_prompt)).await.as_deref(), Some("consent_required"));
        app.obtain_tokens(w, &mut browser).await;
        spa.obtain_tokens(w, &mut browser).await;
        let redirect = redirect_from(&mut browser, &app.authorize_url(&no_prompt)).await;
        assert!(query_parameter(&redirect, "code").is_some(), "{redirect}");
        let wider_scope = [("prompt", Some("none")), ("scope", Some("teams:read events:read"))];
        assert_eq!(error(&mut browser, app.authorize_url(&wider_scope)).await.as_deref(), Some("consent_required"));
        assert_eq!(error(&mut browser, spa.authorize_url(&no_prompt)).await.as_deref(), Some("consent_required"));
        let other = testkit::world::make_account(w.db(), "Elsewhere", w.node.app.clock.now()).await;
        let eve = w.user_of(other, Role::Owner, "eve@example.org").await;
        let mut other_club = w.browser_at(eve.id, Some(other)).await;
        assert_eq!(error(&mut other_club, app.authorize_url(&no_prompt)).await.as_deref(), Some("access_denied"));
    }

    async fn prompt_login_requires_confirmation_first(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        w.advance_clock(testkit::seconds(60));
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let page = redirect_from(&mut browser, &app.authorize_url(&[("prompt", Some("login"))])).await;
        let first = browser.get(&page).await;
        assert!(first.header("location").unwrap().starts_with("/confirm?next=%2Foauth%2Fconsent%2F"));
        let posted = browser.post(&page, &[("answer", "allow")]).await;
        assert!(posted.header("location").unwrap().starts_with("/confirm?next="), "posting directly must not skip it");
        // After signing in again, the consent page is shown.
        let mut fresh = w.browser(ana.id).await;
        fresh.get(&page).await.ok().shows("wants to use");
    }

    async fn limits_authorization_requests(w: &World) {
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut browser = w.anonymous_browser();
        let mut last = 303;
        for _ in 0..130 {
            last = browser.get(&app.authorize_url(&[])).await.status;
        }
        assert_eq!((last, w.count("oauth_request").await), (429, 120));
        w.advance_clock(testkit::seconds(60));
        assert_eq!(browser.get(&app.authorize_url(&[])).await.status, 303);
    }
}

/// Redirect URIs that look like a registered one.
const LOOKALIKES: [&str; 86] = [
    "",
    " ",
    "https://app.example/cb",
    "https://app.example/cb?x=2",
    "https://app.example/cb?x=1&y=2",
    "https://app.example/cb?X=1",
    "https://app.example/cb/?x=1",
    "https://app.example/CB?x=1",
    "https://APP.example/cb?x=1",
    "HTTPS://app.example/cb?x=1",
    "http://app.example/cb?x=1",
    "https://app.example:443/cb?x=1",
    "https://app.example:8443/cb?x=1",
    "https://app.example/cb?x=1#",
    "https://app.example/cb?x=1#a",
    "https://app.example/cb%3Fx=1",
    "https://app.example/%63b?x=1",
    "https://app.example/./cb?x=1",
    "https://app.example/a/../cb?x=1",
    "https://app.example/%2e%2e/cb?x=1",
    "https://app.example/..;/cb?x=1",
    "https://app.example//cb?x=1",
    "https://app.example\\cb?x=1",
    "https://app.example/\\cb?x=1",
    "https://app.example@evil.example/cb?x=1",
    "https://a:b@app.example/cb?x=1",
    "https://app.example.evil.example/cb?x=1",
    "https://evil.example/app.example/cb?x=1",
    "https://evil.app.example/cb?x=1",
    "https://app.exampl/cb?x=1",
    "https://app.example./cb?x=1",
    "https://xn--pp-yja.example/cb?x=1",
    "https://\u{0430}pp.example/cb?x=1",
    "https://app.example/cb?x=1\u{0}",
    "https://app.example/cb?x=1\t",
    "\thttps://app.example/cb?x=1",
    "https://app.example/cb?x=1\r\n",
    "https://app.example/cb?x=1 ",
    "https:app.example/cb?x=1",
    "https:/app.example/cb?x=1",
    "//app.example/cb?x=1",
    "/cb?x=1",
    "javascript://app.example/%0aalert(1)",
    "data:text/html,x",
    "https://127.0.0.1/cb",
    "https://127.0.0.1:5000/cb",
    "http://127.0.0.1:/cb",
    "http://127.0.0.1:0/cb",
    "http://127.0.0.1:65536/cb",
    "http://127.0.0.1:+80/cb",
    "http://127.0.0.1:08/cb",
    "http://127.0.0.1: 80/cb",
    "http://127.0.0.1:80@evil.example/cb",
    "http://127.0.0.1:80:90/cb",
    "http://127.0.0.1:80/cb/",
    "http://127.0.0.1:80/cb?x=1",
    "http://127.0.0.1:80/cb#",
    "http://127.0.0.1:80/../cb",
    "http://127.0.0.1:80//cb",
    "http://127.0.0.1:80\\@evil.example/cb",
    "http://127.0.0.1.nip.io/cb",
    "http://127.0.0.1.evil.example:80/cb",
    "http://127.0.0.2/cb",
    "http://127.1/cb",
    "http://127.0.1/cb",
    "http://2130706433/cb",
    "http://0x7f000001/cb",
    "http://0177.0.0.1/cb",
    "http://0.0.0.0/cb",
    "http://[::ffff:127.0.0.1]/cb",
    "http://[0:0:0:0:0:0:0:1]/cb",
    "http://[::]/cb",
    "http://[::1%25lo]/cb",
    "http://[::1].evil.example/cb",
    "http://::1/cb",
    "http://localhost.evil.example/cb",
    "http://LOCALHOST/cb",
    "http://localhost:80/CB",
    "http://localhost/",
    "http://user@localhost/cb",
    "http://localhost%00.evil.example/cb",
    "http://local\u{0}host/cb",
    "http://127.0.0.1",
    "http://127.0.0.1:80",
    "http://127.0.0.1?cb",
    "ftp://127.0.0.1/cb",
];

/// Only registered URIs match, byte for byte; native apps may choose the port of a loopback URI.
#[test]
fn compares_redirect_uris_byte_for_byte() {
    let registered_uris = [
        "https://app.example/cb?x=1",
        "http://127.0.0.1/cb",
        "http://localhost:8787/cb",
        "http://[::1]/cb",
    ];
    let registered_uris: Vec<_> = registered_uris.iter().map(|uri| (*uri).to_owned()).collect();
    let valid = [
        "https://app.example/cb?x=1",
        "http://127.0.0.1/cb",
        "http://localhost:8787/cb",
        "http://[::1]/cb",
    ];
    let other_port = [
        "http://127.0.0.1:1/cb",
        "http://127.0.0.1:65535/cb",
        "http://localhost/cb",
        "http://localhost:1234/cb",
        "http://[::1]:5000/cb",
    ];
    assert!(LOOKALIKES.len() + valid.len() + other_port.len() >= 80);
    for kind in [Kind::Native, Kind::Spa, Kind::Server] {
        assert!(valid.iter().all(|uri| is_registered(&registered_uris, kind, uri)));
        for uri in other_port {
            assert_eq!(is_registered(&registered_uris, kind, uri), kind == Kind::Native, "{uri}");
        }
        for uri in LOOKALIKES {
            assert!(!is_registered(&registered_uris, kind, uri), "{uri:?}");
        }
    }
}

proptest! {
    /// A URI that passes differs from a registered one only in its port.
    #[test]
    fn only_the_port_of_a_loopback_uri_may_differ(uri in "(http|https)://(127\\.0\\.0\\.1|localhost|\\[::1\\]|[a-z.@:\\\\]{1,12})(:[0-9]{0,6})?(/cb|/[a-z%.;/\\\\?#]{0,8})?") {
        let registered_uris = ["http://127.0.0.1/cb".to_owned()];
        if is_registered(&registered_uris, Kind::Native, &uri) {
            let port_part = uri.strip_prefix("http://127.0.0.1").unwrap().strip_suffix("/cb").unwrap();
            prop_assert!(port_part.is_empty() || port_part[1..].parse::<u16>().is_ok_and(|port| port > 0));
        }
    }
}

/// Random authorization parameters, in any order.
fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![
        Just("client_id".to_owned()),
        Just("redirect_uri".to_owned()),
        Just("state".to_owned()),
        Just("scope".to_owned()),
        Just("response_type".to_owned()),
        Just("prompt".to_owned()),
        Just("code_challenge".to_owned()),
        "[a-z_]{0,8}",
    ];
    proptest::collection::vec((name, "\\PC{0,20}"), 0..8)
}

both! {
    async fn random_requests_never_redirect_elsewhere(w: &World) {
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for _ in 0..60 {
            let extra = pairs().new_tree(&mut runner).unwrap().current();
            let extra: Vec<_> = extra.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            for url in [app.authorize_url(&[]) + "&" + &encode_form(&extra), format!("/oauth/authorize?{}", encode_form(&extra))] {
                let sent = w.anonymous_browser().get(&url).await;
                assert!(matches!(sent.status, 303 | 400 | 429), "{} {url}", sent.status);
                if let Some(redirect) = sent.header("location") {
                    let is_known = redirect.starts_with("https://scores.example/cb?error=") || redirect.starts_with("/sign-in?next=");
                    assert!(is_known, "{url} leads to {redirect}");
                }
            }
        }
    }
}
