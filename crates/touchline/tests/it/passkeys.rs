//! Tests of passkeys, with a software authenticator.

use kit::secret::{Token, TokenKind};
use kit::{Id, Rng};
use store::{Scope, bind};
use testkit::{Browser, Node, TestResponse, Value, World, both, json, seconds};
use touchline::accounts::user::{Role, User};
use touchline::config::BaseUrl;

use crate::software_authenticator::{ORIGIN, PRESENT, SoftwareAuthenticator, VERIFIED, text};

/// A node with a host name, which passkeys require.
pub(crate) async fn node_with_host_name(w: &World) -> Node {
    w.node(|config| {
        config.base_url = Some(BaseUrl::local("localhost", 8080));
        config.sign_in_rate = 1000.try_into().unwrap();
    })
    .await
}

pub(crate) async fn browser(w: &World, node: &Node, user: &User) -> Browser {
    let signed_in = w.browser(user.id).await;
    let mut browser = Browser::new(node.address);
    (browser.cookie, browser.csrf) = (signed_in.cookie, signed_in.csrf);
    browser
}

/// A browser with the sign-in page open, not signed in.
fn anonymous(node: &Node) -> Browser {
    let cookie = Token::generate(TokenKind::Session, &Rng::system());
    let mut browser = Browser::new(node.address);
    browser.csrf = Some(touchline::web::visitor::csrf_token(&node.app, &cookie, None));
    browser.cookie = Some(cookie.reveal().to_owned());
    browser
}

fn json_body(answer: &TestResponse) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    serde_json::from_str(&answer.text).unwrap()
}

/// Requests the options for creating a passkey.
pub(crate) async fn creation_options(browser: &mut Browser) -> Value {
    json_body(&browser.post("/account/passkeys/begin", &[]).await)["options"].clone()
}

async fn add(browser: &mut Browser, credential: &str) -> TestResponse {
    let fields = [("credential", credential), ("name", "Ana's phone")];
    browser.post("/account/passkeys/finish", &fields).await
}

/// Requests the options for signing in.
async fn request_options(browser: &mut Browser) -> Value {
    json_body(&browser.post("/sign-in/passkey/begin", &[]).await)["options"].clone()
}

async fn sign_in(browser: &mut Browser, credential: &str) -> TestResponse {
    let fields = [("credential", credential), ("next", "/account/passkeys")];
    browser.post("/sign-in/passkey/finish", &fields).await
}

/// Signs in with a passkey, from start to end.
async fn passkey_sign_in(
    node: &Node,
    phone: &mut SoftwareAuthenticator,
) -> (Browser, TestResponse) {
    let mut browser = anonymous(node);
    let options = request_options(&mut browser).await;
    let proof = phone.prove(&options);
    let answer = sign_in(&mut browser, &proof).await;
    (browser, answer)
}

/// Creates a user with a passkey on a phone.
async fn user_with_phone(
    w: &World,
    node: &Node,
    email: &str,
) -> (User, Browser, SoftwareAuthenticator) {
    let user = w.user(Role::Member, email).await;
    let mut browser = browser(w, node, &user).await;
    let mut phone = SoftwareAuthenticator::new();
    let options = creation_options(&mut browser).await;
    let credential = phone.create_credential(&options);
    assert_eq!(
        json_body(&add(&mut browser, &credential).await)["next"],
        "/account/passkeys?done=added"
    );
    (user, browser, phone)
}

async fn audited(w: &World) -> Vec<String> {
    let scope = Scope::account(w.harbour, "test");
    let read = w.db().read(scope, |db| {
        db.all(
            "select action from audit_entry where account_id = :account order by position",
            bind! {},
        )
    });
    let all: Vec<(String,)> = read.await.unwrap();
    all.into_iter().map(|(action,)| action).filter(|action| action.starts_with("passkey")).collect()
}

/// The id of the first passkey on the page.
fn first_id(page: &str) -> String {
    let id = page.split("/account/passkeys/pky_").nth(1).unwrap();
    format!("pky_{}", id.split('/').next().unwrap())
}

