//! Tests of card payments. The provider is our own fake, `testkit::FakeStripe`. Unlike others it implements
//! idempotency keys, and it can drop connections and let refunds fail.

use store::{Scope, bind};
use testkit::stripe::{Fault, SECRET, sign, webhook_event};
use testkit::{
    Client, FakeStripe, Node, TestClub, TestResponse, Value, World, both, json, seconds,
};
use touchline::cards::checkout::{self, CheckoutRequest};
use touchline::cards::subject::Subject;
use touchline::cards::{reconcile, refunds};
use touchline::rights::TeamAccess;

/// A service with card payments, and its payment provider.
pub(crate) struct CardFixture {
    pub(crate) stripe: FakeStripe,
    pub(crate) node: Node,
    pub(crate) owner: Client,
}

impl CardFixture {
    pub(crate) async fn start(w: &World) -> Self {
        let stripe = FakeStripe::start().await;
        let node = w.node(|config| stripe.configure(config)).await;
        let owner = w.owner.at(node.address);
        Self { stripe, node, owner }
    }

    /// Creates a checkout for an order or a due.
    pub(crate) async fn checkout(&self, path: &str) -> TestResponse {
        self.owner.post(&format!("{path}/checkout"), json!({})).await
    }

    /// The id of the provider's only checkout session.
    pub(crate) fn only_session_id(&self) -> String {
        let pages = self.stripe.objects("cs");
        assert_eq!(pages.len(), 1, "{pages:?}");
        pages[0]["id"].as_str().unwrap().to_owned()
    }

    /// Delivers a signed event of the provider.
    pub(crate) async fn deliver_event(
        &self,
        w: &World,
        kind: &str,
        object: &Value,
    ) -> TestResponse {
        let (body, signature) = webhook_event(kind, object, w.clock.clock().now());
        self.post_event(w, &body, &signature).await
    }

    async fn post_event(&self, w: &World, body: &str, signature: &str) -> TestResponse {
        let stripe = w.nobody.at(self.node.address).with_header("Stripe-Signature", signature);
        stripe.page("POST", "/stripe/webhook", Some(body)).await
    }

    pub(crate) async fn reconcile(&self) -> bool {
        let cards = self.node.app.cards.clone().unwrap();
        reconcile::reconcile_all(&self.node.app, &cards).await
    }

    pub(crate) async fn send_refunds(&self) -> bool {
        let cards = self.node.app.cards.clone().unwrap();
        refunds::send_pending(&self.node.app, &cards).await
    }
}

/// The status of an order, the amount paid and the number of its payments.
pub(crate) async fn order_state(w: &World, order: &str) -> (String, i64, usize) {
    let id: touchline::ids::OrderId = order.rsplit('/').next().unwrap().parse().unwrap();
    let query = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        let text = "select status, paid from shop_order where account_id = :account and id = :id";
        let (status, paid): (String, i64) = db.one(text, bind! { id })?;
        let payments = touchline::money::payment::find_by_subject(db, &id.to_string())?;
        Ok::<_, touchline::error::Error>((status, paid, payments.len()))
    });
    query.await.unwrap()
}

pub(crate) fn paid_order_state() -> (String, i64, usize) {
    ("paid".to_owned(), 1250, 1)
}

fn placed_order_state() -> (String, i64, usize) {
    ("placed".to_owned(), 0, 0)
}

/// Places an order of €12.50 and returns its path.
pub(crate) async fn order(w: &World) -> String {
    order_of(w, None).await
}

/// The same, for a product of a team.
async fn order_of(w: &World, team: Option<&str>) -> String {
    let product = json!({ "team_id": team, "name": "Shirt", "price": 1250, "currency": "EUR" });
    let product = w.owner.post("/products", product).await.created();
    let order = json!({ "team_id": team, "buyer": { "name": "Ana" },
        "lines": [{ "product_id": product.id(), "quantity": 1 }] });
    format!("/orders/{}", w.owner.post("/orders", order).await.created().id())
}

/// Charges Max €50.00 and returns the path of the due.
pub(crate) async fn due(w: &World, club: &TestClub) -> String {
    let due = json!({ "team_id": club.hawks, "member_id": club.max.member, "title": "Season fee",
        "category": "dues", "amount": 5000, "currency": "EUR", "due_on": "2026-10-01" });
    let charge = w.owner.post("/dues", due).await.created();
    format!("/dues/{}", charge.data()[0]["id"].as_str().unwrap())
}

