//! Every page of the source against everybody who should not get anywhere with it: people who have not
//! signed in, members, owners of another club, and other sites that use somebody's browser.

use store::Scope;
use testkit::{Answer, Browser, World, both, json};
use touchline::accounts::user::Role;
use touchline::ids::{AppId, UserId};
use touchline::joining::invitation::{self, NewInvitation};
use touchline::oauth::app::Kind;
use touchline::oauth::secret;
use touchline::webhooks::access::Manager;
use touchline::webhooks::asking;
use touchline::webhooks::edit::{self, NewWebhook};

use crate::dues;
use crate::page_routes::{Route, page_routes};

/// Pages for people who have not signed in: every other page sends them to sign in first. An app that is not
/// known is refused before anybody is asked who they are.
const FOR_ANYBODY: [&str; 14] = [
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
    "/confirm-address",
    "/checkout",
];
/// What a mail program calls with one click and without a cookie. The link is the credential.
const ONE_CLICK: &str = "/unsubscribe/{token}";
/// Tables that tell of visits and not of what was asked for.
const OF_VISITS: [&str; 3] = ["session", "usage_hour", "sign_in_failure"];

fn is_for_anybody(path: &str) -> bool {
    let below = |open: &str| path.strip_prefix(open).is_some_and(|rest| rest.starts_with('/'));
    FOR_ANYBODY.iter().any(|open| path == *open || (open.len() > 1 && below(open)))
}

