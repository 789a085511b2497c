//! Stories about the question an app asks: what leads back to it, what leads nowhere, and what neither.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use testkit::{Browser, World, both};
use touchline::accounts::user::Role;
use touchline::oauth::app::Kind;
use touchline::oauth::redirect::is_registered;

use crate::oauth_flow::{CALLBACK, answered, parameter, query, registered};

/// What the app is told, in the address it is sent to.
async fn told(browser: &mut Browser, question: &str) -> String {
    let sent = browser.get(question).await;
    assert_eq!(sent.status, 303, "{question}: {}", sent.text);
    assert_eq!(sent.header("cache-control"), Some("no-store"));
    sent.header("location").unwrap().to_owned()
}

/// What an app says otherwise than a good one would.
type Changes<'a> = &'a [(&'a str, Option<&'a str>)];

both! {
    async fn nobody_is_sent_anywhere_while_the_place_is_not_certain(w: &World) {
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let id = app.id.as_str();
        let ana = w.user(Role::Owner, "ana@example.org").await;
        for mut browser in [w.newcomer(), w.browser(ana.id).await] {
            let mut stops = async |question: String| {
                let page = browser.get(&question).await;
                assert_eq!((page.status, page.header("location")), (400, None), "{question}");
                assert!(page.text.contains("This app cannot connect"), "{}", page.text);
                let policy = page.header("content-security-policy").unwrap();
                assert!(policy.contains("frame-ancestors 'none'"));
                assert_eq!(page.header("x-frame-options"), Some("DENY"));
                assert_eq!(page.header("cache-control"), Some("no-store"));
                assert_eq!(page.header("access-control-allow-origin"), None);
            };
            stops("/oauth/authorize".to_owned()).await;
            let unknown = "app_01kbm2x5q8f7vr0n3hd9tzc4wy";
            let upper = id.to_uppercase();
            for client in [None, Some(""), Some("nobody"), Some(unknown), Some(upper.as_str()), Some("%00")] {
                stops(app.asks(&[("client_id", client)])).await;
            }
            stops(app.asks(&[]) + "&client_id=" + id).await;
            stops(app.asks(&[]) + "&redirect_uri=" + CALLBACK).await;
            stops(app.asks(&[]) + "&padding=" + &"x".repeat(8200)).await;
            for uri in ["https://evil.example/cb", "https://scores.example/cb/", "javascript:alert(1)",
                        "https://scores.example/cb#x", "https://a@scores.example/cb", "https://scores.example/cb\r\n"] {
                stops(app.asks(&[("redirect_uri", Some(uri))])).await;
            }
            let script = browser.get(&app.asks(&[("client_id", Some("<script>alert(1)</script>"))])).await;
            assert!(!script.text.contains("<script>alert"));
        }
        // With several addresses, the app must say which.
        let scope = store::Scope::account(w.harbour, "test");
        let (change, id) = (touchline::oauth::app::AppChange {
            redirect_uris: Some(vec![CALLBACK.to_owned(), "https://scores.example/two".to_owned()]),
            ..Default::default()
        }, app.app.id);
        let mut browser = w.newcomer();
        let alone = told(&mut browser, &app.asks(&[("redirect_uri", None)])).await;
        assert!(alone.starts_with("/sign-in?next="), "{alone}");
        let anything = touchline::expected::Expected::Anything;
        w.db().write(scope.clone(), move |tx| touchline::oauth::app::change(tx, id, change, &anything)).await.unwrap();
        assert_eq!(browser.get(&app.asks(&[("redirect_uri", None)])).await.status, 400);
        w.db().write(scope, move |tx| touchline::oauth::app::disable(tx, id)).await.unwrap();
        assert_eq!(browser.get(&app.asks(&[])).await.status, 400);
    }

    async fn every_other_fault_leads_back_with_a_word(w: &World) {
        let app = registered(w, Kind::Spa, "https://scores.example/cb?from=touchline", "teams:read").await;
        let server = registered(w, Kind::Server, CALLBACK, "events:read").await;
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
        let mut browser = w.newcomer();
        for (changes, error) in rows {
            let place = told(&mut browser, &app.asks(changes)).await;
            assert!(place.starts_with("https://scores.example/cb?from=touchline&error="), "{place}");
            assert_eq!(parameter(&place, "error").as_deref(), Some(*error), "{changes:?}");
            let described = parameter(&place, "error_description").unwrap();
            assert!(described.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\'), "{described}");
            assert_eq!(parameter(&place, "iss").as_deref(), Some(w.node.app.home.as_str()));
            let state = changes.iter().all(|(name, _)| *name != "state").then_some("xyz");
            assert_eq!(parameter(&place, "state").as_deref(), state, "{changes:?}");
        }
        let twice = told(&mut browser, &(app.asks(&[]) + "&state=abc")).await;
        assert_eq!(parameter(&twice, "error").as_deref(), Some("invalid_request"));
        assert_eq!(parameter(&twice, "state"), None, "which of the two would it be?");
        // The default scope is the least there is to read, as far as the app has it.
        let place = told(&mut browser, &server.asks(&[("scope", None)])).await;
        assert_eq!(parameter(&place, "error").as_deref(), Some("invalid_scope"));
        assert_eq!(w.count("oauth_request").await, 0);
    }

    async fn what_is_unknown_empty_or_ours_does_no_harm(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read events:read").await;
        let ours = format!("{}/api/public/v1", w.node.app.home.as_str());
        let rows: &[&[(&str, Option<&str>)]] = &[
            &[("nonce", Some("n")), ("max_age", Some("5")), ("utm_source", Some("a")), ("utm_source", Some("b"))],
            &[("prompt", Some("")), ("response_mode", Some("")), ("request", Some(""))],
            &[("response_mode", Some("query")), ("resource", Some(&ours))],
            &[("scope", None)],
            &[("scope", Some("teams:read  teams:read"))],
            &[("prompt", Some("consent"))],
        ];
        for changes in rows {
            let place = answered(&mut browser, &app.asks(changes), "allow").await;
            assert!(place.starts_with("https://scores.example/cb?code=tlac_"), "{changes:?} {place}");
        }
        let place = answered(&mut browser, &app.asks(&[("state", None)]), "deny").await;
        assert_eq!(parameter(&place, "state"), None);
        assert_eq!(parameter(&place, "error").as_deref(), Some("access_denied"));
    }

    async fn the_state_comes_back_to_the_byte(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let base = app.asks(&[("state", None)]);
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
                let place = answered(&mut browser, &format!("{base}&state={sent}"), answer).await;
                let state = place.split('&').find_map(|pair| pair.strip_prefix("state="));
                assert_eq!(state, Some(back), "{place}");
                assert!(parameter(&place, "iss").is_some());
            }
        }
    }

    async fn a_look_ahead_changes_nothing_and_pages_of_others_cannot_look(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        app.tokens(w, &mut browser).await;
        let before = (w.count("oauth_request").await, w.count("oauth_code").await);
        let cookie = format!("__Host-touchline={}", browser.cookie.clone().unwrap());
        let looking = w.nobody.with("Cookie", &cookie).with("Accept", "text/html");
        looking.page("HEAD", &app.asks(&[]), None).await.ok();
        let after = (w.count("oauth_request").await, w.count("oauth_code").await);
        assert_eq!(before, after);
        let posted = looking.with("Content-Type", "application/x-www-form-urlencoded");
        let posted = posted.page("POST", &app.asks(&[]), Some("a=b")).await;
        assert_eq!(posted.status, 405);
    }

    async fn silence_never_grants_the_unseen(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = registered(w, Kind::Server, CALLBACK, "teams:read events:read").await;
        let spa = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let silent = [("prompt", Some("none"))];
        let error = async |browser: &mut Browser, question: String| {
            parameter(&told(browser, &question).await, "error")
        };
        assert_eq!(error(&mut w.newcomer(), app.asks(&silent)).await.as_deref(), Some("login_required"));
        let mut browser = w.browser(ana.id).await;
        assert_eq!(error(&mut browser, app.asks(&silent)).await.as_deref(), Some("consent_required"));
        app.tokens(w, &mut browser).await;
        spa.tokens(w, &mut browser).await;
        let place = told(&mut browser, &app.asks(&silent)).await;
        assert!(parameter(&place, "code").is_some(), "{place}");
        let more = [("prompt", Some("none")), ("scope", Some("teams:read events:read"))];
        assert_eq!(error(&mut browser, app.asks(&more)).await.as_deref(), Some("consent_required"));
        assert_eq!(error(&mut browser, spa.asks(&silent)).await.as_deref(), Some("consent_required"));
        let other = testkit::world::make_account(w.db(), "Elsewhere", w.node.app.clock.now()).await;
        let eve = w.user_of(other, Role::Owner, "eve@example.org").await;
        let mut foreign = w.browser_at(eve.id, Some(other)).await;
        assert_eq!(error(&mut foreign, app.asks(&silent)).await.as_deref(), Some("access_denied"));
    }

    async fn whoever_must_prove_themselves_again_is_asked_for_it_first(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        w.pass(testkit::seconds(60));
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let page = told(&mut browser, &app.asks(&[("prompt", Some("login"))])).await;
        let first = browser.get(&page).await;
        assert!(first.header("location").unwrap().starts_with("/confirm?next=%2Foauth%2Fconsent%2F"));
        let posted = browser.post(&page, &[("answer", "allow")]).await;
        assert!(posted.header("location").unwrap().starts_with("/confirm?next="), "not by the back door either");
        // Signed in afresh, they are asked.
        let mut fresh = w.browser(ana.id).await;
        fresh.get(&page).await.ok().shows("wants to use");
    }

    async fn an_app_cannot_flood_us_with_questions(w: &World) {
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut browser = w.newcomer();
        let mut last = 303;
        for _ in 0..130 {
            last = browser.get(&app.asks(&[])).await.status;
        }
        assert_eq!((last, w.count("oauth_request").await), (429, 120));
        w.pass(testkit::seconds(60));
        assert_eq!(browser.get(&app.asks(&[])).await.status, 303);
    }
}

