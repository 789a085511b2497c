//! Stories about passkeys, told with an authenticator made of a key pair and a counter.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::secret::{Token, TokenKind, sha256};
use kit::{Dice, Id};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use store::{Scope, bind};
use testkit::{Answer, Browser, Node, Value, World, both, json, seconds};
use touchline::accounts::user::{Role, User};
use touchline::config::BaseUrl;

const ORIGIN: &str = "http://localhost:8080";
const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const KEY_INCLUDED: u8 = 0x40;

/// A phone with one passkey. What it says can be bent in every way.
pub(crate) struct Phone {
    pair: EcdsaKeyPair,
    id: [u8; 32],
    handle: Value,
    counter: u32,
    origin: &'static str,
    host: &'static str,
    flags: u8,
}

impl Phone {
    pub(crate) fn new() -> Self {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let secret = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self {
            pair: EcdsaKeyPair::from_pkcs8(kind, secret.as_ref(), &random).unwrap(),
            id: Dice::system().bytes(),
            handle: Value::Null,
            counter: 7,
            origin: ORIGIN,
            host: "localhost",
            flags: PRESENT | VERIFIED,
        }
    }

    fn client_data(&self, kind: &str, asked: &Value) -> String {
        let (challenge, origin) = (&asked["challenge"], self.origin);
        json!({ "type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false })
            .to_string()
    }

    fn authenticator_data(&self, flags: u8) -> Vec<u8> {
        let mut data = sha256(self.host.as_bytes()).to_vec();
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        data
    }

    /// Makes the passkey that was asked for.
    pub(crate) fn make(&mut self, asked: &Value) -> String {
        self.handle = asked["user"]["id"].clone();
        let mut data = self.authenticator_data(self.flags | KEY_INCLUDED);
        data.extend([0; 16]);
        data.extend([0, 32]);
        data.extend(self.id);
        // A public key for ES256, as CBOR: its kind, its algorithm, its curve, and the point.
        let point = &self.pair.public_key().as_ref()[1..];
        data.extend([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32]);
        data.extend(&point[..32]);
        data.extend([0x22, 0x58, 32]);
        data.extend(&point[32..]);
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58".to_vec();
        object.push(u8::try_from(data.len()).unwrap());
        object.extend(data);
        self.tell(json!({
            "clientDataJSON": text(self.client_data("webauthn.create", asked).as_bytes()),
            "attestationObject": text(&object),
            "transports": ["internal"],
        }))
    }

    /// Proves that it holds the passkey.
    fn prove(&mut self, asked: &Value) -> String {
        self.counter += 1;
        let client = self.client_data("webauthn.get", asked);
        let data = self.authenticator_data(self.flags);
        let signed = [data.as_slice(), &sha256(client.as_bytes())].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &signed).unwrap();
        self.tell(json!({
            "clientDataJSON": text(client.as_bytes()),
            "authenticatorData": text(&data),
            "signature": text(signature.as_ref()),
            "userHandle": self.handle,
        }))
    }

    fn tell(&self, response: Value) -> String {
        let id = text(&self.id);
        json!({
            "id": id, "rawId": id, "type": "public-key", "clientExtensionResults": {},
            "authenticatorAttachment": "platform", "response": response,
        })
        .to_string()
    }
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A service that is reached by a name.
pub(crate) async fn named(w: &World) -> Node {
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

/// A browser in which nobody has signed in, with the sign-in page open.
fn stranger(node: &Node) -> Browser {
    let cookie = Token::make(TokenKind::Session, &Dice::system());
    let mut browser = Browser::new(node.address);
    browser.csrf = Some(touchline::web::visitor::csrf(&node.app, &cookie));
    browser.cookie = Some(cookie.reveal().to_owned());
    browser
}

fn said(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    serde_json::from_str(&answer.text).unwrap()
}

/// Asks what kind of passkey to make.
pub(crate) async fn asked_for_new(browser: &mut Browser) -> Value {
    said(&browser.post("/account/passkeys/begin", &[]).await)["options"].clone()
}

async fn add(browser: &mut Browser, credential: &str) -> Answer {
    let fields = [("credential", credential), ("name", "Ana's phone")];
    browser.post("/account/passkeys/finish", &fields).await
}

/// Asks for a proof.
async fn asked_for_proof(browser: &mut Browser) -> Value {
    said(&browser.post("/sign-in/passkey/begin", &[]).await)["options"].clone()
}

async fn sign_in(browser: &mut Browser, credential: &str) -> Answer {
    let fields = [("credential", credential), ("next", "/account/passkeys")];
    browser.post("/sign-in/passkey/finish", &fields).await
}

/// Signs in from start to end.
async fn arrive(node: &Node, phone: &mut Phone) -> (Browser, Answer) {
    let mut browser = stranger(node);
    let asked = asked_for_proof(&mut browser).await;
    let proof = phone.prove(&asked);
    let answer = sign_in(&mut browser, &proof).await;
    (browser, answer)
}

/// Somebody with a phone that has a passkey of theirs.
async fn with_phone(w: &World, node: &Node, email: &str) -> (User, Browser, Phone) {
    let user = w.user(Role::Member, email).await;
    let mut browser = browser(w, node, &user).await;
    let mut phone = Phone::new();
    let asked = asked_for_new(&mut browser).await;
    let made = phone.make(&asked);
    assert_eq!(said(&add(&mut browser, &made).await)["next"], "/account/passkeys?done=added");
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

/// The first passkey on the page.
fn first_id(page: &str) -> String {
    let id = page.split("/account/passkeys/pky_").nth(1).unwrap();
    format!("pky_{}", id.split('/').next().unwrap())
}

both! {
    async fn a_passkey_signs_its_owner_in(w: &World) {
        let node = named(w).await;
        let (_, mut browser, mut phone) = with_phone(w, &node, "ana@example.org").await;
        browser.get("/account/passkeys?done=added").await.ok().shows("Ana&#39;s phone").shows("Never");

        let (mut elsewhere, answer) = arrive(&node, &mut phone).await;
        assert_eq!(said(&answer)["next"], "/account/passkeys");
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.contains("Secure; HttpOnly") && answer.header("cache-control") == Some("no-store"));
        let page = elsewhere.get("/account/passkeys").await.ok();
        assert!(!page.text.contains("Never"));
        assert_eq!(audited(w).await, ["passkey.added", "passkey.used"]);

        // It also counts as a fresh proof, and the browser's earlier session is over.
        let old = elsewhere.clone();
        w.pass(seconds(700));
        elsewhere.get(&format!("/account/passkeys/{}/remove", first_id(&page.text))).await
            .leads_to(&format!("/confirm?next=%2Faccount%2Fpasskeys%2F{}%2Fremove", first_id(&page.text)));
        let asked = asked_for_proof(&mut elsewhere).await;
        said(&sign_in(&mut elsewhere, &phone.prove(&asked)).await);
        elsewhere.get(&format!("/account/passkeys/{}/remove", first_id(&page.text))).await.ok();
        let mut old = old;
        old.get("/account/passkeys").await.leads_to("/sign-in?next=%2Faccount%2Fpasskeys");
        node.stop().await;
    }

    async fn a_question_is_answered_once_and_in_time(w: &World) {
        let node = named(w).await;
        let (_, _, mut phone) = with_phone(w, &node, "ana@example.org").await;
        let mut browser = stranger(&node);

        let asked = asked_for_proof(&mut browser).await;
        let proof = phone.prove(&asked);
        let mut twin = browser.clone();
        said(&sign_in(&mut browser, &proof).await);
        assert_eq!(sign_in(&mut twin, &proof).await.status, 410, "the same answer again");
        assert_eq!(sign_in(&mut twin, &phone.prove(&asked)).await.status, 410, "another to the same");

        let mut slow = stranger(&node);
        let asked = asked_for_proof(&mut slow).await;
        w.pass(seconds(301));
        assert_eq!(sign_in(&mut slow, &phone.prove(&asked)).await.status, 410, "too late");

        let made_up = json!({ "challenge": text(&[9; 16]) });
        assert_eq!(sign_in(&mut slow, &phone.prove(&made_up)).await.status, 410, "nobody asked");

        let mut one = stranger(&node);
        let asked = asked_for_proof(&mut one).await;
        let mut other = stranger(&node);
        assert_eq!(sign_in(&mut other, &phone.prove(&asked)).await.status, 410, "another browser");
        // What was asked for signing in does not add a passkey, and the other way round.
        let (_, mut bea, mut hers) = with_phone(w, &node, "bea@example.org").await;
        let asked_in = asked_for_proof(&mut bea).await;
        assert_eq!(add(&mut bea, &Phone::new().make(&asked_in)).await.status, 410);
        let asked_new = asked_for_new(&mut bea).await;
        assert_eq!(sign_in(&mut bea, &hers.prove(&asked_new)).await.status, 410);
        said(&sign_in(&mut one, &phone.prove(&asked)).await);
        node.stop().await;
    }

    async fn a_wrong_proof_signs_nobody_in(w: &World) {
        let node = named(w).await;
        let (_, _, mut phone) = with_phone(w, &node, "ana@example.org").await;
        let sessions = w.count("session").await;

        phone.origin = "http://localhost:8081";
        assert_eq!(arrive(&node, &mut phone).await.1.status, 401, "another origin");
        phone.origin = "http://localhost";
        assert_eq!(arrive(&node, &mut phone).await.1.status, 401, "another port");
        phone.origin = ORIGIN;
        phone.host = "example.org";
        assert_eq!(arrive(&node, &mut phone).await.1.status, 401, "another service");
        phone.host = "localhost";
        phone.flags = PRESENT;
        assert_eq!(arrive(&node, &mut phone).await.1.status, 401, "nobody made sure who holds it");
        phone.flags = PRESENT | VERIFIED;
        phone.counter = 6;
        assert_eq!(arrive(&node, &mut phone).await.1.status, 401, "the counter stands still: a copy");
        phone.counter = 20;
        phone.handle = json!(text(&[0; 16]));
        assert_ne!(arrive(&node, &mut phone).await.1.status, 200, "another user's name on it");

        let mut thief = Phone::new();
        (thief.id, thief.handle, thief.counter) = (phone.id, json!(text(&[1; 16])), 50);
        assert_ne!(arrive(&node, &mut thief).await.1.status, 200, "another key under the same id");
        assert_eq!(w.count("session").await, sessions);
        assert_eq!(audited(w).await, ["passkey.added"]);
        node.stop().await;
    }

    async fn what_makes_no_sense_is_refused(w: &World) {
        let node = named(w).await;
        let (_, mut hers, mut phone) = with_phone(w, &node, "ana@example.org").await;
        let bends: [fn(&mut Value); 8] = [
            |proof| proof["response"]["userHandle"] = Value::Null,
            |proof| proof["response"]["userHandle"] = json!(""),
            |proof| drop(proof["response"].as_object_mut().unwrap().remove("userHandle")),
            |proof| proof["response"]["authenticatorData"] = json!(""),
            |proof| proof["response"]["signature"] = json!("AAAA"),
            |proof| proof["response"]["clientDataJSON"] = json!("AAAA"),
            |proof| (proof["id"], proof["rawId"]) = (json!("AAAA"), json!("AAAA")),
            |proof| *proof = json!([]),
        ];
        for (number, bend) in bends.iter().enumerate() {
            let mut browser = stranger(&node);
            let asked = asked_for_proof(&mut browser).await;
            let mut proof = serde_json::from_str(&phone.prove(&asked)).unwrap();
            bend(&mut proof);
            let status = sign_in(&mut browser, &proof.to_string()).await.status;
            assert!([400, 401].contains(&status), "{number}: {status}");

            let asked = asked_for_new(&mut hers).await;
            let mut made: Value = serde_json::from_str(&Phone::new().make(&asked)).unwrap();
            let object = made["response"]["attestationObject"].as_str().unwrap().to_owned();
            made["response"]["attestationObject"] = json!(&object[..object.len() / (number + 2)]);
            assert_ne!(add(&mut hers, &made.to_string()).await.status, 500);
        }
        assert_eq!(w.count("passkey").await, 1);
        node.stop().await;
    }

    async fn failures_are_counted_by_address(w: &World) {
        let node = w.node(|config| {
            config.base_url = Some(BaseUrl::local("localhost", 8080));
            config.sign_in_rate = 6.try_into().unwrap();
        })
        .await;
        let mut unknown = Phone::new();
        unknown.handle = json!(text(&[1; 16]));
        for _ in 0..3 {
            assert_eq!(arrive(&node, &mut unknown).await.1.status, 401);
        }
        assert_eq!(stranger(&node).post("/sign-in/passkey/begin", &[]).await.status, 429);
        node.stop().await;
    }

    async fn only_what_was_asked_for_becomes_a_passkey(w: &World) {
        let node = named(w).await;
        let ana = w.user(Role::Member, "ana@example.org").await;
        let bea = w.user(Role::Member, "bea@example.org").await;
        let mut hers = browser(w, &node, &ana).await;
        let mut other = browser(w, &node, &bea).await;
        let mut phone = Phone::new();

        let asked = asked_for_new(&mut hers).await;
        assert_eq!(asked["user"]["name"], "ana@example.org");
        let made = phone.make(&asked);
        assert_eq!(add(&mut other, &made).await.status, 410, "another user");
        let mut hers_too = browser(w, &node, &ana).await;
        assert_eq!(add(&mut hers_too, &made).await.status, 410, "another browser of hers");
        w.pass(seconds(301));
        assert_eq!(add(&mut hers, &made).await.status, 410, "too late");

        for bend in [
            (|phone: &mut Phone| phone.flags = PRESENT) as fn(&mut Phone),
            |phone| phone.origin = "https://evil.example",
            |phone| phone.host = "evil.example",
        ] {
            let mut bent = Phone::new();
            bend(&mut bent);
            let asked = asked_for_new(&mut hers).await;
            assert_eq!(add(&mut hers, &bent.make(&asked)).await.status, 401);
        }
        assert_eq!(add(&mut hers, "{}").await.status, 400);
        assert_eq!(w.count("passkey").await, 0);

        let asked = asked_for_new(&mut hers).await;
        let made = phone.make(&asked);
        said(&add(&mut hers, &made).await);
        assert_eq!(add(&mut hers, &made).await.status, 410, "the same again");
        // The browser is told not to make a second one, and the same one cannot be two people's.
        let asked = asked_for_new(&mut hers).await;
        assert_eq!(asked["excludeCredentials"][0]["id"], text(&phone.id));
        let asked = asked_for_new(&mut other).await;
        assert_eq!(add(&mut other, &phone.make(&asked)).await.status, 409, "taken");
        assert_eq!(w.count("passkey").await, 1);
        node.stop().await;
    }

    async fn passkeys_are_added_with_a_fresh_proof_from_our_own_page(w: &World) {
        let node = named(w).await;
        let ana = w.user(Role::Member, "ana@example.org").await;
        let mut hers = browser(w, &node, &ana).await;
        let asked = asked_for_new(&mut hers).await;
        let made = Phone::new().make(&asked);

        for path in ["/account/passkeys/begin", "/account/passkeys/finish", "/sign-in/passkey/begin",
            "/sign-in/passkey/finish"]
        {
            let csrf = hers.csrf.clone().unwrap();
            let foreign = [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")];
            let fields = [("credential", made.as_str()), ("csrf", csrf.as_str())];
            assert_eq!(hers.send(path, &fields, &foreign).await.status, 403, "{path}");
            let own = [("Sec-Fetch-Site", "same-origin")];
            assert_eq!(hers.send(path, &fields[..1], &own).await.status, 403, "{path}");
        }

        w.pass(seconds(601));
        let next = "/confirm?next=%2Faccount%2Fpasskeys";
        let answer = hers.post("/account/passkeys/begin", &[]).await;
        assert_eq!(said(&answer)["next"], next);
        assert_eq!(said(&add(&mut hers, &made).await)["next"], next);
        assert_eq!(w.count("passkey").await, 0);
        node.stop().await;
    }

    async fn a_user_has_at_most_twenty(w: &World) {
        let node = named(w).await;
        let (_, mut browser, _) = with_phone(w, &node, "ana@example.org").await;
        for _ in 1..20 {
            let asked = asked_for_new(&mut browser).await;
            said(&add(&mut browser, &Phone::new().make(&asked)).await);
        }
        assert_eq!(browser.post("/account/passkeys/begin", &[]).await.status, 409);
        browser.get("/account/passkeys").await.ok().shows("as many passkeys as one can have");
        assert_eq!(w.count("passkey").await, 20);
        node.stop().await;
    }

    async fn passkeys_are_renamed_and_removed_by_their_owner(w: &World) {
        let node = named(w).await;
        let (_, mut hers, mut phone) = with_phone(w, &node, "ana@example.org").await;
        let id = first_id(&hers.get("/account/passkeys").await.ok().text);
        let (rename, remove) =
            (format!("/account/passkeys/{id}/rename"), format!("/account/passkeys/{id}/remove"));

        let bea = w.user(Role::Owner, "bea@example.org").await;
        let mut other = browser(w, &node, &bea).await;
        for path in [&rename, &remove] {
            assert_eq!(other.get(path).await.status, 404);
            assert_eq!(other.post(path, &[("name", "Mine")]).await.status, 404);
        }

        hers.get(&rename).await.ok().shows("value=\"Ana&#39;s phone\"");
        assert_eq!(hers.post(&rename, &[("name", " ")]).await.shows("1 to 60 characters").status, 422);
        hers.post(&rename, &[("name", "<b>Work</b>")]).await.leads_to("/account/passkeys?done=renamed");
        let page = hers.get("/account/passkeys").await.ok().shows("&#60;b&#62;Work");
        assert!(!page.text.contains("<b>Work"));

        hers.get(&remove).await.ok().shows("This will happen").shows("your only passkey");
        let stays = hers.clone();
        w.pass(seconds(601));
        let mut stale = stays;
        assert!(stale.post(&remove, &[]).await.header("location").unwrap().starts_with("/confirm?"));
        assert_eq!(w.count("passkey").await, 1);

        let (mut arrived, answer) = arrive(&node, &mut phone).await;
        said(&answer);
        arrived.csrf = None;
        arrived.get(&remove).await.ok();
        arrived.post(&remove, &[]).await.leads_to("/account/passkeys?done=removed");
        assert_eq!(arrive(&node, &mut phone).await.1.status, 401);
        let told = ["passkey.added", "passkey.renamed", "passkey.used", "passkey.removed"];
        assert_eq!(audited(w).await, told);
        node.stop().await;
    }

    async fn whoever_was_shut_out_stays_out(w: &World) {
        let node = named(w).await;
        let (ana, _, mut phone) = with_phone(w, &node, "ana@example.org").await;
        let disable = move |tx: &store::Tx<'_>| {
            let id: Id<_> = ana.id;
            tx.run("update app_user set disabled_at = :now where id = :id /* any account */", bind! { id })
        };
        w.db().write(Scope::system("test"), disable).await.unwrap();
        assert_eq!(arrive(&node, &mut phone).await.1.status, 401);
        node.stop().await;
    }

    async fn all_nodes_and_all_clubs_know_a_passkey(w: &World) {
        let (node, other) = (named(w).await, named(w).await);
        let (ana, _, mut phone) = with_phone(w, &node, "ana@example.org").await;
        let hilltop = testkit::world::make_account(w.db(), "Second", w.clock.clock().now()).await;
        w.user_of(hilltop, Role::Member, &ana.email).await;
        let mut browser = stranger(&node);
        let asked = asked_for_proof(&mut browser).await;
        let mut there = Browser::new(other.address);
        (there.cookie, there.csrf) = (browser.cookie, browser.csrf);
        let answer = sign_in(&mut there, &phone.prove(&asked)).await;
        said(&answer);
        let read = w.db().read(Scope::account(hilltop, "test"), |db| {
            db.all(
                "select action, actor from audit_entry where account_id = :account order by position",
                bind! {},
            )
        });
        let all: Vec<(String, String)> = read.await.unwrap();
        assert_eq!(all.last(), Some(&("passkey.used".to_owned(), ana.id.to_string())));
        assert_eq!(audited(w).await, ["passkey.added", "passkey.used"]);
        node.stop().await;
        other.stop().await;
    }

    async fn an_address_of_numbers_has_no_passkeys(w: &World) {
        let ana = w.user(Role::Member, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        browser.get("/account/passkeys").await.ok().shows("Passkeys need a name");
        assert_eq!(browser.post("/account/passkeys/begin", &[]).await.status, 409);
        assert_eq!(browser.post("/sign-in/passkey/begin", &[]).await.status, 409);
    }
}
