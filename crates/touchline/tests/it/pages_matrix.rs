//! Every page against everybody who must not use it: anonymous visitors, members, owners of another
//! club, and other sites that abuse somebody's browser.

use store::Scope;
use testkit::{Browser, TestResponse, World, both, json};
use touchline::accounts::user::Role;
use touchline::ids::{AppId, UserId};
use touchline::joining::invitation::{self, NewInvitation};
use touchline::oauth::app::Kind;
use touchline::oauth::secret;
use touchline::webhooks::access::Manager;
use touchline::webhooks::actions;
use touchline::webhooks::delivery::Delivery;
use touchline::webhooks::edit::{self, NewWebhook};

use crate::dues;
use crate::events::{practice, with};
use crate::files::photo_of;
use crate::message_templates::create_template;
use crate::page_routes::{Route, page_routes};

/// Pages for anonymous visitors: every other page redirects them to sign in. An unknown app is
/// refused before that.
const PUBLIC_PAGES: [&str; 15] = [
    "/",
    "/sign-in",
    "/sign-in/code",
    "/sign-in/passkey",
    "/sign-out",
    "/forgot",
    "/reset",
    "/set-up",
    "/join",
    "/account/email/{token}",
    "/oauth/authorize",
    "/unsubscribe",
    "/offline",
    "/confirm-address",
    "/checkout",
];
/// One-click unsubscribe, called by mail clients without a cookie, and the settings. The link is the credential.
const ONE_CLICK: &str = "/unsubscribe/{token}";
/// Tables that record visits and not changes.
const VISIT_TABLES: [&str; 3] = ["session", "usage_hour", "sign_in_failure"];

fn is_public(path: &str) -> bool {
    let is_below = |page: &str| path.strip_prefix(page).is_some_and(|rest| rest.starts_with('/'));
    PUBLIC_PAGES.iter().any(|page| path == *page || (page.len() > 1 && is_below(page)))
}

/// Harbour with one object of every kind that appears in the path of a page.
struct PageFixture {
    /// Path prefix, value of its last parameter, and whether the object exists.
    objects: Vec<(&'static str, String, bool)>,
    owner: Browser,
    member: Browser,
    /// The owner of another club.
    stranger: Browser,
}

impl PageFixture {
    async fn new(w: &World) -> Self {
        let owner = w.user(Role::Owner, "owner@harbour.example").await;
        let member = w.user(Role::Member, "parent@harbour.example").await;
        let other = testkit::world::make_account(w.db(), "Elsewhere", w.clock.clock().now()).await;
        let stranger = w.user_of(other, Role::Owner, "owner@elsewhere.example").await;
        Self {
            objects: objects(w, owner.id, member.id).await,
            owner: w.browser(owner.id).await,
            member: w.browser(member.id).await,
            stranger: w.browser_at(stranger.id, Some(other)).await,
        }
    }

    /// The path of a page with its parameters filled in.
    fn fill_path(&self, route: &Route) -> String {
        let mut path = route.path.clone();
        // Longer prefixes come last, so go backwards.
        for (address, id, _) in self.objects.iter().rev() {
            if let Some(suffix) = path.strip_prefix(address) {
                let (start, _) = address.rsplit_once('{').unwrap();
                path = format!("{start}{id}{suffix}");
            }
        }
        assert!(!path.contains('{'), "no value for {path}; create one in `objects`");
        path
    }