/// Harbour with one of everything that stands in the address of a page.
struct Scene {
    /// What stands for the last name in an address, and whether it is there.
    objects: Vec<(&'static str, String, bool)>,
    owner: Browser,
    member: Browser,
    /// The owner of another club.
    stranger: Browser,
}

impl Scene {
    async fn set(w: &World) -> Self {
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

    /// The address of a page about something that is there, as far as we have one.
    fn place(&self, route: &Route) -> String {
        let mut place = route.path.clone();
        // The longer addresses come last, and their own name stands further back.
        for (address, id, _) in self.objects.iter().rev() {
            if let Some(rest) = place.strip_prefix(address) {
                let (start, _) = address.rsplit_once('{').unwrap();
                place = format!("{start}{id}{rest}");
            }
        }
        assert!(!place.contains('{'), "nothing stands for {place}; make it in `objects`");
        place
    }

    fn is_about_something(&self, route: &Route) -> bool {
        self.objects.iter().any(|(address, _, there)| *there && route.path.starts_with(address))
    }
}

async fn objects(w: &World, owner: UserId, member: UserId) -> Vec<(&'static str, String, bool)> {
    let (key, _) = w.caller(testkit::world::new_key("teams:read")).await;
    let app = w.app(Kind::Server, "https://app.example/back", "teams:read").await;
    let id: AppId = app.id;
    let scope = || Scope::account(w.harbour, "test");
    let (secret, _) = w.db().write(scope(), move |tx| secret::add(tx, id)).await.unwrap();
    let email = "invited@harbour.example".to_owned();
    let new = NewInvitation { email, role: Role::Member, tie: None };
    let invited = w.db().write(scope(), move |tx| invitation::invite(tx, owner, new)).await;
    let means = crate::webhooks::means(&w.node);
    let new = NewWebhook {
        url: "https://hooks.example.org/x".to_owned(),
        events: vec!["*".to_owned()],
        description: None,
        team_ids: None,
        ordering: None,
    };
    let subscribe = move |tx: &store::Tx<'_>| {
        let (webhook, _) = edit::create(tx, &means, new)?;
        asking::test(tx, &Manager::everywhere(), webhook.id)
    };
    let delivery = w.db().write(scope(), subscribe).await.unwrap();
    let (product, order, code) = sold(w).await;
    let (team, due, payment) = due(w).await;
    // An id of the right form that nothing has.
    let nothing = |kind: &str| format!("{kind}_{}", &id.to_string()[4..]);
    vec![
        ("/admin/keys/{id}", key.id.to_string(), true),
        ("/admin/members/{user}", member.to_string(), true),
        ("/admin/members/invitations/{id}", invited.unwrap().0.id.to_string(), true),
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
        ("/store/orders/{id}", order, true),
        ("/store/products/{id}", product, true),
        ("/admin/webhooks/{id}", delivery.webhook_id.to_string(), true),
        ("/admin/webhooks/{id}/deliveries/{delivery}", delivery.id.to_string(), true),
        ("/admin/dues/teams/{team}", team.clone(), true),
        ("/admin/dues/{id}", due.clone(), true),
        ("/admin/dues/{id}/payments/{payment}", payment, true),
        ("/dues/teams/{team}", team, true),
        ("/dues/{id}", due, true),
    ]
}

/// A product, an order of it and a code.
async fn sold(w: &World) -> (String, String, String) {
    let product = json!({ "name": "Home kit", "price": 2499 });
    let product = w.owner.post("/products", product).await.created();
    let line = json!({ "product_id": product.id(), "quantity": 1 });
    let order = json!({ "lines": [line], "buyer": { "name": "Rui" } });
    let order = w.owner.post("/orders", order).await.created();
    let code = json!({ "code": "SIBLING10", "percent_bp": 1000 });
    let code = w.owner.post("/discounts", code).await.created();
    (product.id().to_owned(), order.id().to_owned(), code.id().to_owned())
}

/// A team with a due, of which something was paid.
async fn due(w: &World) -> (String, String, String) {
    let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created().id().to_owned();
    let kid = w.joins(&team, json!({ "first_name": "Max" })).await;
    let due = dues::charged(w, &team, &kid.member, json!({})).await;
    let paid = dues::pay(w, &due, 2_500).await.created().id().to_owned();
    (team, due["id"].as_str().unwrap().to_owned(), paid)
}

/// Everything that is kept, but for what tells of visits.
async fn everything(w: &World) -> Vec<String> {
    // That a key was used is noted beside the request.
    w.node.app.finish().await;
    let read = w.db().read(Scope::system("all"), |db| {
        let mut all = Vec::new();
        for table in db.tables()?.iter().filter(|table| !OF_VISITS.contains(&table.name.as_str())) {
            db.rows(table, |row| {
                all.push(format!("{}: {row:?}", table.name));
                Ok(())
            })?;
        }
        Ok::<_, store::Error>(all)
    });
    read.await.unwrap()
}

#[track_caller]
fn is_safe(answer: &Answer, place: &str) {
    let policy = answer.header("content-security-policy").unwrap_or_default();
    assert!(policy.starts_with("default-src 'none'"), "{place}: {policy}");
    assert!(
        !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
        "{place}: {policy}"
    );
    assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{place}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{place}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{place}");
    assert!(
        matches!(answer.header("referrer-policy"), Some("same-origin" | "no-referrer")),
        "{place}"
    );
    assert_eq!(answer.header("access-control-allow-origin"), None, "{place}");
    for inline in ["<style", " style=", " onclick=", " onload=", "javascript:"] {
        assert!(!answer.text.contains(inline), "{place} has {inline}");
    }
}

both! {
    async fn pages_ask_who_is_there(w: &World) {
        let scene = Scene::set(w).await;
        let before = everything(w).await;
        for route in page_routes().iter().filter(|route| !is_for_anybody(&route.path)) {
            let place = scene.place(route);
            let mut nobody = w.newcomer();
            nobody.get("/sign-in").await;
            if route.opens {
                let answer = nobody.get(&place).await;
                let to = answer.next().unwrap_or_else(|| panic!("{place}: {} {}", answer.status, answer.text));
                assert!(to.starts_with("/sign-in"), "{place} leads to {to}");
            }
            if route.takes {
                let answer = nobody.post(&place, &[]).await;
                let leads = answer.next().is_some_and(|to| to.starts_with("/sign-in"));
                assert!(leads || matches!(answer.status, 400..500), "{place}: {}", answer.status);
            }
        }
        assert_eq!(everything(w).await, before);
    }

    async fn members_get_nothing_of_the_admin_area(w: &World) {
        let mut scene = Scene::set(w).await;
        let before = everything(w).await;
        for route in page_routes().iter().filter(|route| route.path.starts_with("/admin")) {
            let place = scene.place(route);
            if route.opens {
                let answer = scene.member.get(&place).await;
                assert_eq!(answer.status, 403, "{place}: {}", answer.text);
                is_safe(&answer, &place);
            }
            if route.takes {
                assert_eq!(scene.member.post(&place, &[]).await.status, 403, "{place}");
            }
        }
        assert_eq!(everything(w).await, before);
    }

    async fn owners_of_another_club_find_nothing(w: &World) {
        let mut scene = Scene::set(w).await;
        let before = everything(w).await;
        let routes = page_routes();
        let mut seen = 0;
        let about: Vec<_> = routes.iter().filter(|route| scene.is_about_something(route)).collect();
        for route in about {
            let place = scene.place(route);
            if route.opens {
                assert_eq!(scene.stranger.get(&place).await.status, 404, "{place}");
                // It is there; only the stranger must not know.
                assert_eq!(scene.owner.get(&place).await.status, 200, "{place}");
            }
            if route.takes {
                let answer = scene.stranger.post(&place, &[("name", "taken"), ("role", "owner")]).await;
                // Nobody is sent a letter where there is no mail server, whoever it is for.
                let refused = if place.ends_with("/reset") { 409 } else { 404 };
                assert_eq!(answer.status, refused, "{place}: {}", answer.text);
            }
            seen += 1;
        }
        assert!(seen > 5, "the objects of the scene stand in no address any more");
        assert_eq!(everything(w).await, before);
    }

    async fn no_form_is_taken_from_another_site(w: &World) {
        let scene = Scene::set(w).await;
        let mut other = w.newcomer();
        other.get("/sign-in").await;
        let (own, foreign) = (scene.owner.csrf.clone().unwrap(), other.csrf.clone().unwrap());
        let home = format!("http://{}", w.node.address);
        let before = everything(w).await;
        for route in page_routes().iter().filter(|route| route.takes && route.path != ONE_CLICK) {
            let place = scene.place(route);
            let token = |value: &str| vec![("csrf".to_owned(), value.to_owned())];
            let attacks = [
                ("cross-site", token(&own), vec![("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")]),
                ("same-site", token(&own), vec![("Sec-Fetch-Site", "same-site"), ("Origin", &home)]),
                ("foreign origin", token(&own), vec![("Origin", "https://evil.example")]),
                ("no origin", token(&own), vec![]),
                ("null origin", token(&own), vec![("Origin", "null")]),
                ("no token", vec![], vec![("Sec-Fetch-Site", "same-origin"), ("Origin", &home)]),
                ("another browser's token", token(&foreign), vec![("Sec-Fetch-Site", "same-origin"), ("Origin", &home)]),
            ];
            for (name, fields, headers) in attacks {
                let fields: Vec<_> = fields.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
                let answer = scene.owner.clone().send(&place, &fields, &headers).await;
                assert_eq!(answer.status, 403, "{place} with {name}: {}", answer.text);
            }
        }
        assert_eq!(everything(w).await, before);
    }

    async fn every_page_is_fenced_in(w: &World) {
        let mut scene = Scene::set(w).await;
        for route in page_routes().iter().filter(|route| route.opens) {
            let place = scene.place(route);
            for browser in [&mut w.newcomer(), &mut scene.owner] {
                let answer = browser.get(&place).await;
                assert!(answer.status < 500, "{place}: {}", answer.text);
                if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
                    is_safe(&answer, &place);
                }
            }
        }
    }