/// The types of all published notifications that are in `kinds`, in order.
pub(crate) async fn notification_types(w: &World, kinds: &[&str]) -> Vec<String> {
    let all = w
        .notifications()
        .await
        .into_iter()
        .map(|notification| notification["type"].as_str().unwrap().to_owned());
    all.filter(|kind| kinds.contains(&kind.as_str())).collect()
}

pub(crate) async fn refund_statuses(w: &World) -> Vec<(String, Option<String>)> {
    let text = "select status, provider_id from refund where account_id = :account order by id";
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| db.all(text, bind! {})).await.unwrap()
}

both! {
    async fn pays_an_order_with_a_checkout_session(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        let created = fixture.checkout(&order).await.created();
        let checkout = created.data();
        assert_eq!((&checkout["object"], &checkout["status"], &checkout["amount"]), (&json!("checkout"), &json!("open"), &json!(1250)));
        assert_eq!(checkout["url"], "https://pay.example/cs_1");
        assert_eq!(checkout["expires_at"], "2026-09-05T11:00:00.000000Z");
        assert_eq!(order_state(w, &order).await, placed_order_state());
        // A second request returns the same checkout without asking the provider.
        assert_eq!(fixture.checkout(&order).await.created().data(), checkout);
        let requests = fixture.stripe.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!((requests[0].key.as_deref(), requests[0].version.as_deref()), (Some(created.id()), Some("2024-06-20")));
        assert_eq!(requests[0].form["metadata[account]"], w.harbour.to_string());
        assert_eq!(requests[0].form["success_url"], format!("http://{}/checkout/done", fixture.node.address));
        let session = fixture.stripe.pay(&fixture.only_session_id());
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(order_state(w, &order).await, paid_order_state());
        let checkout_path = format!("/checkouts/{}", created.id());
        let fetched = fixture.owner.get(&checkout_path).await.ok();
        assert_eq!((&fetched.data()["status"], &fetched.data()["url"]), (&json!("paid"), &json!(null)));
        assert!(fetched.data()["payment_id"].as_str().unwrap().starts_with("pay_"));
        fixture.checkout(&order).await.assert_problem(409, "invalid_state");
        fixture.node.stop().await;
    }

    async fn provider_events_may_arrive_twice_late_and_out_of_order(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        let open = fixture.stripe.objects("cs")[0].clone();
        // These events claim that the session expired and was paid, which the provider's record contradicts.
        fixture.deliver_event(w, "checkout.session.expired", &open).await.ok();
        fixture.deliver_event(w, "checkout.session.async_payment_succeeded", &open).await.ok();
        assert_eq!(order_state(w, &order).await, placed_order_state());
        let session = fixture.stripe.pay(&fixture.only_session_id());
        let now = w.clock.clock().now();
        let (body, signature) = webhook_event("checkout.session.completed", &session, now);
        let calls = (0..8).map(|_| fixture.post_event(w, &body, &signature));
        for answer in futures_util::future::join_all(calls).await {
            answer.ok();
        }
        fixture.deliver_event(w, "checkout.session.expired", &open).await.ok();
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert!(fixture.reconcile().await);
        assert_eq!(order_state(w, &order).await, paid_order_state());
        assert_eq!(notification_types(w, &["order.paid", "payment.unmatched"]).await, ["order.paid"]);
        fixture.node.stop().await;
    }

    async fn rejects_events_that_the_provider_did_not_sign(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        let session = fixture.stripe.pay(&fixture.only_session_id());
        let now = w.clock.clock().now();
        let (body, good) = webhook_event("checkout.session.completed", &session, now);
        let old = sign(&body, SECRET, now.minus(seconds(301)));
        for signature in ["", "t=1,v1=00", &sign(&body, "whsec_other", now), &old] {
            fixture.post_event(w, &body, signature).await.assert_problem(400, "invalid_request");
        }
        fixture.post_event(w, &body.replace("evt_1", "evt_2"), &good).await.assert_problem(400, "invalid_request");
        let text = "not JSON";
        fixture.post_event(w, text, &sign(text, SECRET, now)).await.assert_problem(400, "invalid_json");
        assert_eq!(order_state(w, &order).await, placed_order_state());
        // Signed events of unknown types or about unknown objects are accepted and change nothing.
        for kind in ["invoice.paid", "", "checkout.session.completed"] {
            let foreign = json!({ "id": "cs_9", "metadata": { "account": w.harbour, "checkout": "chk_01kbm2x5q8f7vr0n3hd9tzc4wy" } });
            fixture.deliver_event(w, kind, &foreign).await.ok();
            fixture.deliver_event(w, kind, &json!({ "id": "cs_9" })).await.ok();
            fixture.deliver_event(w, kind, &json!(7)).await.ok();
        }
        assert_eq!(order_state(w, &order).await, placed_order_state());
        // A service without card payments does not have this endpoint.
        let closed = w.nobody.with_header("Stripe-Signature", &good).page("POST", "/stripe/webhook", Some(&body)).await;
        closed.assert_problem(404, "not_found");
        fixture.post_event(w, &body, &good).await.ok();
        assert_eq!(order_state(w, &order).await, paid_order_state());
        fixture.node.stop().await;
    }

    async fn a_session_must_match_its_checkout(w: &World) {
        let fixture = CardFixture::start(w).await;
        for wrong in [
            json!({ "metadata": { "account": w.harbour, "checkout": "chk_01kbm2x5q8f7vr0n3hd9tzc4wy" } }),
            json!({ "metadata": {} }),
            json!({ "amount_total": 1249 }),
            json!({ "currency": "usd" }),
            json!({ "amount_total": null }),
        ] {
            let order = order(w).await;
            let created = fixture.checkout(&order).await.created();
            let url = created.data()["url"].as_str().unwrap();
            let page = url.strip_prefix("https://pay.example/").unwrap();
            let session = fixture.stripe.pay(page);
            fixture.stripe.change(page, &wrong);
            let answer = fixture.deliver_event(w, "checkout.session.completed", &session).await;
            assert_eq!(order_state(w, &order).await, placed_order_state(), "{wrong}");
            let checkout_path = format!("/checkouts/{}", created.id());
            let status = fixture.owner.get(&checkout_path).await.ok().data()["status"].clone();
            // A wrong amount needs a person's attention; a session with other metadata is not ours.
            let expected = if wrong.get("metadata").is_some() { (500, "open") } else { (200, "unmatched") };
            assert_eq!((answer.status, status), (expected.0, json!(expected.1)), "{wrong}");
        }
        assert_eq!(notification_types(w, &["payment.unmatched", "order.paid"]).await, ["payment.unmatched"; 3]);
        fixture.node.stop().await;
    }

    async fn retries_network_faults_with_the_same_idempotency_key(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.stripe.inject_faults(&[Fault::DropConnection, Fault::ProcessThenServerError, Fault::ServerError]);
        let created = fixture.checkout(&order).await.created();
        let requests = fixture.stripe.requests();
        assert_eq!(requests.len(), 4);
        assert!(requests.iter().all(|request| request.key.as_deref() == Some(created.id())), "{requests:?}");
        assert_eq!(fixture.stripe.objects("cs").len(), 1);
        fixture.node.stop().await;
    }

    async fn an_unavailable_provider_is_503_and_the_next_try_reuses_the_checkout(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.stripe.inject_faults(&[Fault::ServerError; 4]);
        let refused = fixture.checkout(&order).await.assert_problem(503, "overloaded");
        assert!(!refused.text.contains("sk_test"), "{}", refused.text);
        fixture.checkout(&order).await.created();
        let requests = fixture.stripe.requests();
        assert!(requests.iter().all(|request| request.key == requests[0].key), "it is the same checkout");
        // After a permanent refusal, the next try creates a new checkout.
        let other = crate::cards::order(w).await;
        fixture.stripe.inject_faults(&[Fault::Reject]);
        fixture.checkout(&other).await.assert_problem(409, "invalid_state");
        fixture.checkout(&other).await.created();
        assert_eq!(fixture.stripe.objects("cs").len(), 2);
        fixture.node.stop().await;
    }

    async fn rejects_checkouts_without_a_provider(w: &World) {
        let order = order(w).await;
        let refused = w.owner.post(&format!("{order}/checkout"), json!({})).await;
        let refused = refused.assert_problem(409, "invalid_state");
        assert!(refused.body["detail"].as_str().unwrap().contains("not set up"));
        assert_eq!(w.count("checkout").await, 0);
    }

    async fn reconciliation_finds_a_payment_whose_event_was_lost(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        fixture.stripe.pay(&fixture.only_session_id());
        // At first, the provider cannot be reached.
        fixture.stripe.inject_faults(&[Fault::ServerError; 4]);
        assert!(!fixture.reconcile().await);
        assert_eq!(order_state(w, &order).await, placed_order_state());
        assert!(fixture.reconcile().await && fixture.reconcile().await);
        assert_eq!(order_state(w, &order).await, paid_order_state());
        fixture.node.stop().await;
    }

    async fn unpaid_checkouts_expire(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        let created = fixture.checkout(&order).await.created();
        let checkout_path = format!("/checkouts/{}", created.id());
        let status = async || fixture.owner.get(&checkout_path).await.ok().data()["status"].clone();
        fixture.stripe.change(&fixture.only_session_id(), &json!({ "status": "expired", "url": null }));
        let session = fixture.stripe.objects("cs")[0].clone();
        fixture.deliver_event(w, "checkout.session.expired", &session).await.ok();
        assert_eq!(status().await, "expired");
        // A payment that arrives nevertheless is recorded.
        fixture.stripe.pay(&fixture.only_session_id());
        let session = fixture.stripe.objects("cs")[0].clone();
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert_eq!((status().await, order_state(w, &order).await), (json!("paid"), paid_order_state()));
        fixture.node.stop().await;
    }

    async fn reconciliation_finds_a_session_whose_creation_was_not_answered(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        // The provider creates the session, but its answer is lost.
        fixture.stripe.inject_faults(&[Fault::DropConnection; 4]);
        fixture.checkout(&order).await.assert_problem(503, "overloaded");
        assert_eq!(fixture.stripe.objects("cs").len(), 1);
        w.advance_clock(seconds(120));
        let session = fixture.stripe.pay(&fixture.only_session_id());
        // Repeated with its idempotency key, the request returns the session as created; the next run finds it paid.
        assert!(fixture.reconcile().await && fixture.reconcile().await);
        assert_eq!(order_state(w, &order).await, paid_order_state());
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(order_state(w, &order).await, paid_order_state());
        fixture.node.stop().await;
    }

    async fn an_event_that_arrives_before_our_commit_is_applied(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.stripe.inject_faults(&[Fault::DropConnection; 4]);
        fixture.checkout(&order).await.assert_problem(503, "overloaded");
        let session = fixture.stripe.pay(&fixture.only_session_id());
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(order_state(w, &order).await, paid_order_state());
        fixture.node.stop().await;
    }

    async fn a_due_is_paid_in_parts_and_overpayment_becomes_credit(w: &World) {
        let fixture = CardFixture::start(w).await;
        let club = w.club().await;
        let due = due(w, &club).await;
        let part = async |amount: Value| fixture.owner.post(&format!("{due}/checkout"), json!({ "amount": amount })).await;
        part(json!(5001)).await.assert_problem(422, "validation_failed");
        for wrong in [json!(0), json!(-1), json!(1.5), json!("5000"), json!(1_000_000_000_001_i64)] {
            assert_eq!(part(wrong.clone()).await.assert_problem(422, "validation_failed").pointers(), ["/amount"], "{wrong}");
        }
        let pay = async |page: &TestResponse| {
            let id = page.data()["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            let session = fixture.stripe.pay(&id);
            fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
            fixture.owner.get(&format!("/checkouts/{}", page.id())).await.ok().data()["status"].clone()
        };
        let (some, all) = (part(json!(2000)).await.created(), fixture.checkout(&due).await.created());
        assert_ne!(some.id(), all.id());
        assert_eq!(pay(&some).await, "paid");
        let balance = async || fixture.owner.get(&due).await.ok().data()["balance"].clone();
        assert_eq!(balance().await, 3000);
        // The second checkout is for the full amount, a part of which is paid by now: the rest becomes credit.
        assert_eq!((pay(&all).await, balance().await), (json!("paid"), json!(0)));
        fixture.checkout(&due).await.assert_problem(409, "invalid_state");
        assert_eq!(notification_types(w, &["dues.paid", "payment.unmatched"]).await, ["dues.paid"]);
        fixture.node.stop().await;
    }

    async fn paying_a_paid_due_creates_credit(w: &World) {
        let fixture = CardFixture::start(w).await;
        let club = w.club().await;
        let due = due(w, &club).await;
        let page = fixture.checkout(&due).await.created();
        w.owner.post(&format!("{due}/payments"), json!({ "method": "cash" })).await.created();
        let session = fixture.stripe.pay(&fixture.only_session_id());
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        let checkout_path = format!("/checkouts/{}", page.id());
        assert_eq!(fixture.owner.get(&checkout_path).await.ok().data()["status"], "unmatched");
        let payments = fixture.owner.get(&format!("{due}/payments")).await.ok();
        let overpaid: Vec<_> = payments.data().as_array().unwrap().iter().map(|one| one["overpaid"].clone()).collect();
        assert!(overpaid.contains(&json!(5000)) && overpaid.len() == 2, "{overpaid:?}");
        assert_eq!(notification_types(w, &["dues.paid", "payment.unmatched"]).await, ["dues.paid", "payment.unmatched"]);
        assert_eq!(refund_statuses(w).await, []);
        fixture.node.stop().await;
    }

    async fn families_can_pay_only_their_own_dues(w: &World) {
        let fixture = CardFixture::start(w).await;
        let club = w.club().await;
        let due = format!("{}/checkout", due(w, &club).await);
        let acting_as = async |user| crate::roster_access::client_with_all_scopes(w, user).await.at(fixture.node.address);
        let page = acting_as(club.parent.id).await.post(&due, json!({})).await.created();
        acting_as(club.coach.id).await.post(&due, json!({})).await.created();
        acting_as(club.player.id).await.post(&due, json!({})).await.assert_problem(404, "not_found");
        acting_as(club.outsider.id).await.post(&due, json!({})).await.assert_problem(403, "forbidden");
        let checkout_path = format!("/checkouts/{}", page.id());
        acting_as(club.parent.id).await.get(&checkout_path).await.ok();
        acting_as(club.player.id).await.get(&checkout_path).await.assert_problem(404, "not_found");
        w.stranger.at(fixture.node.address).get(&checkout_path).await.assert_problem(404, "not_found");
        fixture.node.stop().await;
    }

    async fn return_pages_show_no_personal_data(w: &World) {
        for (path, says) in [("/checkout/done", "Thank you"), ("/checkout/back", "Not paid yet")] {
            let page = w.nobody.page("GET", path, None).await.ok();
            assert!(page.text.contains(says), "{}", page.text);
        }
    }
}

/// Creates a checkout without asking a provider and returns its id.
pub(crate) async fn checkout_of(w: &World, subject: &str) -> String {
    let subject = Subject::parse(subject).unwrap();
    let write = move |tx: &store::Tx<'_>| {
        checkout::begin(tx, &TeamAccess::AllTeams, &CheckoutRequest::for_full_amount(subject), true)
    };
    let created = w.db().write(Scope::account(w.harbour, "test"), write).await;
    created.unwrap().id.to_string()
}

