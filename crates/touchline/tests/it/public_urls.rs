//! Tests of absolute URLs: every link points to this service, whatever host a request names.

use store::{Scope, bind};
use testkit::{Client, Node, World, both, json};
use touchline::accounts::user::Role;

use crate::events::hawks;

const EVIL: &str = "evil.example";

/// The URL of a new calendar feed, requested with this host header.
async fn feed_url(client: &Client, host: Option<&str>, team: &str) -> String {
    let client = host.map_or(client.clone(), |host| client.with_header("Host", host));
    let feed = client.post("/calendar_feeds", json!({ "team_id": team })).await.created();
    feed.data()["url"].as_str().unwrap().to_owned()
}

/// A node that trusts the test as its proxy.
async fn behind_a_proxy(w: &World) -> Node {
    w.node(|config| config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()]).await
}

both! {
    async fn feed_url_is_absolute_without_a_base_url(w: &World) {
        let team = hawks(w).await;
        let address = w.node.address;
        let url = feed_url(&w.owner, None, &team).await;
        let path = url.strip_prefix(&format!("http://{address}")).unwrap();
        w.nobody.get(path).await.ok().shows("BEGIN:VCALENDAR");
        let port = address.port();
        for host in [format!("localhost:{port}"), format!("192.168.1.5:{port}"), "club.local".to_owned()] {
            let url = feed_url(&w.owner, Some(&host), &team).await;
            assert!(url.starts_with(&format!("http://{host}/calendar/")), "{url}");
        }
        for host in [EVIL, "club.example.org", "localhost.evil.example", "user@localhost", "localhost/path"] {
            let url = feed_url(&w.owner, Some(host), &team).await;
            assert!(url.starts_with(&format!("http://{address}/calendar/")), "{host}: {url}");
        }
        let spoofed = w.owner.with_header("X-Forwarded-Proto", "https").with_header("X-Forwarded-Host", EVIL);
        assert!(feed_url(&spoofed, None, &team).await.starts_with(&format!("http://{address}/")));
    }

    async fn trusted_proxy_sets_the_public_host(w: &World) {
        let team = hawks(w).await;
        let node = behind_a_proxy(w).await;
        let owner = w.owner.at(node.address).with_header("X-Forwarded-Proto", "https");
        let url = feed_url(&owner, Some("club.example.org"), &team).await;
        assert!(url.starts_with("https://club.example.org/calendar/"), "{url}");
        let url = feed_url(&owner, Some("club..example.org"), &team).await;
        assert!(url.starts_with(&format!("http://{}/calendar/", node.address)), "{url}");
        node.stop().await;
    }

    async fn base_url_overrides_every_host(w: &World) {
        let team = hawks(w).await;
        let node = w.node(|config| {
            config.base_url = Some("https://club.example.org".parse().unwrap());
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let owner = w.owner.at(node.address);
        for host in [EVIL, "localhost", "127.0.0.1"] {
            let url = feed_url(&owner, Some(host), &team).await;
            assert!(url.starts_with("https://club.example.org/calendar/"), "{host}: {url}");
        }
        node.stop().await;
    }

    async fn never_stores_or_caches_the_request_host(w: &World) {
        let team = hawks(w).await;
        for name in ["Kites", "Terns"] {
            feed_url(&w.owner, None, &crate::events::team(w, name).await).await;
        }
        let node = behind_a_proxy(w).await;
        let evil = w.owner.at(node.address).with_header("Host", EVIL).with_header("Idempotency-Key", "feed");
        assert!(feed_url(&evil, None, &team).await.contains(EVIL), "only the sender gets it");
        let stored = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(String,)>("select data from idempotency where account_id = :account order by key", bind! {})
        });
        assert!(!format!("{:?}", stored.await.unwrap()).contains(EVIL));
        assert!(!format!("{:?}", w.notifications().await).contains(EVIL));
        // The first request fills the cache, the second is answered from it.
        for list in ["/calendar_feeds?limit=1", "/teams?limit=1"] {
            for host in [EVIL, "club.example.org"] {
                let page = w.owner.at(node.address).with_header("Host", host).get(list).await.ok();
                assert!(page.header("link").is_some_and(|link| link.starts_with("</api/")), "{:?}", page.headers);
                assert!(!page.text.contains(host) && !format!("{:?}", page.headers).contains(host));
            }
        }
        let metadata = w.nobody.at(node.address).with_header("Host", EVIL);
        let metadata = metadata.page("GET", "/.well-known/oauth-authorization-server", None).await;
        assert!(!metadata.text.contains(EVIL), "{}", metadata.text);
        node.stop().await;
    }

    async fn invitation_link_uses_the_host_of_the_browser(w: &World) {
        let owner = w.user(Role::Owner, "owner@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        browser.get("/admin/members/invite").await.ok();
        let fields = [("email", "new@harbour.example"), ("role", "member")];
        browser.post("/admin/members/invite", &fields).await.ok().shows(&format!("http://{}/join/", w.node.address));
    }
}