    fn names_existing_object(&self, route: &Route) -> bool {
        self.objects.iter().any(|(address, _, there)| *there && route.path.starts_with(address))
    }
}

async fn objects(w: &World, owner: UserId, member: UserId) -> Vec<(&'static str, String, bool)> {
    let (key, _) = w.client_with_key(testkit::world::new_key("teams:read")).await;
    let id: AppId = w.app(Kind::Server, "https://app.example/back", "teams:read").await.id;
    let scope = || Scope::account(w.harbour, "test");
    let (secret, _) = w.db().write(scope(), move |tx| secret::add(tx, id)).await.unwrap();
    let invitation = invite(w, owner).await;
    let delivery = test_webhook(w).await;
    let (product, order, code) = create_order(w).await;
    let (team, player, due, payment) = create_due(w).await;
    let (event, duty, location, feed) = create_event(w, &team).await;
    let message = post_message(w).await;
    let template = create_template(w, "Rain").await;
    let person = w.add_member(&team, json!({ "first_name": "Ana" })).await.person;
    let photo = photo_of(w, &person).await;
    // A well-formed id that does not exist.
    let nothing = |kind: &str| format!("{kind}_{}", &id.to_string()[4..]);
    vec![
        ("/admin/keys/{id}", key.id.to_string(), true),
        ("/admin/members/{user}", member.to_string(), true),
        ("/admin/members/invitations/{id}", invitation, true),
        ("/admin/members/claims/{id}", nothing("clm"), false),
        ("/admin/members/adults/{id}", nothing("per"), false),
        ("/account/invitations/{id}", nothing("inv"), false),
        ("/confirm-address/{token}", "nothing".to_owned(), false),
        ("/account/claims/{id}", nothing("clm"), false),
        ("/account/apps/{app}", id.to_string(), false),
        ("/account/passkeys/{id}", nothing("pky"), false),
        ("/account/sessions/{id}", nothing("ses"), false),
        ("/account/email/{token}", "tlln_nothing".to_owned(), false),
        ("/oauth/consent/{token}", "tlrq_nothing".to_owned(), false),
        ("/join/{token}", "tlin_nothing".to_owned(), false),
        ("/reset/{token}", "tlln_nothing".to_owned(), false),
        ("/set-up/{token}", "tlln_nothing".to_owned(), false),
        ("/unsubscribe/{token}", "nothing".to_owned(), false),
        ("/admin/apps/{id}", id.to_string(), true),
        ("/admin/apps/{id}/secrets/{secret}", secret.id.to_string(), true),
        ("/admin/store/products/{id}", product.clone(), true),
        ("/admin/store/codes/{id}", code, true),
        ("/admin/orders/{id}", order.clone(), true),
        ("/locations/{location}", location, true),
        ("/store/orders/{id}", order, true),
        ("/store/products/{id}", product, true),
        ("/admin/webhooks/{id}", delivery.webhook_id.to_string(), true),
        ("/admin/webhooks/{id}/deliveries/{delivery}", delivery.id.to_string(), true),
        ("/admin/dues/teams/{team}", team.clone(), true),
        ("/admin/dues/{id}", due.clone(), true),
        ("/admin/dues/{id}/payments/{payment}", payment, true),
        ("/dues/teams/{team}", team.clone(), true),
        ("/messages/{message}", message, true),
        ("/messages/templates/{template}", template.id().to_owned(), true),
        ("/files/{file}", photo, true),
        ("/dues/{id}", due, true),
        ("/teams/{team}", team.clone(), true),
        ("/teams/{team}/roster/{member}", player, true),
        ("/events/{event}", event.clone(), true),
        ("/events/{event}/duties/{duty}", duty, true),
        ("/schedule/subscribe/{feed}", feed, true),
        ("/people/{person}", person, true),
        ("/people/{person}/away/{away}", nothing("awy"), false),
    ]
}

/// Invites a member, and returns the id of the invitation.
async fn invite(w: &World, owner: UserId) -> String {
    let email = "invited@harbour.example".to_owned();
    let new = NewInvitation { email, role: Role::Member, relation_to: None };
    let scope = Scope::account(w.harbour, "test");
    let invitation = w.db().write(scope, move |tx| invitation::invite(tx, owner, new)).await;
    invitation.unwrap().0.id.to_string()
}

/// Creates a webhook and a test delivery.
async fn test_webhook(w: &World) -> Delivery {
    let context = crate::webhooks::edit_context(&w.node);
    let new = NewWebhook {
        url: "https://hooks.example.org/x".to_owned(),
        events: vec!["*".to_owned()],
        description: None,
        team_ids: None,
        ordering: None,
    };
    let subscribe = move |tx: &store::Tx<'_>| {
        let (webhook, _) = edit::create(tx, &context, new)?;
        actions::test(tx, &Manager::unrestricted(), webhook.id)
    };
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, subscribe).await.unwrap()
}

/// Creates a product, an order and a discount code.
async fn create_order(w: &World) -> (String, String, String) {
    let product = json!({ "name": "Home kit", "price": 2499 });
    let product = w.owner.post("/products", product).await.created();
    let line = json!({ "product_id": product.id(), "quantity": 1 });
    let order = json!({ "lines": [line], "buyer": { "name": "Rui" } });
    let order = w.owner.post("/orders", order).await.created();
    let code = json!({ "code": "SIBLING10", "percent_bps": 1000 });
    let code = w.owner.post("/discounts", code).await.created();
    (product.id().to_owned(), order.id().to_owned(), code.id().to_owned())
}

/// Creates a team with a due that is partly paid.
async fn create_due(w: &World) -> (String, String, String, String) {
    let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created().id().to_owned();
    let child = w.add_member(&team, json!({ "first_name": "Max" })).await;
    let due = dues::charge_member(w, &team, &child.member, json!({})).await;
    let payment = dues::pay(w, &due, 2_500).await.created().id().to_owned();
    (team, child.member, due["id"].as_str().unwrap().to_owned(), payment)
}