    async fn no_page_believes_the_host_it_is_asked_for(w: &World) {
        let scene = Scene::set(w).await;
        let cookie = scene.owner.cookie.clone().unwrap();
        for route in page_routes().iter().filter(|route| route.opens) {
            let place = scene.place(route);
            let text = format!(
                "GET {place} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n\
                 Forwarded: host=evil.example\r\nCookie: __Host-touchline={cookie}\r\n\
                 Accept: text/html\r\nConnection: close\r\n\r\n"
            );
            let answer = w.nobody.raw(text.as_bytes()).await;
            assert!(!answer.contains("evil.example"), "{place}: {answer}");
        }
    }

    async fn nobody_is_sent_to_another_place(w: &World) {
        let mut scene = Scene::set(w).await;
        let bad = [
            "https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "/%09/evil.example",
            "javascript:alert(1)", "http:evil.example", "/\t/evil.example", "https:evil.example", "@evil.example",
        ];
        for route in page_routes().iter().filter(|route| route.opens) {
            for next in bad {
                let place = format!("{}?next={}", scene.place(route), touchline::web::visitor::encoded(next));
                for browser in [&mut w.newcomer(), &mut scene.owner] {
                    let answer = browser.get(&place).await;
                    let location = answer.header("location").unwrap_or("/");
                    assert!(location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\"),
                        "{place} leads to {location}");
                    for link in ["href=\"https://evil", "href=\"//evil", "href=\"/\\evil", "href=\"javascript:"] {
                        assert!(!answer.text.contains(link), "{place} has {link}");
                    }
                }
            }
        }
    }
}
