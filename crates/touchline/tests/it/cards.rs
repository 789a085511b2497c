//! Stories about paying by card. The provider is one of ours (`testkit::Stripe`): no stand-in of others
//! remembers idempotency keys, breaks off in the middle or has refunds fail.

use store::{Scope, bind};
use testkit::stripe::{Fault, SECRET, call, signed};
use testkit::{Answer, Cast, Client, Node, Stripe, Value, World, both, json, seconds};
use touchline::accounts::rights::Reach;
use touchline::cards::checkout::{self, Wish};
use touchline::cards::subject::Subject;
use touchline::cards::{reconcile, refunds};

/// A service that takes cards, and who takes them.
pub(crate) struct Till {
    pub(crate) stripe: Stripe,
    pub(crate) node: Node,
    pub(crate) owner: Client,
}

impl Till {
    pub(crate) async fn open(w: &World) -> Self {
        let stripe = Stripe::start().await;
        let node = w.node(|config| stripe.set_up(config)).await;
        let owner = w.owner.at(node.address);
        Self { stripe, node, owner }
    }

    /// Asks for a page for an order or a due.
    pub(crate) async fn checkout(&self, path: &str) -> Answer {
        self.owner.post(&format!("{path}/checkout"), json!({})).await
    }

    /// The provider's only page.
    pub(crate) fn page(&self) -> String {
        let pages = self.stripe.made("cs");
        assert_eq!(pages.len(), 1, "{pages:?}");
        pages[0]["id"].as_str().unwrap().to_owned()
    }

    /// The provider says that something happened.
    pub(crate) async fn hear(&self, w: &World, kind: &str, object: &Value) -> Answer {
        let (body, signature) = call(kind, object, w.clock.clock().now());
        self.call(w, &body, &signature).await
    }

    async fn call(&self, w: &World, body: &str, signature: &str) -> Answer {
        let stripe = w.nobody.at(self.node.address).with("Stripe-Signature", signature);
        stripe.page("POST", "/stripe/webhook", Some(body)).await
    }

    pub(crate) async fn reconcile(&self) -> bool {
        let cards = self.node.app.cards.clone().unwrap();
        reconcile::everything(&self.node.app, &cards).await
    }

    pub(crate) async fn send_refunds(&self) -> bool {
        let cards = self.node.app.cards.clone().unwrap();
        refunds::send(&self.node.app, &cards).await
    }
}

/// How an order stands, what was paid of it, and how many payments there are for it.
pub(crate) async fn stands(w: &World, order: &str) -> (String, i64, usize) {
    let id: touchline::ids::OrderId = order.rsplit('/').next().unwrap().parse().unwrap();
    let look = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        let text = "select status, paid from shop_order where account_id = :account and id = :id";
        let (status, paid): (String, i64) = db.one(text, bind! { id })?;
        let payments = touchline::money::payment::of_subject(db, &id.to_string())?;
        Ok::<_, touchline::error::Error>((status, paid, payments.len()))
    });
    look.await.unwrap()
}

pub(crate) fn paid() -> (String, i64, usize) {
    ("paid".to_owned(), 1250, 1)
}

fn placed() -> (String, i64, usize) {
    ("placed".to_owned(), 0, 0)
}

/// The address of an order over 12.50.
pub(crate) async fn order(w: &World) -> String {
    order_of(w, None).await
}

/// The same, of something that a team sells.
async fn order_of(w: &World, team: Option<&str>) -> String {
    let product = json!({ "team_id": team, "name": "Shirt", "price": 1250, "currency": "EUR" });
    let product = w.owner.post("/products", product).await.created();
    let order = json!({ "team_id": team, "buyer": { "name": "Ana" },
        "lines": [{ "product_id": product.id(), "quantity": 1 }] });
    format!("/orders/{}", w.owner.post("/orders", order).await.created().id())
}

/// The address of what Max owes: 50.00.
pub(crate) async fn due(w: &World, cast: &Cast) -> String {
    let due = json!({ "team_id": cast.hawks, "member_id": cast.max.member, "title": "Season fee",
        "category": "dues", "amount": 5000, "currency": "EUR", "due_on": "2026-10-01" });
    let charge = w.owner.post("/dues", due).await.created();
    format!("/dues/{}", charge.data()[0]["id"].as_str().unwrap())
}