/// Creates a game with a result and a duty at a location, and a calendar feed.
async fn create_event(w: &World, team: &str) -> (String, String, String, String) {
    let location = w.owner.post("/locations", json!({ "name": "Lower pitch" })).await.created();
    let body = practice(team, "2026-09-05T18:30", "2026-09-05T20:00");
    let more = json!({ "type": "game", "duties": [{ "name": "Bring oranges" }], "location_id": location.id() });
    let event = w.owner.post("/events", with(body, more)).await.created();
    let duty = event.data()["duties"][0]["id"].as_str().unwrap().to_owned();
    let result = json!({ "score_for": 1, "score_against": 0 });
    w.owner.put(&format!("/events/{}/result", event.id()), result).await.ok();
    let feed = w.owner.post("/calendar_feeds", json!({ "team_id": team })).await.created();
    (event.id().to_owned(), duty, location.id().to_owned(), feed.id().to_owned())
}

/// Posts an announcement to a team with a coach.
async fn post_message(w: &World) -> String {
    let team = w.owner.post("/teams", json!({ "name": "Rovers" })).await.created();
    let coach = json!({ "first_name": "Ana", "role": "coach", "email": "ana@example.org" });
    w.owner.post(&format!("/teams/{}/roster", team.id()), coach).await.created();
    let body =
        json!({ "team_id": team.id(), "kind": "announcement", "subject": "News", "body": "x" });
    w.owner.post("/messages", body).await.created().id().to_owned()
}

/// All rows of the database, except those that record visits.
async fn database_rows(w: &World) -> Vec<String> {
    // The last use of a key is written in the background.
    w.node.app.finish().await;
    let read = w.db().read(Scope::system("all"), |db| {
        let mut rows = Vec::new();
        for table in
            db.tables()?.iter().filter(|table| !VISIT_TABLES.contains(&table.name.as_str()))
        {
            db.rows(table, |row| {
                rows.push(format!("{}: {row:?}", table.name));
                Ok(())
            })?;
        }
        Ok::<_, store::Error>(rows)
    });
    read.await.unwrap()
}

#[track_caller]
fn assert_safe(answer: &TestResponse, path: &str) {
    let policy = answer.header("content-security-policy").unwrap_or_default();
    assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
    assert!(
        !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
        "{path}: {policy}"
    );
    assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    assert!(
        matches!(answer.header("referrer-policy"), Some("same-origin" | "no-referrer")),
        "{path}"
    );
    assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    for inline in ["<style", " style=", " onclick=", " onload=", "javascript:"] {
        assert!(!answer.text.contains(inline), "{path} has {inline}");
    }
}