/// Addresses that look like one that was registered.
const STRANGE: [&str; 86] = [
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

/// Only what was registered, to the byte; a program on the user's own computer may choose its port.
#[test]
fn addresses_are_compared_to_the_byte() {
    let known = [
        "https://app.example/cb?x=1",
        "http://127.0.0.1/cb",
        "http://localhost:8787/cb",
        "http://[::1]/cb",
    ];
    let known: Vec<_> = known.iter().map(|uri| (*uri).to_owned()).collect();
    let good = [
        "https://app.example/cb?x=1",
        "http://127.0.0.1/cb",
        "http://localhost:8787/cb",
        "http://[::1]/cb",
    ];
    let by_port = [
        "http://127.0.0.1:1/cb",
        "http://127.0.0.1:65535/cb",
        "http://localhost/cb",
        "http://localhost:1234/cb",
        "http://[::1]:5000/cb",
    ];
    assert!(STRANGE.len() + good.len() + by_port.len() >= 80);
    for kind in [Kind::Native, Kind::Spa, Kind::Server] {
        assert!(good.iter().all(|uri| is_registered(&known, kind, uri)));
        for uri in by_port {
            assert_eq!(is_registered(&known, kind, uri), kind == Kind::Native, "{uri}");
        }
        for uri in STRANGE {
            assert!(!is_registered(&known, kind, uri), "{uri:?}");
        }
    }
}

proptest! {
    /// Whatever an address looks like: if it is let through, it is one of those registered but for digits.
    #[test]
    fn no_address_slips_through(uri in "(http|https)://(127\\.0\\.0\\.1|localhost|\\[::1\\]|[a-z.@:\\\\]{1,12})(:[0-9]{0,6})?(/cb|/[a-z%.;/\\\\?#]{0,8})?") {
        let known = ["http://127.0.0.1/cb".to_owned()];
        if is_registered(&known, Kind::Native, &uri) {
            let rest = uri.strip_prefix("http://127.0.0.1").unwrap().strip_suffix("/cb").unwrap();
            prop_assert!(rest.is_empty() || rest[1..].parse::<u16>().is_ok_and(|port| port > 0));
        }
    }
}

/// What apps ask, in any order and with anything in it.
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
    async fn whatever_is_asked_is_answered_and_leads_to_no_strange_place(w: &World) {
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for _ in 0..60 {
            let extra = pairs().new_tree(&mut runner).unwrap().current();
            let extra: Vec<_> = extra.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            for question in [app.asks(&[]) + "&" + &query(&extra), format!("/oauth/authorize?{}", query(&extra))] {
                let sent = w.newcomer().get(&question).await;
                assert!(matches!(sent.status, 303 | 400 | 429), "{} {question}", sent.status);
                if let Some(place) = sent.header("location") {
                    let known = place.starts_with("https://scores.example/cb?error=") || place.starts_with("/sign-in?next=");
                    assert!(known, "{question} leads to {place}");
                }
            }
        }
    }
}