/// Which of these kinds were told, in order.
pub(crate) async fn told(w: &World, kinds: &[&str]) -> Vec<String> {
    let all = w.news().await.into_iter().map(|news| news["type"].as_str().unwrap().to_owned());
    all.filter(|kind| kinds.contains(&kind.as_str())).collect()
}

pub(crate) async fn refund_statuses(w: &World) -> Vec<(String, Option<String>)> {
    let text = "select status, provider_id from refund where account_id = :account order by id";
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| db.all(text, bind! {})).await.unwrap()
}

both! {
    async fn an_order_is_paid_on_a_page_of_the_provider(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        let made = till.checkout(&order).await.created();
        let shown = made.data();
        assert_eq!((&shown["object"], &shown["status"], &shown["amount"]), (&json!("checkout"), &json!("open"), &json!(1250)));
        assert_eq!(shown["url"], "https://pay.example/cs_1");
        assert_eq!(shown["expires_at"], "2026-09-05T11:00:00.000000Z");
        assert_eq!(stands(w, &order).await, placed());
        // Whoever asks again is sent to the same page, and the provider is not asked again.
        assert_eq!(till.checkout(&order).await.created().data(), shown);
        let asked = till.stripe.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!((asked[0].key.as_deref(), asked[0].version.as_deref()), (Some(made.id()), Some("2024-06-20")));
        assert_eq!(asked[0].form["metadata[account]"], w.harbour.to_string());
        assert_eq!(asked[0].form["success_url"], format!("http://{}/checkout/done", till.node.address));
        let session = till.stripe.pay(&till.page());
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(stands(w, &order).await, paid());
        let at = format!("/checkouts/{}", made.id());
        let found = till.owner.get(&at).await.ok();
        assert_eq!((&found.data()["status"], &found.data()["url"]), (&json!("paid"), &json!(null)));
        assert!(found.data()["payment_id"].as_str().unwrap().starts_with("pay_"));
        till.checkout(&order).await.refused(409, "invalid_state");
        till.node.stop().await;
    }

    async fn calls_may_come_twice_late_and_in_any_order(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.checkout(&order).await.created();
        let open = till.stripe.made("cs")[0].clone();
        // It says that it has expired and was paid before it has.
        till.hear(w, "checkout.session.expired", &open).await.ok();
        till.hear(w, "checkout.session.async_payment_succeeded", &open).await.ok();
        assert_eq!(stands(w, &order).await, placed());
        let session = till.stripe.pay(&till.page());
        let now = w.clock.clock().now();
        let (body, signature) = call("checkout.session.completed", &session, now);
        let calls = (0..8).map(|_| till.call(w, &body, &signature));
        for answer in futures_util::future::join_all(calls).await {
            answer.ok();
        }
        till.hear(w, "checkout.session.expired", &open).await.ok();
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert!(till.reconcile().await);
        assert_eq!(stands(w, &order).await, paid());
        assert_eq!(told(w, &["order.paid", "payment.stray"]).await, ["order.paid"]);
        till.node.stop().await;
    }

    async fn only_the_provider_is_heard(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.checkout(&order).await.created();
        let session = till.stripe.pay(&till.page());
        let now = w.clock.clock().now();
        let (body, good) = call("checkout.session.completed", &session, now);
        let old = signed(&body, SECRET, now.minus(seconds(301)));
        for signature in ["", "t=1,v1=00", &signed(&body, "whsec_other", now), &old] {
            till.call(w, &body, signature).await.refused(400, "invalid_request");
        }
        till.call(w, &body.replace("evt_1", "evt_2"), &good).await.refused(400, "invalid_request");
        let text = "not JSON";
        till.call(w, text, &signed(text, SECRET, now)).await.refused(400, "invalid_json");
        assert_eq!(stands(w, &order).await, placed());
        // What is well signed but not ours, or not known, is taken and changes nothing.
        for kind in ["invoice.paid", "", "checkout.session.completed"] {
            let foreign = json!({ "id": "cs_9", "metadata": { "account": w.harbour, "checkout": "chk_01kbm2x5q8f7vr0n3hd9tzc4wy" } });
            till.hear(w, kind, &foreign).await.ok();
            till.hear(w, kind, &json!({ "id": "cs_9" })).await.ok();
            till.hear(w, kind, &json!(7)).await.ok();
        }
        assert_eq!(stands(w, &order).await, placed());
        // Where cards are not taken there is nobody to hear it.
        let closed = w.nobody.with("Stripe-Signature", &good).page("POST", "/stripe/webhook", Some(&body)).await;
        closed.refused(404, "not_found");
        till.call(w, &body, &good).await.ok();
        assert_eq!(stands(w, &order).await, paid());
        till.node.stop().await;
    }

    async fn what_the_provider_shows_must_be_what_was_asked_for(w: &World) {
        let till = Till::open(w).await;
        for wrong in [
            json!({ "metadata": { "account": w.harbour, "checkout": "chk_01kbm2x5q8f7vr0n3hd9tzc4wy" } }),
            json!({ "metadata": {} }),
            json!({ "amount_total": 1249 }),
            json!({ "currency": "usd" }),
            json!({ "amount_total": null }),
        ] {
            let order = order(w).await;
            let made = till.checkout(&order).await.created();
            let url = made.data()["url"].as_str().unwrap();
            let page = url.strip_prefix("https://pay.example/").unwrap();
            let session = till.stripe.pay(page);
            till.stripe.change(page, &wrong);
            let heard = till.hear(w, "checkout.session.completed", &session).await;
            assert_eq!(stands(w, &order).await, placed(), "{wrong}");
            let at = format!("/checkouts/{}", made.id());
            let status = till.owner.get(&at).await.ok().data()["status"].clone();
            // Another amount is for people to look at; another's page is none of ours.
            let expected = if wrong.get("metadata").is_some() { (500, "open") } else { (200, "stray") };
            assert_eq!((heard.status, status), (expected.0, json!(expected.1)), "{wrong}");
        }
        assert_eq!(told(w, &["payment.stray", "order.paid"]).await, ["payment.stray"; 3]);
        till.node.stop().await;
    }

    async fn faults_of_the_network_are_overcome_with_the_same_key(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.stripe.faults(&[Fault::HangsUp, Fault::DoesAndFails, Fault::Fails]);
        let made = till.checkout(&order).await.created();
        let asked = till.stripe.asked();
        assert_eq!(asked.len(), 4);
        assert!(asked.iter().all(|asked| asked.key.as_deref() == Some(made.id())), "{asked:?}");
        assert_eq!(till.stripe.made("cs").len(), 1);
        till.node.stop().await;
    }

    async fn a_provider_that_is_away_is_told_and_tried_again(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.stripe.faults(&[Fault::Fails; 4]);
        let refused = till.checkout(&order).await.refused(503, "overloaded");
        assert!(!refused.text.contains("sk_test"), "{}", refused.text);
        till.checkout(&order).await.created();
        let asked = till.stripe.asked();
        assert!(asked.iter().all(|one| one.key == asked[0].key), "it is the same checkout");
        // What it refuses for good is told so, and the next attempt is a new one.
        let other = crate::cards::order(w).await;
        till.stripe.faults(&[Fault::Refuses]);
        till.checkout(&other).await.refused(409, "invalid_state");
        till.checkout(&other).await.created();
        assert_eq!(till.stripe.made("cs").len(), 2);
        till.node.stop().await;
    }

    async fn without_a_provider_nothing_is_paid_by_card(w: &World) {
        let order = order(w).await;
        let refused = w.owner.post(&format!("{order}/checkout"), json!({})).await;
        let refused = refused.refused(409, "invalid_state");
        assert!(refused.body["detail"].as_str().unwrap().contains("not set up"));
        assert_eq!(w.count("checkout").await, 0);
    }

    async fn a_call_that_was_lost_is_made_up_for(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.checkout(&order).await.created();
        till.stripe.pay(&till.page());
        // The provider cannot be asked either, at first.
        till.stripe.faults(&[Fault::Fails; 4]);
        assert!(!till.reconcile().await);
        assert_eq!(stands(w, &order).await, placed());
        assert!(till.reconcile().await && till.reconcile().await);
        assert_eq!(stands(w, &order).await, paid());
        till.node.stop().await;
    }

    async fn pages_that_nobody_pays_end(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        let made = till.checkout(&order).await.created();
        let at = format!("/checkouts/{}", made.id());
        let status = async || till.owner.get(&at).await.ok().data()["status"].clone();
        till.stripe.change(&till.page(), &json!({ "status": "expired", "url": null }));
        let session = till.stripe.made("cs")[0].clone();
        till.hear(w, "checkout.session.expired", &session).await.ok();
        assert_eq!(status().await, "expired");
        // Money that came nevertheless is not lost.
        till.stripe.pay(&till.page());
        let session = till.stripe.made("cs")[0].clone();
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert_eq!((status().await, stands(w, &order).await), (json!("paid"), paid()));
        till.node.stop().await;
    }

    async fn a_page_that_was_asked_for_and_never_heard_of_is_found(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        // It does what it was asked, and we do not live to hear it.
        till.stripe.faults(&[Fault::HangsUp; 4]);
        till.checkout(&order).await.refused(503, "overloaded");
        assert_eq!(till.stripe.made("cs").len(), 1);
        w.pass(seconds(120));
        let session = till.stripe.pay(&till.page());
        // Asked for again under its key, it is answered as it was then; the next look shows that it was paid.
        assert!(till.reconcile().await && till.reconcile().await);
        assert_eq!(stands(w, &order).await, paid());
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(stands(w, &order).await, paid());
        till.node.stop().await;
    }

    async fn a_call_that_is_faster_than_our_commit_is_followed(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.stripe.faults(&[Fault::HangsUp; 4]);
        till.checkout(&order).await.refused(503, "overloaded");
        let session = till.stripe.pay(&till.page());
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(stands(w, &order).await, paid());
        till.node.stop().await;
    }

    async fn a_due_is_paid_in_parts_and_what_is_too_much_is_kept_as_credit(w: &World) {
        let till = Till::open(w).await;
        let cast = w.cast().await;
        let due = due(w, &cast).await;
        let part = async |amount: Value| till.owner.post(&format!("{due}/checkout"), json!({ "amount": amount })).await;
        part(json!(5001)).await.refused(422, "validation_failed");
        for wrong in [json!(0), json!(-1), json!(1.5), json!("5000"), json!(1_000_000_000_001_i64)] {
            assert_eq!(part(wrong.clone()).await.refused(422, "validation_failed").pointers(), ["/amount"], "{wrong}");
        }
        let pay = async |page: &Answer| {
            let id = page.data()["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            let session = till.stripe.pay(&id);
            till.hear(w, "checkout.session.completed", &session).await.ok();
            till.owner.get(&format!("/checkouts/{}", page.id())).await.ok().data()["status"].clone()
        };
        let (some, all) = (part(json!(2000)).await.created(), till.checkout(&due).await.created());
        assert_ne!(some.id(), all.id());
        assert_eq!(pay(&some).await, "paid");
        let balance = async || till.owner.get(&due).await.ok().data()["balance"].clone();
        assert_eq!(balance().await, 3000);
        // Half of what is left is paid in another tab by then: the rest becomes credit.
        assert_eq!((pay(&all).await, balance().await), (json!("paid"), json!(0)));
        till.checkout(&due).await.refused(409, "invalid_state");
        assert_eq!(told(w, &["dues.paid", "payment.stray"]).await, ["dues.paid"]);
        till.node.stop().await;
    }

    async fn a_due_that_was_paid_already_makes_a_credit(w: &World) {
        let till = Till::open(w).await;
        let cast = w.cast().await;
        let due = due(w, &cast).await;
        let page = till.checkout(&due).await.created();
        w.owner.post(&format!("{due}/payments"), json!({ "method": "cash" })).await.created();
        let session = till.stripe.pay(&till.page());
        till.hear(w, "checkout.session.completed", &session).await.ok();
        till.hear(w, "checkout.session.completed", &session).await.ok();
        let at = format!("/checkouts/{}", page.id());
        assert_eq!(till.owner.get(&at).await.ok().data()["status"], "stray");
        let payments = till.owner.get(&format!("{due}/payments")).await.ok();
        let credited: Vec<_> = payments.data().as_array().unwrap().iter().map(|one| one["credited"].clone()).collect();
        assert!(credited.contains(&json!(5000)) && credited.len() == 2, "{credited:?}");
        assert_eq!(told(w, &["dues.paid", "payment.stray"]).await, ["dues.paid", "payment.stray"]);
        assert_eq!(refund_statuses(w).await, []);
        till.node.stop().await;
    }

    async fn families_pay_their_own_and_nobody_elses(w: &World) {
        let till = Till::open(w).await;
        let cast = w.cast().await;
        let due = format!("{}/checkout", due(w, &cast).await);
        let of = async |user| crate::standing::acting(w, user).await.at(till.node.address);
        let page = of(cast.parent.id).await.post(&due, json!({})).await.created();
        of(cast.coach.id).await.post(&due, json!({})).await.created();
        of(cast.player.id).await.post(&due, json!({})).await.refused(404, "not_found");
        of(cast.outsider.id).await.post(&due, json!({})).await.refused(403, "forbidden");
        let at = format!("/checkouts/{}", page.id());
        of(cast.parent.id).await.get(&at).await.ok();
        of(cast.player.id).await.get(&at).await.refused(404, "not_found");
        w.stranger.at(till.node.address).get(&at).await.refused(404, "not_found");
        till.node.stop().await;
    }

    async fn the_pages_people_come_back_to_say_nothing_about_them(w: &World) {
        for (path, says) in [("/checkout/done", "Thank you"), ("/checkout/back", "Not paid yet")] {
            let page = w.nobody.page("GET", path, None).await.ok();
            assert!(page.text.contains(says), "{}", page.text);
        }
    }
}

/// A page for something that is owed, of which no provider knows.
pub(crate) async fn checkout_of(w: &World, subject: &str) -> String {
    let subject = Subject::parse(subject).unwrap();
    let write = move |tx: &store::Tx<'_>| {
        checkout::begin(tx, &Reach::Everywhere, &Wish::all_of(subject), true)
    };
    let begun = w.db().write(Scope::account(w.harbour, "test"), write).await;
    begun.unwrap().id.to_string()
}