both! {
    async fn passkey_signs_its_owner_in(w: &World) {
        let node = node_with_host_name(w).await;
        let (_, mut browser, mut phone) = user_with_phone(w, &node, "ana@example.org").await;
        browser.get("/account/passkeys?done=added").await.ok().shows("Ana&#39;s phone").shows("Never");

        let (mut other_browser, answer) = passkey_sign_in(&node, &mut phone).await;
        assert_eq!(json_body(&answer)["next"], "/account/passkeys");
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.contains("Secure; HttpOnly") && answer.header("cache-control") == Some("no-store"));
        let page = other_browser.get("/account/passkeys").await.ok();
        assert!(!page.text.contains("Never"));
        assert_eq!(audited(w).await, ["passkey.added", "passkey.used"]);

        // It also counts as a fresh confirmation, and ends the earlier session of the browser.
        let old = other_browser.clone();
        w.advance_clock(seconds(700));
        other_browser.get(&format!("/account/passkeys/{}/remove", first_id(&page.text))).await
            .redirects_to(&format!("/confirm?next=%2Faccount%2Fpasskeys%2F{}%2Fremove", first_id(&page.text)));
        let options = request_options(&mut other_browser).await;
        json_body(&sign_in(&mut other_browser, &phone.prove(&options)).await);
        other_browser.get(&format!("/account/passkeys/{}/remove", first_id(&page.text))).await.ok();
        let mut old = old;
        old.get("/account/passkeys").await.redirects_to("/sign-in?next=%2Faccount%2Fpasskeys");
        node.stop().await;
    }

    async fn challenge_works_once_and_expires(w: &World) {
        let node = node_with_host_name(w).await;
        let (_, _, mut phone) = user_with_phone(w, &node, "ana@example.org").await;
        let mut browser = anonymous(&node);

        let options = request_options(&mut browser).await;
        let proof = phone.prove(&options);
        let mut copy = browser.clone();
        json_body(&sign_in(&mut browser, &proof).await);
        assert_eq!(sign_in(&mut copy, &proof).await.status, 410, "the same response again");
        assert_eq!(sign_in(&mut copy, &phone.prove(&options)).await.status, 410, "another response to the same challenge");

        let mut slow = anonymous(&node);
        let options = request_options(&mut slow).await;
        w.advance_clock(seconds(301));
        assert_eq!(sign_in(&mut slow, &phone.prove(&options)).await.status, 410, "too late");

        let unknown = json!({ "challenge": text(&[9; 16]) });
        assert_eq!(sign_in(&mut slow, &phone.prove(&unknown)).await.status, 410, "unknown challenge");

        let mut one = anonymous(&node);
        let options = request_options(&mut one).await;
        let mut other = anonymous(&node);
        assert_eq!(sign_in(&mut other, &phone.prove(&options)).await.status, 410, "another browser");
        // A challenge for signing in cannot be used to add a passkey, and vice versa.
        let (_, mut bea, mut bea_phone) = user_with_phone(w, &node, "bea@example.org").await;
        let request = request_options(&mut bea).await;
        assert_eq!(add(&mut bea, &SoftwareAuthenticator::new().create_credential(&request)).await.status, 410);
        let creation = creation_options(&mut bea).await;
        assert_eq!(sign_in(&mut bea, &bea_phone.prove(&creation)).await.status, 410);
        json_body(&sign_in(&mut one, &phone.prove(&options)).await);
        node.stop().await;
    }

    async fn rejects_an_invalid_signature(w: &World) {
        let node = node_with_host_name(w).await;
        let (_, _, mut phone) = user_with_phone(w, &node, "ana@example.org").await;
        let sessions = w.count("session").await;

        phone.origin = "http://localhost:8081";
        assert_eq!(passkey_sign_in(&node, &mut phone).await.1.status, 401, "another origin");
        phone.origin = "http://localhost";
        assert_eq!(passkey_sign_in(&node, &mut phone).await.1.status, 401, "another port");
        phone.origin = ORIGIN;
        phone.host = "example.org";
        assert_eq!(passkey_sign_in(&node, &mut phone).await.1.status, 401, "another service");
        phone.host = "localhost";
        phone.flags = PRESENT;
        assert_eq!(passkey_sign_in(&node, &mut phone).await.1.status, 401, "user not verified");
        phone.flags = PRESENT | VERIFIED;
        phone.counter = 6;
        assert_eq!(passkey_sign_in(&node, &mut phone).await.1.status, 401, "the counter did not increase: a cloned key");
        phone.counter = 20;
        phone.handle = json!(text(&[0; 16]));
        assert_ne!(passkey_sign_in(&node, &mut phone).await.1.status, 200, "another user handle");

        let mut thief = SoftwareAuthenticator::new();
        (thief.id, thief.handle, thief.counter) = (phone.id, json!(text(&[1; 16])), 50);
        assert_ne!(passkey_sign_in(&node, &mut thief).await.1.status, 200, "another key under the same id");
        assert_eq!(w.count("session").await, sessions);
        assert_eq!(audited(w).await, ["passkey.added"]);
        node.stop().await;
    }

    async fn rejects_malformed_responses(w: &World) {
        let node = node_with_host_name(w).await;
        let (_, mut ana_browser, mut phone) = user_with_phone(w, &node, "ana@example.org").await;
        let corruptions: [fn(&mut Value); 8] = [
            |proof| proof["response"]["userHandle"] = Value::Null,
            |proof| proof["response"]["userHandle"] = json!(""),
            |proof| drop(proof["response"].as_object_mut().unwrap().remove("userHandle")),
            |proof| proof["response"]["authenticatorData"] = json!(""),
            |proof| proof["response"]["signature"] = json!("AAAA"),
            |proof| proof["response"]["clientDataJSON"] = json!("AAAA"),
            |proof| (proof["id"], proof["rawId"]) = (json!("AAAA"), json!("AAAA")),
            |proof| *proof = json!([]),
        ];
        for (number, corrupt) in corruptions.iter().enumerate() {
            let mut browser = anonymous(&node);
            let options = request_options(&mut browser).await;
            let mut proof = serde_json::from_str(&phone.prove(&options)).unwrap();
            corrupt(&mut proof);
            let status = sign_in(&mut browser, &proof.to_string()).await.status;
            assert!([400, 401].contains(&status), "{number}: {status}");

            let options = creation_options(&mut ana_browser).await;
            let mut credential: Value = serde_json::from_str(&SoftwareAuthenticator::new().create_credential(&options)).unwrap();
            let object = credential["response"]["attestationObject"].as_str().unwrap().to_owned();
            credential["response"]["attestationObject"] = json!(&object[..object.len() / (number + 2)]);
            assert_ne!(add(&mut ana_browser, &credential.to_string()).await.status, 500);
        }
        assert_eq!(w.count("passkey").await, 1);
        node.stop().await;
    }

    async fn limits_failures_per_address(w: &World) {
        let node = w.node(|config| {
            config.base_url = Some(BaseUrl::local("localhost", 8080));
            config.sign_in_rate = 6.try_into().unwrap();
        })
        .await;
        let mut unknown = SoftwareAuthenticator::new();
        unknown.handle = json!(text(&[1; 16]));
        for _ in 0..3 {
            assert_eq!(passkey_sign_in(&node, &mut unknown).await.1.status, 401);
        }
        assert_eq!(anonymous(&node).post("/sign-in/passkey/begin", &[]).await.status, 429);
        node.stop().await;
    }

    async fn adds_only_the_requested_passkey(w: &World) {
        let node = node_with_host_name(w).await;
        let ana = w.user(Role::Member, "ana@example.org").await;
        let bea = w.user(Role::Member, "bea@example.org").await;
        let mut ana_browser = browser(w, &node, &ana).await;
        let mut other = browser(w, &node, &bea).await;
        let mut phone = SoftwareAuthenticator::new();

        let options = creation_options(&mut ana_browser).await;
        assert_eq!(options["user"]["name"], "ana@example.org");
        let credential = phone.create_credential(&options);
        assert_eq!(add(&mut other, &credential).await.status, 410, "another user");
        let mut second_browser = browser(w, &node, &ana).await;
        assert_eq!(add(&mut second_browser, &credential).await.status, 410, "another browser of hers");
        w.advance_clock(seconds(301));
        assert_eq!(add(&mut ana_browser, &credential).await.status, 410, "too late");

        for falsify in [
            (|phone: &mut SoftwareAuthenticator| phone.flags = PRESENT) as fn(&mut SoftwareAuthenticator),
            |phone| phone.origin = "https://evil.example",
            |phone| phone.host = "evil.example",
        ] {
            let mut falsified = SoftwareAuthenticator::new();
            falsify(&mut falsified);
            let options = creation_options(&mut ana_browser).await;
            assert_eq!(add(&mut ana_browser, &falsified.create_credential(&options)).await.status, 401);
        }
        assert_eq!(add(&mut ana_browser, "{}").await.status, 400);
        assert_eq!(w.count("passkey").await, 0);

        let options = creation_options(&mut ana_browser).await;
        let credential = phone.create_credential(&options);
        json_body(&add(&mut ana_browser, &credential).await);
        assert_eq!(add(&mut ana_browser, &credential).await.status, 410, "the same again");
        // The browser is asked to exclude known passkeys, and a passkey cannot belong to two users.
        let options = creation_options(&mut ana_browser).await;
        assert_eq!(options["excludeCredentials"][0]["id"], text(&phone.id));
        let options = creation_options(&mut other).await;
        assert_eq!(add(&mut other, &phone.create_credential(&options)).await.status, 409, "taken");
        assert_eq!(w.count("passkey").await, 1);
        node.stop().await;
    }

    async fn adding_requires_a_recent_confirmation_and_the_same_origin(w: &World) {
        let node = node_with_host_name(w).await;
        let ana = w.user(Role::Member, "ana@example.org").await;
        let mut ana_browser = browser(w, &node, &ana).await;
        let options = creation_options(&mut ana_browser).await;
        let credential = SoftwareAuthenticator::new().create_credential(&options);

        for path in ["/account/passkeys/begin", "/account/passkeys/finish", "/sign-in/passkey/begin",
            "/sign-in/passkey/finish"]
        {
            let csrf = ana_browser.csrf.clone().unwrap();
            let cross_site = [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")];
            let fields = [("credential", credential.as_str()), ("csrf", csrf.as_str())];
            assert_eq!(ana_browser.send(path, &fields, &cross_site).await.status, 403, "{path}");
            let same_origin = [("Sec-Fetch-Site", "same-origin")];
            assert_eq!(ana_browser.send(path, &fields[..1], &same_origin).await.status, 403, "{path}");
        }

        w.advance_clock(seconds(601));
        let next = "/confirm?next=%2Faccount%2Fpasskeys";
        let answer = ana_browser.post("/account/passkeys/begin", &[]).await;
        assert_eq!(json_body(&answer)["next"], next);
        assert_eq!(json_body(&add(&mut ana_browser, &credential).await)["next"], next);
        assert_eq!(w.count("passkey").await, 0);
        node.stop().await;
    }

    async fn allows_at_most_twenty_passkeys(w: &World) {
        let node = node_with_host_name(w).await;
        let (_, mut browser, _) = user_with_phone(w, &node, "ana@example.org").await;
        for _ in 1..20 {
            let options = creation_options(&mut browser).await;
            json_body(&add(&mut browser, &SoftwareAuthenticator::new().create_credential(&options)).await);
        }
        assert_eq!(browser.post("/account/passkeys/begin", &[]).await.status, 409);
        browser.get("/account/passkeys").await.ok().shows("maximum number of passkeys");
        assert_eq!(w.count("passkey").await, 20);
        node.stop().await;
    }

    async fn only_the_owner_renames_and_removes_passkeys(w: &World) {
        let node = node_with_host_name(w).await;
        let (_, mut ana_browser, mut phone) = user_with_phone(w, &node, "ana@example.org").await;
        let id = first_id(&ana_browser.get("/account/passkeys").await.ok().text);
        let (rename, remove) =
            (format!("/account/passkeys/{id}/rename"), format!("/account/passkeys/{id}/remove"));

        let bea = w.user(Role::Owner, "bea@example.org").await;
        let mut other = browser(w, &node, &bea).await;
        for path in [&rename, &remove] {
            assert_eq!(other.get(path).await.status, 404);
            assert_eq!(other.post(path, &[("name", "Mine")]).await.status, 404);
        }

        ana_browser.get(&rename).await.ok().shows("value=\"Ana&#39;s phone\"");
        assert_eq!(ana_browser.post(&rename, &[("name", " ")]).await.shows("1 to 60 characters").status, 422);
        ana_browser.post(&rename, &[("name", "<b>Work</b>")]).await.redirects_to("/account/passkeys?done=renamed");
        let page = ana_browser.get("/account/passkeys").await.ok().shows("&#60;b&#62;Work");
        assert!(!page.text.contains("<b>Work"));

        ana_browser.get(&remove).await.ok().shows("What happens next").shows("your only passkey");
        let copy = ana_browser.clone();
        w.advance_clock(seconds(601));
        let mut stale = copy;
        assert!(stale.post(&remove, &[]).await.header("location").unwrap().starts_with("/confirm?"));
        assert_eq!(w.count("passkey").await, 1);

        let (mut signed_in, answer) = passkey_sign_in(&node, &mut phone).await;
        json_body(&answer);
        signed_in.csrf = None;
        signed_in.get(&remove).await.ok();
        signed_in.post(&remove, &[]).await.redirects_to("/account/passkeys?done=removed");
        assert_eq!(passkey_sign_in(&node, &mut phone).await.1.status, 401);
        let expected = ["passkey.added", "passkey.renamed", "passkey.used", "passkey.removed"];
        assert_eq!(audited(w).await, expected);
        node.stop().await;
    }

    async fn disabled_user_cannot_sign_in(w: &World) {
        let node = node_with_host_name(w).await;
        let (ana, _, mut phone) = user_with_phone(w, &node, "ana@example.org").await;
        let disable = move |tx: &store::Tx<'_>| {
            let id: Id<_> = ana.id;
            tx.execute("update app_user set disabled_at = :now where id = :id /* any account */", bind! { id })
        };
        w.db().write(Scope::system("test"), disable).await.unwrap();
        assert_eq!(passkey_sign_in(&node, &mut phone).await.1.status, 401);
        node.stop().await;
    }

    async fn passkey_works_on_all_nodes_and_in_all_clubs(w: &World) {
        let (node, other) = (node_with_host_name(w).await, node_with_host_name(w).await);
        let (ana, _, mut phone) = user_with_phone(w, &node, "ana@example.org").await;
        let second_club = testkit::world::make_account(w.db(), "Second", w.clock.clock().now()).await;
        w.user_of(second_club, Role::Member, &ana.email).await;
        let mut browser = anonymous(&node);
        let options = request_options(&mut browser).await;
        let mut other_browser = Browser::new(other.address);
        (other_browser.cookie, other_browser.csrf) = (browser.cookie, browser.csrf);
        let answer = sign_in(&mut other_browser, &phone.prove(&options)).await;
        json_body(&answer);
        let read = w.db().read(Scope::account(second_club, "test"), |db| {
            db.all(
                "select action, actor from audit_entry where account_id = :account order by position",
                bind! {},
            )
        });
        let entries: Vec<(String, String)> = read.await.unwrap();
        assert_eq!(entries.last(), Some(&("passkey.used".to_owned(), ana.id.to_string())));
        assert_eq!(audited(w).await, ["passkey.added", "passkey.used"]);
        node.stop().await;
        other.stop().await;
    }

    async fn passkeys_require_a_host_name(w: &World) {
        let ana = w.user(Role::Member, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        browser.get("/account/passkeys").await.ok().shows("Passkeys require a host name");
        assert_eq!(browser.post("/account/passkeys/begin", &[]).await.status, 409);
        assert_eq!(browser.post("/sign-in/passkey/begin", &[]).await.status, 409);
    }
}
