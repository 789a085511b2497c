//! Tests of the tabs "Dues" and "Store" of a team, and of the pages that they lead to.

use testkit::{TestResponse, World, both, json};
use touchline::accounts::user::Role;
use touchline::ids::UserId;

use crate::dues::charge_member;
use crate::dues_pages::HOSTILE;
use crate::shop::product;

/// A tab of a team's header: its target, and whether it is the current one.
fn tab(page: &TestResponse, label: &str) -> Option<(String, bool)> {
    let (_, rest) = page.text.split_once("class=\"tabset ").expect("the header of a team");
    let (tabs, _) = rest.split_once("</nav>").unwrap();
    let tab = tabs.split("<a href=\"").find(|tab| tab.contains(&format!(">{label}</a>")))?;
    let href = tab.split('"').next().unwrap().replace("&#38;", "&");
    Some((href, tab.contains("aria-current=\"page\"")))
}

/// The target of a tab on the page of a team.
async fn target(w: &World, user: UserId, team: &str, label: &str) -> Option<String> {
    let page = w.browser(user).await.get(&format!("/teams/{team}")).await.ok();
    let (href, is_current) = tab(&page, label)?;
    assert!(!is_current);
    Some(href)
}

both! {
    async fn the_dues_tab_leads_staff_to_the_statement_and_families_to_their_dues(w: &World) {
        let club = w.club().await;
        let zoe = w.owner.get(&format!("/people/{}", club.zoe.person)).await.ok();
        let mia = w.user(Role::Member, "mia@example.org").await;
        w.link(zoe.data()["guardians"][0]["id"].as_str().unwrap(), mia.id).await;
        let ben = w.add_member(&club.otters, json!({ "first_name": "Ben", "guardians": [{ "id": club.pat }] })).await;
        let third = w.owner.post("/teams", json!({ "name": "Third" })).await.created();
        let statement = Some(format!("/dues/teams/{}", club.hawks));
        let own = format!("/dues?team={}", club.hawks);
        let dues_tab = async |user| target(w, user, &club.hawks, "Dues").await;
        for user in [club.coach.id, club.admin.id, club.owner.id] {
            assert_eq!(dues_tab(user).await, statement);
        }
        for user in [club.parent.id, club.player.id, mia.id] {
            assert_eq!(dues_tab(user).await, None, "nobody was charged");
        }

        charge_member(w, &club.otters, &ben.member, json!({ "title": "Otters fee", "amount": 7700 })).await;
        assert_eq!(dues_tab(club.parent.id).await, None, "the dues of another team");
        charge_member(w, &club.hawks, &club.max.member, json!({ "title": HOSTILE, "amount": 4400 })).await;
        assert_eq!(dues_tab(club.parent.id).await.as_ref(), Some(&own));
        for user in [club.player.id, mia.id] {
            assert_eq!(dues_tab(user).await, None, "the dues of another family");
        }
        assert_eq!(dues_tab(club.coach.id).await, statement);

        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get(&own).await.ok().shows("<h1><bdi>Hawks</bdi></h1>").shows("€44.00").shows("href=\"/dues\"");
        assert_eq!(tab(&page, "Dues"), Some((own.clone(), true)));
        assert!(!page.text.contains("Otters fee") && !page.text.contains("77.00") && !page.text.contains("<img src=x"));
        let page = parent.get("/dues").await.ok().shows("Otters fee").shows("€44.00");
        assert!(!page.text.contains("class=\"tabset "));
        let page = parent.get(&format!("/dues?team={}", club.otters)).await.ok().shows("<h1><bdi>Otters</bdi></h1>").shows("Otters fee");
        assert!(!page.text.contains("€44.00"));
        let page = w.browser(mia.id).await.get(&own).await.ok().shows("<h1><bdi>Hawks</bdi></h1>").shows("You owe nothing");
        assert!(!page.text.contains("€44.00"));
        for team in [third.id(), "nonsense"] {
            assert_eq!(parent.get(&format!("/dues?team={team}")).await.status, 404, "{team}");
        }
        assert_eq!(w.browser(club.outsider.id).await.get(&own).await.status, 404);

        let page = w.browser(club.coach.id).await.get(statement.as_ref().unwrap()).await.ok().shows("<h1><bdi>Hawks</bdi></h1>").shows("44.00");
        assert_eq!(tab(&page, "Dues"), statement.map(|path| (path, true)));
        assert!(!page.text.contains("77.00"));
    }

    async fn the_store_tab_is_shown_while_the_team_has_something_on_sale(w: &World) {
        let club = w.club().await;
        let store_tab = async |user| target(w, user, &club.hawks, "Store").await;
        let everybody = [club.coach.id, club.parent.id, club.player.id, club.admin.id];
        product(w, &club.otters, json!({ "name": "Otters kit" })).await;
        product(w, &club.hawks, json!({ "name": "Club scarf", "team_id": null })).await;
        let kit = product(w, &club.hawks, json!({ "name": HOSTILE, "on_sale_from": "2026-12-01T00:00:00Z" })).await;
        for user in everybody {
            assert_eq!(store_tab(user).await, None, "nothing of the team is on sale yet");
        }

        let path = format!("/products/{}", kit.id());
        w.owner.patch(&path, json!({ "on_sale_from": null })).await.ok();
        let (store, admin_store) = (format!("/store?team={}", club.hawks), format!("/admin/store?team={}", club.hawks));
        for user in [club.coach.id, club.parent.id, club.player.id] {
            assert_eq!(store_tab(user).await.as_ref(), Some(&store));
        }
        assert_eq!(store_tab(club.admin.id).await.as_ref(), Some(&admin_store));
        for user in [club.coach.id, club.parent.id] {
            let page = w.browser(user).await.get(&store).await.ok().shows("<h1><bdi>Hawks</bdi></h1>").shows(&kit.id()[5..]).shows("href=\"/store\"");
            assert_eq!(tab(&page, "Store"), Some((store.clone(), true)));
            assert!(!page.text.contains("Otters kit") && !page.text.contains("Club scarf") && !page.text.contains("<img src=x"));
        }
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get("/store").await.ok().shows("Club scarf");
        assert!(!page.text.contains("class=\"tabset "));
        let page = w.browser(club.admin.id).await.get(&admin_store).await.ok().shows(&format!("/admin/store/products/{}", kit.id()));
        assert!(!page.text.contains("Otters kit") && !page.text.contains("Club scarf"));
        for team in [club.otters.as_str(), "nonsense"] {
            assert_eq!(parent.get(&format!("/store?team={team}")).await.status, 404, "{team}");
        }
        assert_eq!(w.browser(club.outsider.id).await.get(&store).await.status, 404);

        w.owner.patch(&path, json!({ "on_sale_until": "2020-01-01T00:00:00Z" })).await.ok();
        for user in everybody {
            assert_eq!(store_tab(user).await, None, "the sale is over");
        }
        parent.get(&store).await.ok().shows("<h1><bdi>Hawks</bdi></h1>").shows("Nothing is on sale now");
    }
}