/// Causes every notification about card payments.
pub(crate) async fn trigger_card_notifications(w: &World, club: &TestClub) {
    let team = club.hawks.as_str();
    let fixture = CardFixture::start(w).await;
    let cancelled = order_of(w, Some(team)).await;
    fixture.checkout(&cancelled).await.created();
    w.owner.post(&format!("{cancelled}/cancel"), json!({ "reason": "Rain" })).await.ok();
    let session = fixture.stripe.pay("cs_1");
    fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
    assert!(fixture.send_refunds().await);
    let other = order_of(w, Some(team)).await;
    let created = fixture.checkout(&other).await.created();
    let page = created.data()["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let session = fixture.stripe.pay(&page);
    fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
    w.owner.post(&format!("{other}/refund"), json!({})).await.ok();
    fixture.stripe.inject_faults(&[Fault::Reject]);
    assert!(fixture.send_refunds().await);
    let payment = session["payment_intent"].as_str().unwrap();
    fixture.deliver_event(w, "charge.dispute.created", &fixture.stripe.dispute(payment)).await.ok();
    w.owner.post(&format!("{other}/erase_buyer"), json!({})).await.ok();
    let due = due(w, club).await;
    let created = fixture.checkout(&due).await.created();
    let page = created.data()["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let session = fixture.stripe.pay(&page);
    fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
    let refund = fixture.stripe.refund(session["payment_intent"].as_str().unwrap(), 500, "pending");
    fixture.deliver_event(w, "refund.created", &refund).await.ok();
    let refund =
        fixture.stripe.change(refund["id"].as_str().unwrap(), &json!({ "status": "failed" }));
    fixture.deliver_event(w, "refund.failed", &refund).await.ok();
    fixture.node.stop().await;
}