/// Lets happen what is told of payments by card.
pub(crate) async fn live(w: &World, cast: &Cast) {
    let team = cast.hawks.as_str();
    let till = Till::open(w).await;
    let late = order_of(w, Some(team)).await;
    till.checkout(&late).await.created();
    w.owner.post(&format!("{late}/cancel"), json!({ "reason": "Rain" })).await.ok();
    let session = till.stripe.pay("cs_1");
    till.hear(w, "checkout.session.completed", &session).await.ok();
    assert!(till.send_refunds().await);
    let other = order_of(w, Some(team)).await;
    let made = till.checkout(&other).await.created();
    let page = made.data()["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let session = till.stripe.pay(&page);
    till.hear(w, "checkout.session.completed", &session).await.ok();
    w.owner.post(&format!("{other}/refund"), json!({})).await.ok();
    till.stripe.faults(&[Fault::Refuses]);
    assert!(till.send_refunds().await);
    let payment = session["payment_intent"].as_str().unwrap();
    till.hear(w, "charge.dispute.created", &till.stripe.dispute(payment)).await.ok();
    w.owner.post(&format!("{other}/erase_buyer"), json!({})).await.ok();
    let due = due(w, cast).await;
    let made = till.checkout(&due).await.created();
    let page = made.data()["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let session = till.stripe.pay(&page);
    till.hear(w, "checkout.session.completed", &session).await.ok();
    let back = till.stripe.give_back(session["payment_intent"].as_str().unwrap(), 500, "pending");
    till.hear(w, "refund.created", &back).await.ok();
    let back = till.stripe.change(back["id"].as_str().unwrap(), &json!({ "status": "failed" }));
    till.hear(w, "refund.failed", &back).await.ok();
    till.node.stop().await;
}
