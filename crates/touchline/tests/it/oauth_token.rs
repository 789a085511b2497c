//! Tests of the token endpoint: code exchange, client authentication, revocation and introspection.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use store::Scope;
use testkit::{Browser, Client, TestResponse, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::oauth::app::{self, Kind};
use touchline::oauth::secret;

use crate::oauth_flow::{
    CALLBACK, TestApp, VERIFIER, assert_oauth_error, audit_actions, bearer, challenge, post_form,
    register_app, token_pair,
};
use crate::signin_attacks::dump;

async fn ana(w: &World) -> Browser {
    let ana = w.user(Role::Owner, "ana@example.org").await;
    w.browser(ana.id).await
}

fn basic(client: &Client, id: &str, secret: &str) -> Client {
    client.with_header(
        "Authorization",
        &format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))),
    )
}

/// Form fields of a token request.
type Fields<'a> = &'a [(&'a str, &'a str)];

both! {
    async fn rejects_invalid_token_requests(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let other = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let code = app.obtain_code(&mut browser, &[]).await;
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
            let answer = post_form(&w.nobody, "/oauth/token", fields).await;
            assert_oauth_error(&answer, *status, error);
        }
        let json = w.nobody.page("POST", "/oauth/token", Some("{\"grant_type\":\"refresh_token\"}")).await;
        assert_oauth_error(&json, 400, "invalid_request");
        let large = post_form(&w.nobody, "/oauth/token", &[("client_id", id), ("padding", &"x".repeat(17_000))]).await;
        assert_oauth_error(&large, 413, "invalid_request");
        let compressed = w.nobody.with_header("Content-Encoding", "gzip");
        assert_oauth_error(&post_form(&compressed, "/oauth/token", &[("client_id", id)]).await, 400, "invalid_request");
        // Query parameters are ignored, and none of these attempts has used the code.
        let path = format!("/oauth/token?client_id={id}&grant_type=authorization_code&code={code}&code_verifier={VERIFIER}");
        assert_oauth_error(&post_form(&w.nobody, &path, &[]).await, 401, "invalid_client");
        let fields = [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", VERIFIER), ("redirect_uri", CALLBACK)];
        app.request_token(w, &fields).await.ok();
    }

    async fn verifier_must_match_the_challenge(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Native, "http://127.0.0.1/cb", "teams:read").await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
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
            for (challenge_source, verifier, error) in rows {
                let challenge = challenge(challenge_source);
                let parameters = [("code_challenge", Some(challenge.as_str())), ("prompt", Some("consent"))];
                let code = client.obtain_code(&mut browser, &parameters).await;
                let mut fields = vec![("grant_type", "authorization_code"), ("code", code.as_str())];
                fields.extend(verifier.map(|text| ("code_verifier", text)));
                let answer = client.request_token(w, &fields).await;
                match error {
                    Some(error) => assert_oauth_error(&answer, 400, error),
                    None => drop(token_pair(&answer)),
                }
            }
        }
        let no_pkce = [("code_challenge", None), ("code_challenge_method", None), ("prompt", Some("consent"))];
        let code = server.obtain_code(&mut browser, &no_pkce).await;
        let fields = [("grant_type", "authorization_code"), ("code", code.as_str())];
        let with_verifier = [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", VERIFIER)];
        assert_oauth_error(&server.request_token(w, &with_verifier).await, 400, "invalid_request");
        token_pair(&server.request_token(w, &fields).await);
    }

    async fn authenticates_clients(w: &World) {
        let mut browser = ana(w).await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let spa = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (id, secret_text) = (server.id.as_str(), server.secret.clone().unwrap());
        let (_, refresh) = server.obtain_tokens(w, &mut browser).await;
        let (_, public) = spa.obtain_tokens(w, &mut browser).await;
        let wrong = format!("tlcs_{}", "a".repeat(49));
        let refresh_with = async |client: &Client, refresh: &str, credentials: &[(&str, &str)]| {
            let mut fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh)];
            fields.extend(credentials);
            post_form(client, "/oauth/token", &fields).await
        };
        let nobody = &w.nobody;
        for credentials in [&[("client_id", id)][..], &[("client_id", id), ("client_secret", "")], &[("client_id", id), ("client_secret", &wrong)],
                     &[("client_id", id), ("client_secret", &secret_text[1..])], &[("client_secret", &secret_text)]] {
            let answer = refresh_with(nobody, &refresh, credentials).await;
            assert_oauth_error(&answer, 401, "invalid_client");
            assert_eq!(answer.header("www-authenticate"), None);
        }
        w.advance_clock(seconds(60));
        for guess in ["", &wrong, "x"] {
            let answer = refresh_with(&basic(nobody, id, guess), &refresh, &[]).await;
            assert_oauth_error(&answer, 401, "invalid_client");
            assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"touchline\""));
        }
        // Two authentication methods, or two client ids.
        assert_oauth_error(&refresh_with(&basic(nobody, id, &secret_text), &refresh, &[("client_id", id), ("client_secret", &secret_text)]).await, 400, "invalid_request");
        assert_oauth_error(&refresh_with(&basic(nobody, id, &secret_text), &refresh, &[("client_id", &spa.id)]).await, 400, "invalid_request");
        for header in ["Bearer x", "Basic !!!", "Basic", "Basic bm9jb2xvbg=="] {
            assert_oauth_error(&refresh_with(&nobody.with_header("Authorization", header), &refresh, &[]).await, 400, "invalid_request");
        }
        // A public app has no secret.
        assert_oauth_error(&refresh_with(nobody, &public, &[("client_id", &spa.id), ("client_secret", &secret_text)]).await, 401, "invalid_client");
        assert_oauth_error(&refresh_with(&basic(nobody, &spa.id, "x"), &public, &[]).await, 401, "invalid_client");
        let (_, public) = token_pair(&refresh_with(&basic(nobody, &spa.id, ""), &public, &[]).await);
        token_pair(&refresh_with(nobody, &public, &[("client_id", &spa.id)]).await);
        // All valid methods: in the body, in the header, and form-encoded in the header.
        let (_, refresh) = token_pair(&refresh_with(nobody, &refresh, &[("client_id", id), ("client_secret", &secret_text)]).await);
        let (_, refresh) = token_pair(&refresh_with(&basic(nobody, id, &secret_text), &refresh, &[("client_id", id)]).await);
        let (_, refresh) = token_pair(&refresh_with(&basic(nobody, &id.replace('_', "%5f"), &secret_text.replace('_', "%5F")), &refresh, &[]).await);
        // Two secrets are valid; a revoked one is not.
        let app = server.app.id;
        let scope = || Scope::account(w.harbour, "test");
        let (_, second) = w.db().write(scope(), move |tx| secret::add(tx, app)).await.unwrap();
        let (_, refresh) = token_pair(&refresh_with(&basic(nobody, id, second.reveal()), &refresh, &[]).await);
        let (_, refresh) = token_pair(&refresh_with(&basic(nobody, id, &secret_text), &refresh, &[]).await);
        let first = w.db().read(scope(), move |db| secret::list_active(db, app)).await.unwrap()[0].clone();
        assert!(first.last_used_at.is_some());
        w.db().write(scope(), move |tx| secret::revoke(tx, app, first.id)).await.unwrap();
        assert_oauth_error(&refresh_with(&basic(nobody, id, &secret_text), &refresh, &[]).await, 401, "invalid_client");
        let (_, refresh) = token_pair(&refresh_with(&basic(nobody, id, second.reveal()), &refresh, &[]).await);
        w.db().write(scope(), move |tx| app::disable(tx, app)).await.unwrap();
        assert_oauth_error(&refresh_with(&basic(nobody, id, second.reveal()), &refresh, &[]).await, 401, "invalid_client");
    }

    async fn throttles_guessed_secrets(w: &World) {
        let mut browser = ana(w).await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let (_, refresh) = server.obtain_tokens(w, &mut browser).await;
        let guess = async || {
            let fields = [("client_id", server.id.as_str()), ("client_secret", "guess"), ("grant_type", "refresh_token")];
            post_form(&w.nobody, "/oauth/token", &fields).await
        };
        for _ in 0..10 {
            assert_oauth_error(&guess().await, 401, "invalid_client");
        }
        let stopped = guess().await;
        assert_oauth_error(&stopped, 429, "slow_down");
        assert!(stopped.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
        let other = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        assert_oauth_error(&other.refresh(w, &refresh).await, 400, "invalid_grant");
        w.advance_clock(seconds(60));
        token_pair(&server.refresh(w, &refresh).await);
        w.node.app.finish().await;
        assert!(audit_actions(w).await.contains(&"oauth_client.throttled".to_owned()));
        // Public apps are rate limited.
        let spa = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
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
            post_form(&w.nobody, "/oauth/token", &fields).await
        };
        for number in 0..10 {
            assert_oauth_error(&guess(number).await, 401, "invalid_client");
        }
        assert_oauth_error(&guess(10).await, 429, "slow_down");
        assert_oauth_error(&post_form(&w.nobody, "/oauth/revoke", &[("client_id", "made-up"), ("token", "x")]).await, 429, "slow_down");
        // An existing client has its own limit.
        let mut browser = ana(w).await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        server.obtain_tokens(w, &mut browser).await;
        w.advance_clock(seconds(6));
        assert_oauth_error(&guess(11).await, 401, "invalid_client");
    }

    async fn code_works_once_under_concurrency(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let code = app.obtain_code(&mut browser, &[]).await;
        let address = w.node.address;
        let tasks: Vec<_> = (0..50).map(|_| {
            let (app, code) = (app.clone(), code.clone());
            tokio::task::spawn(async move {
                let nobody = Client::new(address, None);
                let fields = [("client_id", app.id.as_str()), ("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
                post_form(&nobody, "/oauth/token", &fields).await
            })
        }).collect();
        let mut pairs = Vec::new();
        for task in tasks {
            let answer: TestResponse = task.await.unwrap();
            if answer.status == 200 { pairs.push(token_pair(&answer)) } else { assert_oauth_error(&answer, 400, "invalid_grant") }
        }
        assert_eq!((pairs.len(), w.count("oauth_grant").await), (1, 1));
        // The other requests were valid too, which means that the code was stolen.
        bearer(w, &pairs[0].0).get("/teams").await.assert_problem(401, "invalid_credentials");
        assert_eq!(w.count("oauth_token").await, 0);
        assert!(audit_actions(w).await.contains(&"oauth_code.replayed".to_owned()));
    }

    async fn only_a_valid_replay_revokes_the_grant(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let other = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let code = app.obtain_code(&mut browser, &[]).await;
        let (access, _) = token_pair(&app.exchange(w, &code).await);
        let replay = async |app: &TestApp, extra: &[(&str, &str)]| {
            let mut fields = vec![("grant_type", "authorization_code"), ("code", code.as_str())];
            fields.extend(extra);
            app.request_token(w, &fields).await
        };
        assert_oauth_error(&replay(&app, &[]).await, 400, "invalid_grant");
        assert_oauth_error(&replay(&app, &[("code_verifier", "wrong-verifier-of-more-than-forty-three-letters")]).await, 400, "invalid_grant");
        assert_oauth_error(&replay(&app, &[("code_verifier", VERIFIER), ("redirect_uri", "https://evil.example")]).await, 400, "invalid_grant");
        assert_oauth_error(&replay(&other, &[("code_verifier", VERIFIER)]).await, 400, "invalid_grant");
        assert_oauth_error(&replay(&server, &[("code_verifier", VERIFIER)]).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.ok();
        w.advance_clock(seconds(600));
        assert_oauth_error(&replay(&app, &[("code_verifier", VERIFIER)]).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.assert_problem(401, "invalid_credentials");
        // An unused code expires.
        let code = app.obtain_code(&mut browser, &[]).await;
        w.advance_clock(seconds(60));
        assert_oauth_error(&app.exchange(w, &code).await, 400, "invalid_grant");
    }

    async fn credential_types_are_not_interchangeable(w: &World) {
        let mut browser = ana(w).await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let (access, refresh) = server.obtain_tokens(w, &mut browser).await;
        let code = server.obtain_code(&mut browser, &[("prompt", Some("consent"))]).await;
        let secret = server.secret.clone().unwrap();
        let session = browser.cookie.clone().unwrap();
        let (_, key) = testkit::world::make_key(w.db(), w.harbour, testkit::world::new_key("teams:read")).await;
        for text in [&refresh, &code, &secret, &session, &server.id] {
            bearer(w, text).get("/teams").await.assert_problem(401, "invalid_credentials");
        }
        for text in [&access, &code, &secret, &session, &key] {
            assert_oauth_error(&server.refresh(w, text).await, 400, "invalid_grant");
        }
        for text in [&access, &refresh, &secret, &session, &key] {
            assert_oauth_error(&server.exchange(w, text).await, 400, "invalid_grant");
        }
        for text in [&access, &refresh, &code, &session, &key] {
            let fields = [("client_id", server.id.as_str()), ("client_secret", text), ("grant_type", "refresh_token"), ("refresh_token", &refresh)];
            assert_oauth_error(&post_form(&w.nobody, "/oauth/token", &fields).await, 401, "invalid_client");
        }
        for text in [&access, &refresh, &code, &secret, &key] {
            let mut other = w.anonymous_browser();
            other.cookie = Some(text.clone());
            let sent = other.get("/account/apps").await;
            assert!(sent.header("location").is_some_and(|url| url.starts_with("/sign-in")), "{}", sent.text);
        }
        // A token in the query and a session cookie are ignored by the API.
        w.nobody.get(&format!("/teams?access_token={access}")).await.assert_problem(401, "missing_credentials");
        let cookie = w.nobody.with_header("Cookie", &format!("__Host-touchline={session}"));
        cookie.get("/teams").await.assert_problem(401, "missing_credentials");
        bearer(w, &access).get("/teams").await.ok();
    }

    async fn app_can_revoke_only_its_own_tokens(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let (access, refresh) = app.obtain_tokens(w, &mut browser).await;
        let revoke = async |client: &TestApp, fields: &[(&str, &str)]| {
            let mut all = vec![("client_id", client.id.as_str())];
            all.extend(client.secret.as_deref().map(|secret| ("client_secret", secret)));
            all.extend(fields);
            post_form(&w.nobody, "/oauth/revoke", &all).await
        };
        assert_oauth_error(&revoke(&app, &[]).await, 400, "invalid_request");
        assert_oauth_error(&post_form(&w.nobody, "/oauth/revoke", &[("token", &access)]).await, 401, "invalid_client");
        let without_secret = [("client_id", server.id.as_str()), ("token", &access)];
        assert_oauth_error(&post_form(&w.nobody, "/oauth/revoke", &without_secret).await, 401, "invalid_client");
        for token in ["nonsense", "tlat_x", &access[..53]] {
            let answer = revoke(&app, &[("token", token)]).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, "{}"));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        assert_eq!(revoke(&server, &[("token", &access)]).await.status, 200);
        assert_eq!(revoke(&server, &[("token", &refresh)]).await.status, 200);
        bearer(w, &access).get("/teams").await.ok();
        // Only the access token; the hint may be wrong or unknown.
        assert_eq!(revoke(&app, &[("token", &access), ("token_type_hint", "refresh_token")]).await.status, 200);
        bearer(w, &access).get("/teams").await.assert_problem(401, "invalid_credentials");
        let (access, next) = token_pair(&app.refresh(w, &refresh).await);
        assert_eq!(revoke(&app, &[("token", &next), ("token_type_hint", "colour")]).await.status, 200);
        bearer(w, &access).get("/teams").await.assert_problem(401, "invalid_credentials");
        assert_eq!(revoke(&app, &[("token", &next)]).await.status, 200, "revoking twice is harmless");
        assert_oauth_error(&app.refresh(w, &next).await, 400, "invalid_grant");
    }

    async fn confidential_app_can_introspect_only_its_own_tokens(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let (access, refresh) = server.obtain_tokens(w, &mut browser).await;
        let (other_apps_token, _) = app.obtain_tokens(w, &mut browser).await;
        let introspect = async |token: &str| {
            let fields = [("client_id", server.id.as_str()), ("client_secret", server.secret.as_deref().unwrap()), ("token", token)];
            post_form(&w.nobody, "/oauth/introspect", &fields).await.ok()
        };
        let introspected = introspect(&access).await;
        assert_eq!((&introspected.body["active"], &introspected.body["scope"]), (&true.into(), &"teams:read".into()));
        assert_eq!(introspected.body["client_id"], server.id);
        assert_eq!(introspected.body["exp"].as_i64().unwrap() - introspected.body["iat"].as_i64().unwrap(), 3600);
        assert_eq!(introspected.header("cache-control"), Some("no-store"));
        for token in [&refresh, &other_apps_token, "nonsense", &server.id] {
            assert_eq!(introspect(token).await.text, "{\"active\":false}");
        }
        w.advance_clock(seconds(3600));
        assert_eq!(introspect(&access).await.text, "{\"active\":false}");
        assert_oauth_error(&post_form(&w.nobody, "/oauth/introspect", &[("token", &access)]).await, 401, "invalid_client");
        let public = [("client_id", app.id.as_str()), ("token", &other_apps_token)];
        assert_oauth_error(&post_form(&w.nobody, "/oauth/introspect", &public).await, 401, "invalid_client");
    }

    async fn stores_no_secret_in_plain_text(w: &World) {
        let mut browser = ana(w).await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let code = server.obtain_code(&mut browser, &[]).await;
        let (access, refresh) = token_pair(&server.exchange(w, &code).await);
        let (renewed, next) = token_pair(&server.refresh(w, &refresh).await);
        let secret = server.secret.clone().unwrap();
        let canaries: Vec<_> = [code, access, refresh, renewed, next, secret, VERIFIER.to_owned()]
            .iter().map(|text| text[5..40].to_owned()).collect();
        let dump = dump(w.db()).await;
        assert!(dump.contains("oauth_grant"));
        assert_eq!(canaries.iter().filter(|canary| dump.contains(*canary)).count(), 0);
    }
}
