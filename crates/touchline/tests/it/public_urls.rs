//! Absolute URLs: every link leads to this service, whatever host a request names.

use store::{Scope, bind};
use testkit::{Client, Node, World, both, json};
use touchline::accounts::user::Role;

use crate::events::hawks;

const EVIL: &str = "evil.example";

/// The URL of a new calendar feed, as a caller that names this host gets it.
async fn feed_url(client: &Client, host: Option<&str>, team: &str) -> String {
    let client = host.map_or(client.clone(), |host| client.with("Host", host));
    let made = client.post("/calendar_feeds", json!({ "team_id": team })).await.created();
    made.data()["url"].as_str().unwrap().to_owned()
}

/// A node that trusts the tests as its proxy.
async fn behind_a_proxy(w: &World) -> Node {
    w.node(|config| config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()]).await
}

both! {
    async fn a_feed_has_an_absolute_url_without_a_base_url(w: &World) {
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
        let spoofed = w.owner.with("X-Forwarded-Proto", "https").with("X-Forwarded-Host", EVIL);
        assert!(feed_url(&spoofed, None, &team).await.starts_with(&format!("http://{address}/")));
    }

    async fn a_trusted_proxy_names_the_public_host(w: &World) {
        let team = hawks(w).await;
        let node = behind_a_proxy(w).await;
        let owner = w.owner.at(node.address).with("X-Forwarded-Proto", "https");
        let url = feed_url(&owner, Some("club.example.org"), &team).await;
        assert!(url.starts_with("https://club.example.org/calendar/"), "{url}");
        let url = feed_url(&owner, Some("club..example.org"), &team).await;
        assert!(url.starts_with(&format!("http://{}/calendar/", node.address)), "{url}");
        node.stop().await;
    }

    async fn a_base_url_wins_over_every_host(w: &World) {
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

    async fn no_host_of_a_request_is_stored_or_cached(w: &World) {
        let team = hawks(w).await;
        for name in ["Kites", "Terns"] {
            feed_url(&w.owner, None, &crate::events::team(w, name).await).await;
        }
        let node = behind_a_proxy(w).await;
        let evil = w.owner.at(node.address).with("Host", EVIL).with("Idempotency-Key", "feed");
        assert!(feed_url(&evil, None, &team).await.contains(EVIL), "only the sender gets it");
        let kept = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(String,)>("select data from idempotency where account_id = :account order by key", bind! {})
        });
        assert!(!format!("{:?}", kept.await.unwrap()).contains(EVIL));
        assert!(!format!("{:?}", w.news().await).contains(EVIL));
        // The first caller fills the cache, the second is answered from it.
        for list in ["/calendar_feeds?limit=1", "/teams?limit=1"] {
            for host in [EVIL, "club.example.org"] {
                let page = w.owner.at(node.address).with("Host", host).get(list).await.ok();
                assert!(page.header("link").is_some_and(|link| link.starts_with("</api/")), "{:?}", page.headers);
                assert!(!page.text.contains(host) && !format!("{:?}", page.headers).contains(host));
            }
        }
        let metadata = w.nobody.at(node.address).with("Host", EVIL);
        let metadata = metadata.page("GET", "/.well-known/oauth-authorization-server", None).await;
        assert!(!metadata.text.contains(EVIL), "{}", metadata.text);
        node.stop().await;
    }

    async fn an_invitation_link_names_the_host_of_the_browser(w: &World) {
        let owner = w.user(Role::Owner, "owner@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        browser.get("/admin/members/invite").await.ok();
        let invited = [("email", "new@harbour.example"), ("role", "member")];
        browser.post("/admin/members/invite", &invited).await.ok().shows(&format!("http://{}/join/", w.node.address));
    }
}
