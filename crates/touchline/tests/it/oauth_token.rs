//! Stories about exchanging a code: everything that it takes, once, by the app it was made for.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use store::Scope;
use testkit::{Answer, Browser, Client, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::oauth::app::{self, Kind};
use touchline::oauth::secret;

use crate::oauth_flow::{
    CALLBACK, Registered, VERIFIER, audited, bearer, challenge, pair, refused, registered, send,
};
use crate::signin_attacks::dump;

async fn ana(w: &World) -> Browser {
    let ana = w.user(Role::Owner, "ana@example.org").await;
    w.browser(ana.id).await
}

fn basic(client: &Client, id: &str, secret: &str) -> Client {
    client.with("Authorization", &format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))))
}

/// What an app sends.
type Fields<'a> = &'a [(&'a str, &'a str)];

both! {
    async fn a_request_for_tokens_is_read_strictly(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let other = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let code = app.code(&mut browser, &[]).await;
        let id = app.id.as_str();
        let rows: &[(Fields<'_>, u16, &str)] = &[
            (&[], 401, "invalid_client"),
            (&[("client_id", id)], 400, "invalid_request"),
            (&[("client_id", id), ("grant_type", "")], 400, "invalid_request"),
            (&[("client_id", id), ("grant_type", "password")], 400, "unsupported_grant_type"),
            (&[("client_id", id), ("grant_type", "client_credentials")], 400, "unsupported_grant_type"),
            (&[("client_id", id), ("grant_type", "implicit")], 400, "unsupported_grant_type"),
            (&[("client_id", id), ("client_id", id), ("grant_type", "refresh_token")], 400, "invalid_request"),
            (&[("client_id", id), ("grant_type", "authorization_code"), ("grant_type", "authorization_code")], 400, "invalid_request"),
            (&[("client_id", id), ("grant_type", "authorization_code")], 400, "invalid_request"),
            (&[("client_id", id), ("grant_type", "authorization_code"), ("code", "x")], 400, "invalid_grant"),
            (&[("client_id", id), ("grant_type", "authorization_code"), ("code", &code), ("code", &code)], 400, "invalid_request"),
            (&[("client_id", id), ("grant_type", "refresh_token")], 400, "invalid_request"),
            (&[("client_id", id), ("grant_type", "refresh_token"), ("refresh_token", "x")], 400, "invalid_grant"),
            (&[("client_id", id), ("grant_type", "refresh_token"), ("refresh_token", &code)], 400, "invalid_grant"),
            (&[("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)], 401, "invalid_client"),
            (&[("client_id", "app_nobody"), ("grant_type", "authorization_code"), ("code", &code)], 401, "invalid_client"),
            (&[("client_id", id), ("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER), ("resource", "https://else.example")], 400, "invalid_target"),
            (&[("client_id", id), ("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER), ("redirect_uri", "https://scores.example/cb/")], 400, "invalid_grant"),
            (&[("client_id", &other.id), ("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)], 400, "invalid_grant"),
        ];
        for (fields, status, error) in rows {
            let answer = send(&w.nobody, "/oauth/token", fields).await;
            refused(&answer, *status, error);
        }
        let json = w.nobody.page("POST", "/oauth/token", Some("{\"grant_type\":\"refresh_token\"}")).await;
        refused(&json, 400, "invalid_request");
        let large = send(&w.nobody, "/oauth/token", &[("client_id", id), ("padding", &"x".repeat(17_000))]).await;
        refused(&large, 413, "invalid_request");
        let packed = w.nobody.with("Content-Encoding", "gzip");
        refused(&send(&packed, "/oauth/token", &[("client_id", id)]).await, 400, "invalid_request");
        // In the query nothing is read, and none of all this has used the code up.
        let path = format!("/oauth/token?client_id={id}&grant_type=authorization_code&code={code}&code_verifier={VERIFIER}");
        refused(&send(&w.nobody, &path, &[]).await, 401, "invalid_client");
        let fields = [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", VERIFIER), ("redirect_uri", CALLBACK)];
        app.token(w, &fields).await.ok();
    }

    async fn the_verifier_fits_the_challenge(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Native, "http://127.0.0.1/cb", "teams:read").await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let (long, longer, short) = ("v".repeat(128), "v".repeat(129), "v".repeat(42));
        let other = "another-verifier-of-more-than-forty-three-letters";
        let odd = format!("{}+", "v".repeat(43));
        let rows: &[(&str, Option<&str>, Option<&str>)] = &[
            (VERIFIER, Some(VERIFIER), None),
            (&long, Some(&long), None),
            (VERIFIER, None, Some("invalid_grant")),
            (VERIFIER, Some(""), Some("invalid_grant")),
            (VERIFIER, Some(other), Some("invalid_grant")),
            (VERIFIER, Some(&challenge(VERIFIER)), Some("invalid_grant")),
            (&longer, Some(&longer), Some("invalid_grant")),
            (&short, Some(&short), Some("invalid_grant")),
            (&odd, Some(&odd), Some("invalid_grant")),
        ];
        for client in [&app, &server] {
            for (made_of, told, error) in rows {
                let challenge = challenge(made_of);
                let asked = [("code_challenge", Some(challenge.as_str())), ("prompt", Some("consent"))];
                let code = client.code(&mut browser, &asked).await;
                let mut fields = vec![("grant_type", "authorization_code"), ("code", code.as_str())];
                fields.extend(told.map(|verifier| ("code_verifier", verifier)));
                let answer = client.token(w, &fields).await;
                match error {
                    Some(error) => refused(&answer, 400, error),
                    None => drop(pair(&answer)),
                }
            }
        }
        let bare = [("code_challenge", None), ("code_challenge_method", None), ("prompt", Some("consent"))];
        let code = server.code(&mut browser, &bare).await;
        let fields = [("grant_type", "authorization_code"), ("code", code.as_str())];
        let more = [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", VERIFIER)];
        refused(&server.token(w, &more).await, 400, "invalid_request");
        pair(&server.token(w, &fields).await);
    }

    async fn an_app_proves_who_it_is(w: &World) {
        let mut browser = ana(w).await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let spa = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (id, right) = (server.id.as_str(), server.secret.clone().unwrap());
        let (_, refresh) = server.tokens(w, &mut browser).await;
        let (_, public) = spa.tokens(w, &mut browser).await;
        let wrong = format!("tlcs_{}", "a".repeat(49));
        let ask = async |client: &Client, refresh: &str, more: &[(&str, &str)]| {
            let mut fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh)];
            fields.extend(more);
            send(client, "/oauth/token", &fields).await
        };
        let no = &w.nobody;
        for more in [&[("client_id", id)][..], &[("client_id", id), ("client_secret", "")], &[("client_id", id), ("client_secret", &wrong)],
                     &[("client_id", id), ("client_secret", &right[1..])], &[("client_secret", &right)]] {
            let answer = ask(no, &refresh, more).await;
            refused(&answer, 401, "invalid_client");
            assert_eq!(answer.header("www-authenticate"), None);
        }
        w.pass(seconds(60));
        for told in ["", &wrong, "x"] {
            let answer = ask(&basic(no, id, told), &refresh, &[]).await;
            refused(&answer, 401, "invalid_client");
            assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"touchline\""));
        }
        // Two ways at once, or two names.
        refused(&ask(&basic(no, id, &right), &refresh, &[("client_id", id), ("client_secret", &right)]).await, 400, "invalid_request");
        refused(&ask(&basic(no, id, &right), &refresh, &[("client_id", &spa.id)]).await, 400, "invalid_request");
        for header in ["Bearer x", "Basic !!!", "Basic", "Basic bm9jb2xvbg=="] {
            refused(&ask(&no.with("Authorization", header), &refresh, &[]).await, 400, "invalid_request");
        }
        // An app without a secret has none.
        refused(&ask(no, &public, &[("client_id", &spa.id), ("client_secret", &right)]).await, 401, "invalid_client");
        refused(&ask(&basic(no, &spa.id, "x"), &public, &[]).await, 401, "invalid_client");
        let (_, public) = pair(&ask(&basic(no, &spa.id, ""), &public, &[]).await);
        pair(&ask(no, &public, &[("client_id", &spa.id)]).await);
        // Every right way: in the body, in the header, encoded as in a form.
        let (_, refresh) = pair(&ask(no, &refresh, &[("client_id", id), ("client_secret", &right)]).await);
        let (_, refresh) = pair(&ask(&basic(no, id, &right), &refresh, &[("client_id", id)]).await);
        let (_, refresh) = pair(&ask(&basic(no, &id.replace('_', "%5f"), &right.replace('_', "%5F")), &refresh, &[]).await);
        // Two secrets live; one that is revoked no longer does.
        let app = server.app.id;
        let scope = || Scope::account(w.harbour, "test");
        let (_, second) = w.db().write(scope(), move |tx| secret::add(tx, app)).await.unwrap();
        let (_, refresh) = pair(&ask(&basic(no, id, second.reveal()), &refresh, &[]).await);
        let (_, refresh) = pair(&ask(&basic(no, id, &right), &refresh, &[]).await);
        let first = w.db().read(scope(), move |db| secret::live(db, app)).await.unwrap()[0].clone();
        assert!(first.last_used_at.is_some());
        w.db().write(scope(), move |tx| secret::revoke(tx, app, first.id)).await.unwrap();
        refused(&ask(&basic(no, id, &right), &refresh, &[]).await, 401, "invalid_client");
        let (_, refresh) = pair(&ask(&basic(no, id, second.reveal()), &refresh, &[]).await);
        w.db().write(scope(), move |tx| app::disable(tx, app)).await.unwrap();
        refused(&ask(&basic(no, id, second.reveal()), &refresh, &[]).await, 401, "invalid_client");
    }

    async fn whoever_guesses_must_wait(w: &World) {
        let mut browser = ana(w).await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let (_, refresh) = server.tokens(w, &mut browser).await;
        let guess = async || {
            let fields = [("client_id", server.id.as_str()), ("client_secret", "guess"), ("grant_type", "refresh_token")];
            send(&w.nobody, "/oauth/token", &fields).await
        };
        for _ in 0..10 {
            refused(&guess().await, 401, "invalid_client");
        }
        let stopped = guess().await;
        refused(&stopped, 429, "slow_down");
        assert!(stopped.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
        let other = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        refused(&other.refresh(w, &refresh).await, 400, "invalid_grant");
        w.pass(seconds(60));
        pair(&server.refresh(w, &refresh).await);
        w.node.app.finish().await;
        assert!(audited(w).await.contains(&"oauth_client.throttled".to_owned()));
        // An app without a secret has a pace.
        let spa = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut last = 0;
        for _ in 0..61 {
            last = spa.refresh(w, "x").await.status;
        }
        assert_eq!(last, 429);
    }

    async fn unknown_clients_share_the_limit_of_their_address(w: &World) {
        let guess = async |number: u32| {
            let id = format!("app_{number:026}");
            let fields = [("client_id", id.as_str()), ("client_secret", "x"), ("grant_type", "refresh_token")];
            send(&w.nobody, "/oauth/token", &fields).await
        };
        for number in 0..10 {
            refused(&guess(number).await, 401, "invalid_client");
        }
        refused(&guess(10).await, 429, "slow_down");
        refused(&send(&w.nobody, "/oauth/revoke", &[("client_id", "made-up"), ("token", "x")]).await, 429, "slow_down");
        // A client that exists has a limit of its own.
        let mut browser = ana(w).await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        server.tokens(w, &mut browser).await;
        w.pass(seconds(6));
        refused(&guess(11).await, 401, "invalid_client");
    }

    async fn a_code_works_once_however_many_come(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let code = app.code(&mut browser, &[]).await;
        let address = w.node.address;
        let tries: Vec<_> = (0..50).map(|_| {
            let (app, code) = (app.clone(), code.clone());
            tokio::task::spawn(async move {
                let nobody = Client::new(address, None);
                let fields = [("client_id", app.id.as_str()), ("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
                send(&nobody, "/oauth/token", &fields).await
            })
        }).collect();
        let mut given = Vec::new();
        for one in tries {
            let answer: Answer = one.await.unwrap();
            if answer.status == 200 { given.push(pair(&answer)) } else { refused(&answer, 400, "invalid_grant") }
        }
        assert_eq!((given.len(), w.count("oauth_grant").await), (1, 1));
        // The others had everything it takes: somebody has stolen something.
        bearer(w, &given[0].0).get("/teams").await.refused(401, "invalid_credentials");
        assert_eq!(w.count("oauth_token").await, 0);
        assert!(audited(w).await.contains(&"oauth_code.replayed".to_owned()));
    }

    async fn only_who_has_everything_can_end_what_came_of_a_code(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let other = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let code = app.code(&mut browser, &[]).await;
        let (access, _) = pair(&app.exchange(w, &code).await);
        let replay = async |app: &Registered, more: &[(&str, &str)]| {
            let mut fields = vec![("grant_type", "authorization_code"), ("code", code.as_str())];
            fields.extend(more);
            app.token(w, &fields).await
        };
        refused(&replay(&app, &[]).await, 400, "invalid_grant");
        refused(&replay(&app, &[("code_verifier", "wrong-verifier-of-more-than-forty-three-letters")]).await, 400, "invalid_grant");
        refused(&replay(&app, &[("code_verifier", VERIFIER), ("redirect_uri", "https://evil.example")]).await, 400, "invalid_grant");
        refused(&replay(&other, &[("code_verifier", VERIFIER)]).await, 400, "invalid_grant");
        refused(&replay(&server, &[("code_verifier", VERIFIER)]).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.ok();
        w.pass(seconds(600));
        refused(&replay(&app, &[("code_verifier", VERIFIER)]).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.refused(401, "invalid_credentials");
        // One that was never used ends by itself.
        let code = app.code(&mut browser, &[]).await;
        w.pass(seconds(60));
        refused(&app.exchange(w, &code).await, 400, "invalid_grant");
    }

    async fn none_is_taken_for_another(w: &World) {
        let mut browser = ana(w).await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let (access, refresh) = server.tokens(w, &mut browser).await;
        let code = server.code(&mut browser, &[("prompt", Some("consent"))]).await;
        let secret = server.secret.clone().unwrap();
        let session = browser.cookie.clone().unwrap();
        let (_, key) = testkit::world::make_key(w.db(), w.harbour, testkit::world::new_key("teams:read")).await;
        for text in [&refresh, &code, &secret, &session, &server.id] {
            bearer(w, text).get("/teams").await.refused(401, "invalid_credentials");
        }
        for text in [&access, &code, &secret, &session, &key] {
            refused(&server.refresh(w, text).await, 400, "invalid_grant");
        }
        for text in [&access, &refresh, &secret, &session, &key] {
            refused(&server.exchange(w, text).await, 400, "invalid_grant");
        }
        for text in [&access, &refresh, &code, &session, &key] {
            let fields = [("client_id", server.id.as_str()), ("client_secret", text), ("grant_type", "refresh_token"), ("refresh_token", &refresh)];
            refused(&send(&w.nobody, "/oauth/token", &fields).await, 401, "invalid_client");
        }
        for text in [&access, &refresh, &code, &secret, &key] {
            let mut other = w.newcomer();
            other.cookie = Some(text.clone());
            let sent = other.get("/account/apps").await;
            assert!(sent.header("location").is_some_and(|place| place.starts_with("/sign-in")), "{}", sent.text);
        }
        // In the query a token is nothing, and a cookie opens no API.
        w.nobody.get(&format!("/teams?access_token={access}")).await.refused(401, "missing_credentials");
        let cookie = w.nobody.with("Cookie", &format!("__Host-touchline={session}"));
        cookie.get("/teams").await.refused(401, "missing_credentials");
        bearer(w, &access).get("/teams").await.ok();
    }

    async fn a_token_that_is_given_back_is_dead_and_a_strangers_is_not(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let (access, refresh) = app.tokens(w, &mut browser).await;
        let back = async |client: &Registered, fields: &[(&str, &str)]| {
            let mut all = vec![("client_id", client.id.as_str())];
            all.extend(client.secret.as_deref().map(|secret| ("client_secret", secret)));
            all.extend(fields);
            send(&w.nobody, "/oauth/revoke", &all).await
        };
        refused(&back(&app, &[]).await, 400, "invalid_request");
        refused(&send(&w.nobody, "/oauth/revoke", &[("token", &access)]).await, 401, "invalid_client");
        let bare = [("client_id", server.id.as_str()), ("token", &access)];
        refused(&send(&w.nobody, "/oauth/revoke", &bare).await, 401, "invalid_client");
        for token in ["nonsense", "tlat_x", &access[..53]] {
            let answer = back(&app, &[("token", token)]).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, "{}"));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        assert_eq!(back(&server, &[("token", &access)]).await.status, 200);
        assert_eq!(back(&server, &[("token", &refresh)]).await.status, 200);
        bearer(w, &access).get("/teams").await.ok();
        // An access token alone; the hint may be wrong or unknown.
        assert_eq!(back(&app, &[("token", &access), ("token_type_hint", "refresh_token")]).await.status, 200);
        bearer(w, &access).get("/teams").await.refused(401, "invalid_credentials");
        let (access, next) = pair(&app.refresh(w, &refresh).await);
        assert_eq!(back(&app, &[("token", &next), ("token_type_hint", "colour")]).await.status, 200);
        bearer(w, &access).get("/teams").await.refused(401, "invalid_credentials");
        assert_eq!(back(&app, &[("token", &next)]).await.status, 200, "twice is harmless");
        refused(&app.refresh(w, &next).await, 400, "invalid_grant");
    }

    async fn an_app_with_a_secret_can_look_at_its_own_tokens(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let (access, refresh) = server.tokens(w, &mut browser).await;
        let (foreign, _) = app.tokens(w, &mut browser).await;
        let look = async |token: &str| {
            let fields = [("client_id", server.id.as_str()), ("client_secret", server.secret.as_deref().unwrap()), ("token", token)];
            send(&w.nobody, "/oauth/introspect", &fields).await.ok()
        };
        let seen = look(&access).await;
        assert_eq!((&seen.body["active"], &seen.body["scope"]), (&true.into(), &"teams:read".into()));
        assert_eq!(seen.body["client_id"], server.id);
        assert_eq!(seen.body["exp"].as_i64().unwrap() - seen.body["iat"].as_i64().unwrap(), 3600);
        assert_eq!(seen.header("cache-control"), Some("no-store"));
        for token in [&refresh, &foreign, "nonsense", &server.id] {
            assert_eq!(look(token).await.text, "{\"active\":false}");
        }
        w.pass(seconds(3600));
        assert_eq!(look(&access).await.text, "{\"active\":false}");
        refused(&send(&w.nobody, "/oauth/introspect", &[("token", &access)]).await, 401, "invalid_client");
        let public = [("client_id", app.id.as_str()), ("token", &foreign)];
        refused(&send(&w.nobody, "/oauth/introspect", &public).await, 401, "invalid_client");
    }

    async fn no_secret_stands_in_the_database(w: &World) {
        let mut browser = ana(w).await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let code = server.code(&mut browser, &[]).await;
        let (access, refresh) = pair(&server.exchange(w, &code).await);
        let (renewed, next) = pair(&server.refresh(w, &refresh).await);
        let secret = server.secret.clone().unwrap();
        let canaries: Vec<_> = [code, access, refresh, renewed, next, secret, VERIFIER.to_owned()]
            .iter().map(|text| text[5..40].to_owned()).collect();
        let dump = dump(w.db()).await;
        assert!(dump.contains("oauth_grant"));
        assert_eq!(canaries.iter().filter(|canary| dump.contains(*canary)).count(), 0);
    }
}
