//! Tests of the pages that add, monitor, turn on and off, and replay webhooks.

use store::Scope;
use testkit::receiver::{ReceivedRequest, Reply};
use testkit::world::make_account;
use testkit::{Browser, Receiver, TestResponse, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::ids::WebhookId;
use touchline::webhooks::signature::Secret;
use touchline::{demo, doctor};

use crate::admin_keys::between;

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>\u{202e}";

/// Opens the form for a new webhook and returns its nonce.
async fn open_form(browser: &mut Browser) -> String {
    let page = browser.get("/admin/webhooks/new").await.ok();
    between(&page, "name=\"nonce\" value=\"", "\"").to_owned()
}

/// Adds a webhook with the form and returns the page that shows its secret.
pub(crate) async fn add_webhook(
    browser: &mut Browser,
    url: &str,
    more: &[(&str, &str)],
) -> TestResponse {
    let nonce = open_form(browser).await;
    let fields: Vec<_> =
        [("nonce", nonce.as_str()), ("url", url)].into_iter().chain(more.iter().copied()).collect();
    browser.post("/admin/webhooks/new", &fields).await
}

pub(crate) fn secret_of(page: &TestResponse) -> String {
    between(page, "<code id=\"secret\">", "</code>").to_owned()
}

/// The path of the webhook that a page links to.
fn webhook_path(page: &TestResponse) -> String {
    format!("/admin/webhooks/whk_{}", between(page, "/admin/webhooks/whk_", "\""))
}

/// The paths of the deliveries that a page lists, in order.
fn deliveries(page: &TestResponse) -> Vec<String> {
    let links = page.text.split("href=\"").skip(1).filter_map(|link| link.split('"').next());
    links.filter(|link| link.contains("/deliveries/dlv_")).map(str::to_owned).collect()
}

async fn team(w: &World, name: &str) {
    w.owner.post("/teams", json!({ "name": name })).await.created();
}

/// Adds a webhook for team notifications as an admin of Harbour. Returns its receiver, the admin's browser, the
/// webhook's path and its secret.
async fn set_up_webhook(w: &World) -> (Receiver, Browser, String, String) {
    let admin = w.user(Role::Admin, "ana@harbour.example").await;
    let (receiver, mut browser) = (Receiver::start().await, w.browser(admin.id).await);
    let page = add_webhook(
        &mut browser,
        &receiver.url(),
        &[("events", "team.*"), ("description", "Scores")],
    )
    .await
    .ok();
    (receiver, browser, webhook_path(&page), secret_of(&page))
}

both! {
    async fn a_webhook_is_added_and_its_secret_is_shown_once(w: &World) {
        let (receiver, mut browser, base, secret) = set_up_webhook(w).await;
        assert!(secret.starts_with("whsec_"), "{secret}");
        browser.get("/admin/webhooks").await.ok().shows("team.*").shows("Scores").shows("Nothing sent").shows("On");
        browser.get(&base).await.ok().shows("Nothing sent yet").shows("As fast as possible").shows("ana").shows("All teams");
        team(w, "Hawks").await;
        w.deliver().await;

        let received = &receiver.received()[0];
        let key = decode_base64(&secret["whsec_".len()..]);
        let at = received.header("webhook-timestamp").parse::<i64>().unwrap();
        let at = kit::Timestamp::from_micros(at * 1_000_000);
        let signed = Secret::from_bytes(key).sign(received.header("webhook-id"), at, &received.body);
        assert_eq!(received.header("webhook-signature"), signed);

        let page = browser.get(&base).await.ok().shows("team.created").shows("Delivered").shows("200 in")
            .shows("1 attempt in the last 24 hours, none failed.").shows("100%");
        let delivery_path = deliveries(&page).remove(0);
        let page = browser.get(&delivery_path).await.ok().shows("Status 200").shows("webhook-id: ntf_").shows("Exact bytes")
            .shows("curl -X POST").shows("Deliver again");
        assert!(page.text.contains(received.header("webhook-id")));
        let bare = &secret["whsec_".len()..secret.len() - 4];
        for path in ["/admin/webhooks", &base, &delivery_path, &format!("{base}/edit"), &format!("{base}/rotate"), "/admin/audit", "/admin"] {
            let page = browser.get(path).await.ok();
            assert!(!page.text.contains(bare), "{path} shows the secret");
        }
        browser.get("/admin/audit?action=webhook").await.ok().shows("Webhook added");
    }

    async fn curl_command_repeats_the_sent_request(w: &World) {
        let (receiver, mut browser, base, secret) = set_up_webhook(w).await;
        team(w, "It's $HOME `x` \"quoted\" <b> \\").await;
        w.deliver().await;
        let delivery_path = deliveries(&browser.get(&base).await.ok()).remove(0);
        let page = browser.get(&delivery_path).await.ok();
        let line = unescape_html(between(&page, "<code id=\"curl\">", "</code>"));
        // The arguments that a shell passes to curl.
        let script = format!("curl() {{ for word; do printf '%s\\0' \"$word\"; done; }}; {line}");
        let output = std::process::Command::new("sh").arg("-c").arg(&script).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let args: Vec<_> = output.split_terminator('\0').collect();
        let header = |name: &str| {
            let line = args.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or_else(|| panic!("{name}: {output}")).to_owned()
        };
        let sent = &receiver.received()[0];
        assert_eq!((args[2], *args.last().unwrap()), (receiver.url().as_str(), std::str::from_utf8(&sent.body).unwrap()));
        assert_eq!(header("webhook-id"), sent.header("webhook-id"));
        let at = kit::Timestamp::from_micros(header("webhook-timestamp").parse::<i64>().unwrap() * 1_000_000);
        let signed = Secret::from_bytes(decode_base64(&secret["whsec_".len()..])).sign(&header("webhook-id"), at, &sent.body);
        assert_eq!((header("webhook-signature"), header("content-type")), (signed, "application/json".to_owned()));
    }

    async fn submitting_a_form_twice_adds_one_webhook(w: &World) {
        let (receiver, mut browser, ..) = set_up_webhook(w).await;
        let (nonce, url) = (open_form(&mut browser).await, receiver.url());
        let fields = [("nonce", nonce.as_str()), ("url", url.as_str()), ("events", "*")];
        let first = browser.post("/admin/webhooks/new", &fields).await.ok();
        let again = browser.post("/admin/webhooks/new", &fields).await;
        let base = webhook_path(&first);
        again.redirects_to(&format!("{base}?done=before"));
        browser.get(&format!("{base}?done=before")).await.ok().shows("processed once");
        assert_eq!(w.count("webhook").await, 2);
        assert_eq!(browser.post("/admin/webhooks/new", &[("url", &url)]).await.status, 400);
    }

    async fn shows_errors_beside_fields_and_keeps_the_input(w: &World) {
        let (_, mut browser, base, _) = set_up_webhook(w).await;
        team(w, HOSTILE).await;
        let page = add_webhook(&mut browser, "https://10.0.0.1/x?<b>", &[("description", HOSTILE), ("events", "team.created"),
            ("ordering", "strict")]).await;
        assert_eq!(page.status, 422);
        let page = page.shows("id=\"url-error\"").shows("This URL is not public.").shows("TOUCHLINE_WEBHOOK_ALLOW_CIDRS").shows("https://10.0.0.1/x?&#60;b&#62;")
            .shows("value=\"team.created\" checked").shows("value=\"strict\" checked").shows("<details class=\"disclosure\" open>");
        assert!(!page.text.contains("<img src=x"));
        let page = add_webhook(&mut browser, "", &[("team_ids", "team_nobody"), ("ordering", "odd")]).await;
        assert_eq!(page.status, 422);
        page.shows("Enter the URL that receives the notifications.").shows("Choose at least one type of notification.").shows("One of the selected teams does not exist")
            .shows("Choose an order.");
        let theirs = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let page = add_webhook(&mut browser, "https://a.example/", &[("events", "*"), ("team_ids", theirs.id())]).await;
        assert_eq!(page.status, 422);
        let page = add_webhook(&mut browser, "https://a.example/", &[("events", "team.flown")]).await;
        assert_eq!(page.status, 422);
        page.shows("is not a notification type");
        assert_eq!(w.count("webhook").await, 1);

        let edit = format!("{base}/edit");
        let page = browser.get(&edit).await.ok().shows("value=\"Scores\"").shows("value=\"team.*\" checked");
        assert!(!page.text.contains("value=\"*\" checked"));
        let seen = between(&page, "name=\"shown\" value=\"", "\"").to_owned();
        let wrong = browser.post(&edit, &[("url", "http://a.example"), ("events", "*"), ("shown", &seen)]).await;
        assert_eq!(wrong.status, 422);
        wrong.shows("The URL must start with https://.");
        // A change that somebody else made meanwhile is not overwritten silently.
        w.owner.patch(base.trim_start_matches("/admin"), json!({ "description": "Results" })).await.ok();
        let fields = [("url", "https://b.example/hook"), ("events", "*"), ("events", "team.*"), ("ordering", "strict"), ("description", HOSTILE)];
        let late = browser.post(&edit, &[&fields[..], &[("shown", &seen)]].concat()).await;
        assert_eq!(late.status, 422);
        let late = late.shows("Somebody else changed this").shows("b.example/hook");
        let seen = between(&late, "name=\"shown\" value=\"", "\"").to_owned();
        browser.post(&edit, &[&fields[..], &[("shown", &seen)]].concat()).await.redirects_to(&format!("{base}?done=saved"));
        for path in [base.as_str(), "/admin/webhooks", &edit, "/admin/audit", &format!("{base}/delete")] {
            let page = browser.get(path).await.ok();
            assert!(!page.text.contains("<img src=x") && !page.text.contains("<script>\u{202e}"), "{path}");
        }
        browser.get(&base).await.ok().shows("b.example/hook").shows("One after the other").shows("<code>*</code>");
    }

    async fn explains_failures_and_resends_failed_deliveries(w: &World) {
        let (receiver, mut browser, base, _) = set_up_webhook(w).await;
        let answer = Reply { body: format!("{HOSTILE}{}", "x".repeat(5000)).into(), ..500.into() };
        receiver.set_reply(answer);
        team(w, "Hawks").await;
        w.deliver().await;
        let page = browser.get(&base).await.ok().shows("Waiting for retry").shows("500 in").shows("Within a minute")
            .shows("The receiver is failing").shows("1 pending").shows("0%");
        let delivery_path = deliveries(&page).remove(0);
        let page = browser.get(&delivery_path).await.ok().shows("Status 500").shows("&#60;script&#62;").shows("1 of at most 10");
        assert!(!page.text.contains("<img src=x"));
        browser.get("/admin/webhooks").await.ok().shows("Failing");
        browser.get("/admin").await.ok().shows("A webhook is failing").shows(&base);
        receiver.set_reply(204);
        browser.post(&format!("{delivery_path}/again"), &[]).await.redirects_to(&format!("{delivery_path}?done=again"));
        browser.get(&format!("{delivery_path}?done=again")).await.ok().shows("is being sent again").shows("Sending");
        w.deliver().await;
        browser.get(&delivery_path).await.ok().shows("Delivered").shows("Status 204").shows("Status 500");
        let ids: Vec<_> = receiver.received().iter().map(|request| request.header("webhook-id").to_owned()).collect();
        assert_eq!(ids[0], ids[1]);
        browser.get("/admin/audit?action=webhook").await.ok().shows("Delivery resent");
    }

    async fn sends_a_test_and_shows_its_result(w: &World) {
        let (receiver, mut browser, base, _) = set_up_webhook(w).await;
        let sent = browser.post(&format!("{base}/test"), &[]).await;
        let delivery_path = sent.local_redirect().unwrap().to_owned();
        browser.get(&delivery_path).await.ok().shows("The test notification is being sent.").shows("No attempts yet").shows("because this is a test")
            .shows("data-live").shows("hx-trigger=\"every 2s\"");
        w.deliver().await;
        browser.get(&delivery_path).await.ok().shows("Status 200");
        assert_eq!(receiver.received()[0].json()["type"], "ping");
        browser.get(&format!("{base}?q=ping")).await.ok().shows("ping").shows("Delivered");
    }

    async fn a_disabled_webhook_shows_the_reason_and_what_it_missed(w: &World) {
        let (receiver, mut browser, base, _) = set_up_webhook(w).await;
        receiver.set_reply(410);
        team(w, "Hawks").await;
        w.deliver().await;
        team(w, "Owls").await;
        w.advance_clock(seconds(20 * 60));
        let page = browser.get(&base).await.ok().shows("This webhook is off").shows("status 410").shows("20 minutes ago")
            .shows("<b>2 notifications</b>").shows("Turn on and replay missed");
        assert!(!page.text.contains("data-live") && !page.text.contains("Send test"));
        browser.get("/admin").await.ok().shows("A webhook was turned off").shows("Failed webhook deliveries").shows(&base);
        browser.get("/admin/webhooks").await.ok().shows("Turned off").shows("permanently gone");
        assert_eq!(browser.post(&format!("{base}/test"), &[]).await.status, 409);
        browser.get(&format!("{base}/replay")).await.ok().shows("The webhook is off");
        receiver.set_reply(200);
        browser.post(&format!("{base}/on"), &[("missed", "yes")]).await.redirects_to(&format!("{base}?done=on-missed"));
        w.deliver().await;
        assert_eq!(receiver.received().len(), 3);
        let page = browser.get(&base).await.ok().shows("No failed deliveries");
        assert!(!page.text.contains("This webhook is off"));

        browser.get(&format!("{base}/off")).await.ok().shows("will receive nothing until");
        browser.post(&format!("{base}/off"), &[]).await.redirects_to(&format!("{base}?done=off"));
        browser.get(&format!("{base}/off")).await.redirects_to(&base);
        team(w, "Gulls").await;
        browser.get(&base).await.ok().shows("It was turned off manually.").shows("<b>1 notification</b>");
        assert!(!browser.get("/admin").await.ok().text.contains("was turned off"));
        browser.post(&format!("{base}/on"), &[("missed", "no")]).await.redirects_to(&format!("{base}?done=on"));
        // Another window still shows it as off.
        browser.post(&format!("{base}/on"), &[("missed", "yes")]).await.redirects_to(&format!("{base}?done=on-before"));
        w.deliver().await;
        assert_eq!(receiver.received().len(), 3);
        browser.get("/admin/audit?action=webhook").await.ok().shows("Webhook turned off").shows("Webhook turned on");
    }

    async fn replays_a_part_of_the_log(w: &World) {
        let (receiver, mut browser, base, _) = set_up_webhook(w).await;
        for name in ["A", "B", "C"] {
            team(w, name).await;
            w.deliver().await;
            w.advance_clock(seconds(480));
        }
        let replay = format!("{base}/replay");
        let sequences_from = |from: usize| receiver.received()[from..].iter().map(ReceivedRequest::sequence).collect::<Vec<_>>();
        let all = sequences_from(0);
        browser.get(&replay).await.ok().shows("No deliveries have failed.").shows("time zone, UTC");
        for (fields, words) in [
            (&[("what", "failed")][..], "No deliveries have failed."),
            (&[("what", "numbers"), ("first", "x")], "Enter a number"),
            (&[("what", "numbers"), ("first", "999")], "no notifications to replay"),
            (&[("what", "time"), ("from", "yesterday")], "Enter a date and time"),
            (&[], "Choose what to send again."),
        ] {
            let page = browser.post(&replay, fields).await;
            assert_eq!(page.status, 422, "{fields:?}");
            page.shows(words);
        }
        let number = all[1].to_string();
        browser.post(&replay, &[("what", "numbers"), ("first", &number), ("last", &number)]).await.redirects_to(&format!("{base}?done=replay"));
        w.deliver().await;
        assert_eq!(sequences_from(3), [all[1]]);
        let missed = [("what", "numbers"), ("first", "1"), ("missed", "yes")];
        browser.post(&replay, &missed).await.redirects_to(&format!("{base}?done=replay"));
        w.deliver().await;
        assert_eq!(sequences_from(4), Vec::<i64>::new(), "all of it arrived before");
        browser.post(&replay, &[("what", "time"), ("from", "2026-09-05T10:12")]).await.redirects_to(&format!("{base}?done=replay"));
        w.deliver().await;
        assert_eq!(sequences_from(4), [all[2]]);

        receiver.queue_replies([Reply { headers: vec![("webhook-delivery", "abort-message".to_owned())], ..400.into() }]);
        team(w, "D").await;
        w.deliver().await;
        browser.get(&base).await.ok().shows("1 failed").shows("Send these again");
        browser.get(&replay).await.ok().shows("1 delivery has</a> failed").shows("value=\"failed\" checked");
        browser.post(&replay, &[("what", "failed")]).await.redirects_to(&format!("{base}?done=replay"));
        w.deliver().await;
        assert_eq!(sequences_from(5).len(), 2);
        browser.get(&base).await.ok().shows("No failed deliveries");
    }

    async fn old_and_new_secret_both_sign_for_a_day(w: &World) {
        let (receiver, mut browser, base, old) = set_up_webhook(w).await;
        let page = browser.get(&format!("{base}/rotate")).await.ok().shows("24 hours");
        let nonce = between(&page, "name=\"nonce\" value=\"", "\"").to_owned();
        let rotated = browser.post(&format!("{base}/rotate"), &[("nonce", &nonce)]).await.ok();
        let new = secret_of(&rotated);
        assert_ne!(new, old);
        rotated.shows("Also used until").shows("/docs/webhooks");
        browser.post(&format!("{base}/rotate"), &[("nonce", &nonce)]).await.redirects_to(&format!("{base}?done=before"));
        browser.get(&base).await.ok().shows("The previous secret is also used until");
        team(w, "Hawks").await;
        w.deliver().await;
        assert_eq!(receiver.received()[0].header("webhook-signature").split(' ').count(), 2);
        w.advance_clock(seconds(25 * 3600));
        team(w, "Owls").await;
        w.deliver().await;
        assert_eq!(receiver.received()[1].header("webhook-signature").split(' ').count(), 1);
        let mut browser = w.browser(w.user(Role::Owner, "rui@harbour.example").await.id).await;
        assert!(!browser.get(&base).await.ok().text.contains("also used until"));
    }

    async fn an_old_sign_in_must_be_confirmed_again(w: &World) {
        let (_, mut browser, base, _) = set_up_webhook(w).await;
        let nonce = open_form(&mut browser).await;
        w.advance_clock(seconds(11 * 60));
        browser.get("/admin/webhooks/new").await.redirects_to("/confirm?next=%2Fadmin%2Fwebhooks%2Fnew");
        let fields = [("nonce", nonce.as_str()), ("url", "https://late.example/x"), ("events", "team.*")];
        let next = browser.post("/admin/webhooks/new", &fields).await.local_redirect().unwrap().to_owned();
        assert!(next.starts_with("/confirm?next=") && next.contains("late.example"), "{next}");
        for path in ["edit", "rotate", "delete"] {
            let path = format!("{base}/{path}");
            assert!(browser.get(&path).await.local_redirect().unwrap().starts_with("/confirm"), "{path}");
            assert!(browser.post(&path, &[("nonce", &nonce)]).await.local_redirect().unwrap().starts_with("/confirm"), "{path}");
        }
        assert_eq!(w.count("webhook").await, 1);
        let mut new_browser = w.browser(w.user(Role::Owner, "rui@harbour.example").await.id).await;
        new_browser.get("/admin/webhooks/new?url=https%3A%2F%2Flate.example%2Fx&events=team.%2A").await.ok()
            .shows("value=\"https://late.example/x\"").shows("value=\"team.*\" checked");
    }

    async fn searches_and_pages_deliveries(w: &World) {
        let (receiver, mut browser, base, _) = set_up_webhook(w).await;
        receiver.queue_replies([500]);
        for number in 0..7 {
            team(w, &format!("Team {number}")).await;
        }
        w.deliver().await;
        let (mut path, mut seen) = (format!("{base}?limit=3"), Vec::new());
        for _ in 0..6 {
            let page = browser.get(&path).await.ok();
            assert_eq!(page.text.contains("data-live"), !path.contains("cursor"), "only the first page refreshes itself");
            seen.extend(deliveries(&page));
            let Some(link) = page.text.split("href=\"").find(|link| link.contains("cursor=")) else { break };
            path = link.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
        }
        let mut sorted = seen.clone();
        sorted.sort();
        sorted.dedup();
        sorted.reverse();
        assert_eq!((seen.len(), &seen), (7, &sorted), "each delivery once, newest first");
        let count = async |browser: &mut Browser, query: &str| {
            deliveries(&browser.get(&format!("{base}?{query}")).await.ok()).len()
        };
        assert_eq!(count(&mut browser, "status=succeeded").await, 6);
        assert_eq!(count(&mut browser, "status=pending&q=").await, 1);
        assert_eq!(count(&mut browser, "status=failed").await, 0);
        assert_eq!(count(&mut browser, "q=created").await, 7);
        assert_eq!(count(&mut browser, "q=event.*").await, 0);
        assert_eq!(count(&mut browser, "q=%27%20or%201%3D1").await, 0);
        let id = seen[2].rsplit('/').next().unwrap().to_owned();
        assert_eq!(count(&mut browser, &format!("q={id}")).await, 1);
        let id = receiver.received()[0].header("webhook-id").to_owned();
        assert_eq!(count(&mut browser, &format!("q={id}")).await, 1);
        browser.get(&format!("{base}?q=nothing")).await.ok().shows("No deliveries match this filter.").shows("Clear");

        // A delivery is only found under its own webhook.
        let other = webhook_path(&add_webhook(&mut browser, &receiver.url(), &[("events", "*")]).await.ok());
        let foreign = seen[0].replace(&base, &other);
        assert_eq!(browser.get(&foreign).await.status, 404);
        assert_eq!(browser.post(&format!("{foreign}/again"), &[]).await.status, 404);
    }

    async fn deleting_a_webhook_deletes_its_deliveries(w: &World) {
        let (_receiver, mut browser, base, _) = set_up_webhook(w).await;
        team(w, "Hawks").await;
        w.deliver().await;
        browser.get(&format!("{base}/delete")).await.ok().shows("You cannot undo this").shows("Nothing more will be sent");
        browser.post(&format!("{base}/delete"), &[]).await.redirects_to("/admin/webhooks?done=deleted");
        browser.get("/admin/webhooks?done=deleted").await.ok().shows("were deleted").shows("No webhooks yet").shows("event.cancelled");
        assert_eq!(browser.get(&base).await.status, 404);
        assert_eq!((w.count("webhook").await, w.count("delivery").await, w.count("webhook_hour").await), (0, 0, 0));
    }

    async fn the_demo_club_has_a_webhook_that_sends_nothing(w: &World) {
        demo::load(&w.node.app).await.unwrap();
        w.deliver().await;
        let owner = w.user_of(demo::ACCOUNT, Role::Owner, "olga@example.org").await;
        let mut browser = w.browser_at(owner.id, Some(demo::ACCOUNT)).await;
        let page = browser.get("/admin/webhooks").await.ok().shows("scores.example.org").shows("Off");
        let base = webhook_path(&page);
        let page = browser.get(&base).await.ok().shows("It was turned off manually.").shows("Delivered").shows("Load more");
        assert!(deliveries(&page).len() == 25 && !page.text.contains("Nothing was sent"));
        let failed = browser.get(&format!("{base}?status=failed")).await.ok();
        let delivery_path = deliveries(&failed).remove(0);
        browser.get(&delivery_path).await.ok().shows("Status 422").shows("curl -X POST");
        let id: WebhookId = base.rsplit('/').next().unwrap().parse().unwrap();
        let key = w.node.app.secrets.key("webhook");
        let find = move |db: &store::Reader<'_>| touchline::webhooks::webhook::find(db, id);
        let webhook = w.db().read(Scope::account(demo::ACCOUNT, "test"), find).await.unwrap();
        assert_eq!(webhook.secrets(&key, w.node.app.clock.now()).len(), 1, "its secret can be opened");
    }

    async fn doctor_and_metrics_report_failing_webhooks(w: &World) {
        let (receiver, ..) = set_up_webhook(w).await;
        let webhook_finding = async || {
            let findings = doctor::run_checks(w.db(), &w.node.app.config, w.node.app.clock.now()).await;
            let finding = findings.into_iter().find(|finding| finding.check == "webhooks").unwrap();
            (finding.verdict, finding.detail.to_string())
        };
        assert_eq!(webhook_finding().await.0, doctor::CheckStatus::Passed);
        receiver.set_reply(500);
        team(w, "Hawks").await;
        w.deliver().await;
        w.advance_clock(seconds(2 * 3600));
        let (verdict, detail) = webhook_finding().await;
        assert_eq!(verdict, doctor::CheckStatus::Warning);
        assert!(detail.contains("1 webhook failed for more than an hour"), "{detail}");
        let mut browser = w.browser(w.user(Role::Owner, "rui@harbour.example").await.id).await;
        browser.get("/admin/health").await.ok().shows("Webhooks").shows("failed for more than an hour");
        let text = touchline::web::metrics::Metrics::render(&w.node.app);
        assert!(text.contains("touchline_webhook_attempts_total{outcome=\"failed\"} 1"), "{text}");
    }

    async fn only_admins_can_manage_webhooks(w: &World) {
        let (_, _, base, _) = set_up_webhook(w).await;
        let member = w.user(Role::Member, "eva@harbour.example").await;
        let refused = w.browser(member.id).await.get(&base).await;
        assert_eq!(refused.status, 403);
        refused.shows("Only admins");
        let other = make_account(w.db(), "Riverside", w.node.app.clock.now()).await;
        let foreign = w.user_of(other, Role::Owner, "ivo@riverside.example").await;
        let mut ivo = w.browser_at(foreign.id, Some(other)).await;
        assert_eq!(ivo.get(&base).await.status, 404);
        ivo.get("/admin/webhooks").await.ok().shows("No webhooks yet");
        assert!(!ivo.get("/admin").await.ok().text.contains("Deliveries that failed"));
    }
}

pub(crate) fn decode_base64(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

/// Replaces HTML character references by their characters.
fn unescape_html(text: &str) -> String {
    [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
