//! Tests of the pages that show families their dues and coaches the dues of their teams.

use testkit::{World, both, json, seconds};

use crate::cards::CardFixture;
use crate::dues::{charge_member, get_due};
use crate::dues_pages::{HOSTILE, treasurer};
use crate::mail::DAY;

both! {
    async fn families_see_only_their_own_dues(w: &World) {
        let (club, _) = treasurer(w).await;
        let ben = w.add_member(&club.otters, json!({ "first_name": "Ben", "last_name": HOSTILE, "guardians": [{ "id": club.pat }] })).await;
        let mut parent = w.browser(club.parent.id).await;
        parent.get("/dues").await.ok().shows("You owe nothing").shows("aria-current=\"page\"");
        let max = charge_member(w, &club.hawks, &club.max.member, json!({ "installment_count": 2, "due_on": "2026-10-01", "note": "IBAN <b>12</b>" })).await;
        let own = charge_member(w, &club.otters, &ben.member, json!({ "title": HOSTILE, "due_on": "2027-01-01" })).await;
        let zoe = charge_member(w, &club.hawks, &club.zoe.member, json!({ "title": "Somebody else’s" })).await;
        let path = |due: &testkit::Value, below: &str| format!("/dues/{}{below}", due["id"].as_str().unwrap());

        let page = parent.get("/dues").await.ok().shows("You owe €200.00").shows("Next payment: <b>€50.00</b>, due on 1 Oct 2026.").shows("Max").shows("</bdi>, <bdi>Max");
        assert!(!page.text.contains("Somebody else") && !page.text_without_csrf().contains("Zoe") && !page.text.contains("<img src=x"));
        assert!(!page.text.contains("Teams you manage") && !page.text.contains("by card"));
        parent.get(&path(&max, "")).await.ok().shows("Open balance: €100.00").shows("IBAN &#60;b&#62;12").shows("Pay the way your club asks for").shows("No payments yet");
        for below in ["", "/receipt"] {
            assert_eq!(parent.get(&path(&zoe, below)).await.status, 404, "{below}");
            parent.get(&path(&own, below)).await.ok();
        }
        assert_eq!(parent.post(&path(&zoe, "/pay"), &[]).await.status, 404);
        assert_eq!(parent.post(&path(&max, "/pay"), &[]).await.status, 409, "cards are not taken");
        assert_eq!(parent.get(&format!("/dues/teams/{}", club.hawks)).await.status, 403);
        assert_eq!(parent.get(&format!("/dues/teams/{}", w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created().id())).await.status, 404);

        let paid = w.owner.post(&path(&max, "/payments"), json!({ "amount": 11000, "method": "bank_transfer", "reference": "Statement 12" })).await.created();
        assert_eq!(get_due(w, &max).await["status"], "paid");
        parent.get("/dues").await.ok().shows("You owe €100.00").shows("You have <b>€10.00</b> in credit").shows("Paid").shows("+€10.00");
        parent.get(&path(&max, "/receipt")).await.ok().shows("Receipt").shows("€110.00").shows("Statement 12").shows("€10.00 overpaid").shows("Pat");
        w.owner.post(&path(&max, &format!("/payments/{}/refund", paid.id())), json!({})).await.ok();
        parent.get(&path(&max, "/receipt")).await.ok().shows("Refunded").shows("€100.00");

        w.advance_clock(seconds(DAY * 60));
        let mut parent = w.browser(club.parent.id).await;
        parent.get("/dues").await.ok().shows("overdue").shows("Overdue");
        let mut outsider = w.browser(club.outsider.id).await;
        outsider.get("/dues").await.ok().shows("You owe nothing");
        assert_eq!(outsider.get(&path(&max, "")).await.status, 404);
        let mut player = w.browser(club.player.id).await;
        player.get("/dues").await.ok().shows("You owe nothing");
        assert_eq!(player.get(&path(&max, "")).await.status, 404);
        // An admin can open any family's due, but it isn't listed among their own.
        w.browser(club.admin.id).await.get("/dues").await.ok().shows("You owe nothing");
        w.browser(club.admin.id).await.get(&path(&max, "")).await.ok();
    }

    async fn coaches_see_the_statement_of_their_own_teams(w: &World) {
        let (club, _) = treasurer(w).await;
        charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        charge_member(w, &club.otters, &club.ole.member, json!({ "amount": 7777 })).await;
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get("/dues").await.ok().shows("Teams you manage").shows(&format!("/dues/teams/{}", club.hawks)).shows("You owe nothing");
        assert!(!page.text.contains(&club.otters) && !page.text_without_csrf().contains("Max"));
        let page = coach.get(&format!("/dues/teams/{}", club.hawks)).await.ok().shows("Statement of Hawks").shows("Pat").shows("100.00");
        assert!(!page.text.contains("/admin/dues") && !page.text.contains("77.77"));
        assert_eq!(coach.get(&format!("/dues/teams/{}", club.otters)).await.status, 404);
        assert_eq!(coach.get(&format!("/admin/dues/teams/{}", club.hawks)).await.status, 403);
        assert_eq!(coach.get("/admin/dues").await.status, 403);
    }

    async fn pays_a_due_by_card(w: &World) {
        let (club, _) = treasurer(w).await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "installment_count": 2 })).await;
        let other = charge_member(w, &club.hawks, &club.zoe.member, json!({})).await;
        let fixture = CardFixture::start(w).await;
        let home = w.browser(club.parent.id).await;
        let mut parent = testkit::Browser::new(fixture.node.address).with_cookie(home.cookie.clone());
        let path = format!("/dues/{}", due["id"].as_str().unwrap());
        parent.get("/dues").await.ok().shows("by card");
        let page = parent.get(&path).await.ok().shows("Pay the next installment (€50.00) by card").shows("Pay €100.00 by card");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.ends_with("form-action 'self' https://checkout.stripe.com"), "{policy}");
        let sent = parent.post(&format!("{path}/pay"), &[("amount", "5000")]).await;
        let pages = fixture.stripe.objects("cs");
        assert_eq!((sent.status, sent.header("location")), (303, pages[0]["url"].as_str()));
        // A second click leads to the same checkout.
        let again = parent.post(&format!("{path}/pay"), &[("amount", "5000")]).await;
        assert_eq!((again.header("location"), fixture.stripe.objects("cs").len()), (sent.header("location"), 1));
        for amount in ["x", "0", "-5", "99999999999999999999"] {
            assert_eq!(parent.post(&format!("{path}/pay"), &[("amount", amount)]).await.status, 409, "{amount}");
        }
        assert_eq!(parent.post(&format!("{path}/pay"), &[("amount", "10001")]).await.status, 422);
        assert_eq!(parent.post(&format!("/dues/{}/pay", other["id"].as_str().unwrap()), &[]).await.status, 404);
        let session = fixture.stripe.pay(&fixture.only_session_id());
        fixture.deliver_event(w, "checkout.session.completed", &session).await;
        let now = get_due(w, &due).await;
        assert_eq!((&now["paid"], &now["balance"]), (&json!(5000), &json!(5000)));
        parent.get(&path).await.ok().shows("Open balance: €50.00").shows("Card").shows("Pay €50.00 by card");
        let mut admin = testkit::Browser::new(fixture.node.address).with_cookie(w.browser(club.admin.id).await.cookie.clone());
        admin.get("/admin/settings/payments").await.ok().shows("Enabled").shows("/stripe/webhook");
    }
}