both! {
    async fn private_pages_require_signing_in(w: &World) {
        let fixture = PageFixture::new(w).await;
        let before = database_rows(w).await;
        for route in page_routes().iter().filter(|route| !is_public(&route.path)) {
            let path = fixture.fill_path(route);
            let mut nobody = w.anonymous_browser();
            nobody.get("/sign-in").await;
            if route.accepts_get {
                let answer = nobody.get(&path).await;
                let to = answer.local_redirect().unwrap_or_else(|| panic!("{path}: {} {}", answer.status, answer.text));
                assert!(to.starts_with("/sign-in"), "{path} leads to {to}");
            }
            if route.accepts_post {
                let answer = nobody.post(&path, &[]).await;
                let redirects = answer.local_redirect().is_some_and(|to| to.starts_with("/sign-in"));
                assert!(redirects || matches!(answer.status, 400..500), "{path}: {}", answer.status);
            }
        }
        assert_eq!(database_rows(w).await, before);
    }

    async fn members_cannot_use_the_admin_area(w: &World) {
        let mut fixture = PageFixture::new(w).await;
        let before = database_rows(w).await;
        for route in page_routes().iter().filter(|route| route.path.starts_with("/admin")) {
            let path = fixture.fill_path(route);
            if route.accepts_get {
                let answer = fixture.member.get(&path).await;
                assert_eq!(answer.status, 403, "{path}: {}", answer.text);
                assert_safe(&answer, &path);
            }
            if route.accepts_post {
                assert_eq!(fixture.member.post(&path, &[]).await.status, 403, "{path}");
            }
        }
        assert_eq!(database_rows(w).await, before);
    }

    async fn owners_of_another_club_get_404(w: &World) {
        let mut fixture = PageFixture::new(w).await;
        let before = database_rows(w).await;
        let routes = page_routes();
        let mut checked = 0;
        let object_routes: Vec<_> = routes.iter().filter(|route| fixture.names_existing_object(route)).collect();
        for route in object_routes {
            let path = fixture.fill_path(route);
            if route.accepts_get {
                assert_eq!(fixture.stranger.get(&path).await.status, 404, "{path}");
                // The page exists; only the stranger must not see it.
                assert_eq!(fixture.owner.get(&path).await.status, 200, "{path}");
            }
            if route.accepts_post {
                let answer = fixture.stranger.post(&path, &[("name", "taken"), ("role", "owner")]).await;
                // Without a mail server, a reset is refused for everybody.
                let refused = if path.ends_with("/reset") { 409 } else { 404 };
                assert_eq!(answer.status, refused, "{path}: {}", answer.text);
            }
            checked += 1;
        }
        assert!(checked > 5, "no page has an object of the fixture in its path");
        assert_eq!(database_rows(w).await, before);
    }

    async fn rejects_forms_from_another_site(w: &World) {
        let fixture = PageFixture::new(w).await;
        let mut other = w.anonymous_browser();
        other.get("/sign-in").await;
        let (own_token, other_token) = (fixture.owner.csrf.clone().unwrap(), other.csrf.clone().unwrap());
        let home = format!("http://{}", w.node.address);
        let before = database_rows(w).await;
        for route in page_routes().iter().filter(|route| route.accepts_post && !route.path.starts_with(ONE_CLICK)) {
            let path = fixture.fill_path(route);
            let token = |value: &str| vec![("csrf".to_owned(), value.to_owned())];
            let attacks = [
                ("cross-site", token(&own_token), vec![("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")]),
                ("same-site", token(&own_token), vec![("Sec-Fetch-Site", "same-site"), ("Origin", &home)]),
                ("foreign origin", token(&own_token), vec![("Origin", "https://evil.example")]),
                ("no origin", token(&own_token), vec![]),
                ("null origin", token(&own_token), vec![("Origin", "null")]),
                ("no token", vec![], vec![("Sec-Fetch-Site", "same-origin"), ("Origin", &home)]),
                ("another browser's token", token(&other_token), vec![("Sec-Fetch-Site", "same-origin"), ("Origin", &home)]),
            ];
            for (name, fields, headers) in attacks {
                let fields: Vec<_> = fields.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
                let answer = fixture.owner.clone().send(&path, &fields, &headers).await;
                assert_eq!(answer.status, 403, "{path} with {name}: {}", answer.text);
            }
        }
        assert_eq!(database_rows(w).await, before);
    }

    async fn every_page_sends_security_headers(w: &World) {
        let mut fixture = PageFixture::new(w).await;
        for route in page_routes().iter().filter(|route| route.accepts_get) {
            let path = fixture.fill_path(route);
            for browser in [&mut w.anonymous_browser(), &mut fixture.owner] {
                let answer = browser.get(&path).await;
                assert!(answer.status < 500, "{path}: {}", answer.text);
                if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
                    assert_safe(&answer, &path);
                }
            }
        }
    }

    async fn pages_ignore_the_host_header(w: &World) {
        let fixture = PageFixture::new(w).await;
        let cookie = fixture.owner.cookie.clone().unwrap();
        for route in page_routes().iter().filter(|route| route.accepts_get) {
            let path = fixture.fill_path(route);
            let text = format!(
                "GET {path} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n\
                 Forwarded: host=evil.example\r\nCookie: __Host-touchline={cookie}\r\n\
                 Accept: text/html\r\nConnection: close\r\n\r\n"
            );
            let answer = w.nobody.send_raw(text.as_bytes()).await;
            assert!(!answer.contains("evil.example"), "{path}: {answer}");
        }
    }

    async fn never_redirects_to_another_site(w: &World) {
        let mut fixture = PageFixture::new(w).await;
        let hostile = [
            "https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "/%09/evil.example",
            "javascript:alert(1)", "http:evil.example", "/\t/evil.example", "https:evil.example", "@evil.example",
        ];
        for route in page_routes().iter().filter(|route| route.accepts_get) {
            for next in hostile {
                let path = format!("{}?next={}", fixture.fill_path(route), touchline::web::visitor::url_encode(next));
                for browser in [&mut w.anonymous_browser(), &mut fixture.owner] {
                    let answer = browser.get(&path).await;
                    let location = answer.header("location").unwrap_or("/");
                    assert!(location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\"),
                        "{path} leads to {location}");
                    for link in ["href=\"https://evil", "href=\"//evil", "href=\"/\\evil", "href=\"javascript:"] {
                        assert!(!answer.text.contains(link), "{path} has {link}");
                    }
                }
            }
        }
    }
}
