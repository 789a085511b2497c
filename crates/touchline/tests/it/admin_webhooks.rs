//! Stories about the pages on which webhooks are added, watched, turned on and off, and told again.

use store::Scope;
use testkit::receiver::{Received, Reply};
use testkit::world::make_account;
use testkit::{Answer, Browser, Receiver, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::ids::WebhookId;
use touchline::webhooks::signature::Secret;
use touchline::{demo, doctor};

use crate::admin_keys::between;

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>\u{202e}";

/// Opens the form for a new webhook and gives back the name of the form.
async fn form(browser: &mut Browser) -> String {
    let page = browser.get("/admin/webhooks/new").await.ok();
    between(&page, "name=\"nonce\" value=\"", "\"").to_owned()
}

/// Adds a webhook with the form and gives back the page that shows its secret.
pub(crate) async fn add(browser: &mut Browser, url: &str, more: &[(&str, &str)]) -> Answer {
    let nonce = form(browser).await;
    let fields: Vec<_> =
        [("nonce", nonce.as_str()), ("url", url)].into_iter().chain(more.iter().copied()).collect();
    browser.post("/admin/webhooks/new", &fields).await
}

pub(crate) fn secret_of(page: &Answer) -> String {
    between(page, "<code id=\"secret\">", "</code>").to_owned()
}

/// The page of the webhook that a page leads to.
fn place_of(page: &Answer) -> String {
    format!("/admin/webhooks/whk_{}", between(page, "/admin/webhooks/whk_", "\""))
}

/// The pages of the deliveries that a page lists, in its order.
fn deliveries(page: &Answer) -> Vec<String> {
    let links = page.text.split("href=\"").skip(1).filter_map(|link| link.split('"').next());
    links.filter(|link| link.contains("/deliveries/dlv_")).map(str::to_owned).collect()
}

async fn team(w: &World, name: &str) {
    w.owner.post("/teams", json!({ "name": name })).await.created();
}

/// An admin of Harbour with a webhook that is told of teams.
async fn scene(w: &World) -> (Receiver, Browser, String, String) {
    let admin = w.user(Role::Admin, "ana@harbour.example").await;
    let (receiver, mut browser) = (Receiver::start().await, w.browser(admin.id).await);
    let page =
        add(&mut browser, &receiver.url(), &[("events", "team.*"), ("description", "Scores")])
            .await
            .ok();
    (receiver, browser, place_of(&page), secret_of(&page))
}

both! {
    async fn a_webhook_is_added_and_its_secret_is_shown_once(w: &World) {
        let (receiver, mut browser, place, secret) = scene(w).await;
        assert!(secret.starts_with("whsec_"), "{secret}");
        browser.get("/admin/webhooks").await.ok().shows("team.*").shows("Scores").shows("Nothing sent").shows("On");
        browser.get(&place).await.ok().shows("Nothing sent yet").shows("As fast as possible").shows("ana").shows("All teams");
        team(w, "Hawks").await;
        w.deliver().await;

        let received = &receiver.received()[0];
        let key = base64(&secret["whsec_".len()..]);
        let at = received.header("webhook-timestamp").parse::<i64>().unwrap();
        let at = kit::Timestamp::from_micros(at * 1_000_000);
        let signed = Secret::from_bytes(key).sign(received.header("webhook-id"), at, &received.body);
        assert_eq!(received.header("webhook-signature"), signed);

        let page = browser.get(&place).await.ok().shows("team.created").shows("Delivered").shows("200 in")
            .shows("1 attempt in the last 24 hours, none failed.").shows("100 %");
        let one = deliveries(&page).remove(0);
        let page = browser.get(&one).await.ok().shows("It answered 200").shows("webhook-id: ntf_").shows("The exact bytes")
            .shows("curl -X POST").shows("Deliver again");
        assert!(page.text.contains(received.header("webhook-id")));
        let bare = &secret["whsec_".len()..secret.len() - 4];
        for path in ["/admin/webhooks", &place, &one, &format!("{place}/edit"), &format!("{place}/rotate"), "/admin/audit", "/admin"] {
            let page = browser.get(path).await.ok();
            assert!(!page.text.contains(bare), "{path} shows the secret");
        }
        browser.get("/admin/audit?action=webhook").await.ok().shows("Webhook added");
    }

    async fn the_line_to_copy_says_what_was_sent(w: &World) {
        let (receiver, mut browser, place, secret) = scene(w).await;
        team(w, "It's $HOME `x` \"quoted\" <b> \\").await;
        w.deliver().await;
        let one = deliveries(&browser.get(&place).await.ok()).remove(0);
        let page = browser.get(&one).await.ok();
        let line = plain(between(&page, "<code id=\"curl\">", "</code>"));
        // What a shell hands to the program.
        let script = format!("curl() {{ for word; do printf '%s\\0' \"$word\"; done; }}; {line}");
        let said = std::process::Command::new("sh").arg("-c").arg(&script).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let words: Vec<_> = said.split_terminator('\0').collect();
        let header = |name: &str| {
            let line = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or_else(|| panic!("{name}: {said}")).to_owned()
        };
        let sent = &receiver.received()[0];
        assert_eq!((words[2], *words.last().unwrap()), (receiver.url().as_str(), std::str::from_utf8(&sent.body).unwrap()));
        assert_eq!(header("webhook-id"), sent.header("webhook-id"));
        let at = kit::Timestamp::from_micros(header("webhook-timestamp").parse::<i64>().unwrap() * 1_000_000);
        let signed = Secret::from_bytes(base64(&secret["whsec_".len()..])).sign(&header("webhook-id"), at, &sent.body);
        assert_eq!((header("webhook-signature"), header("content-type")), (signed, "application/json".to_owned()));
    }

    async fn the_same_form_adds_one_webhook_however_often_it_is_sent(w: &World) {
        let (receiver, mut browser, ..) = scene(w).await;
        let (nonce, url) = (form(&mut browser).await, receiver.url());
        let fields = [("nonce", nonce.as_str()), ("url", url.as_str()), ("events", "*")];
        let first = browser.post("/admin/webhooks/new", &fields).await.ok();
        let again = browser.post("/admin/webhooks/new", &fields).await;
        let place = place_of(&first);
        again.leads_to(&format!("{place}?done=before"));
        browser.get(&format!("{place}?done=before")).await.ok().shows("carried out once");
        assert_eq!(w.count("webhook").await, 2);
        assert_eq!(browser.post("/admin/webhooks/new", &[("url", &url)]).await.status, 400);
    }

    async fn what_is_wrong_is_said_beside_the_field_and_what_was_typed_is_kept(w: &World) {
        let (_, mut browser, place, _) = scene(w).await;
        team(w, HOSTILE).await;
        let page = add(&mut browser, "https://10.0.0.1/x?<b>", &[("description", HOSTILE), ("events", "team.created"),
            ("ordering", "strict")]).await;
        assert_eq!(page.status, 422);
        let page = page.shows("id=\"url-error\"").shows("This address is not public.").shows("TOUCHLINE_WEBHOOK_ALLOW_CIDRS").shows("https://10.0.0.1/x?&#60;b&#62;")
            .shows("value=\"team.created\" checked").shows("value=\"strict\" checked").shows("<details class=\"fold\" open>");
        assert!(!page.text.contains("<img src=x"));
        let page = add(&mut browser, "", &[("team_ids", "team_nobody"), ("ordering", "odd")]).await;
        assert_eq!(page.status, 422);
        page.shows("Say where notifications are sent.").shows("Choose at least one.").shows("One of these teams does not exist")
            .shows("Choose one of these.");
        let theirs = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let page = add(&mut browser, "https://a.example/", &[("events", "*"), ("team_ids", theirs.id())]).await;
        assert_eq!(page.status, 422);
        let page = add(&mut browser, "https://a.example/", &[("events", "team.flown")]).await;
        assert_eq!(page.status, 422);
        page.shows("is no kind of notification");
        assert_eq!(w.count("webhook").await, 1);

        let edit = format!("{place}/edit");
        let page = browser.get(&edit).await.ok().shows("value=\"Scores\"").shows("value=\"team.*\" checked");
        assert!(!page.text.contains("value=\"*\" checked"));
        let seen = between(&page, "name=\"shown\" value=\"", "\"").to_owned();
        let wrong = browser.post(&edit, &[("url", "http://a.example"), ("events", "*"), ("shown", &seen)]).await;
        assert_eq!(wrong.status, 422);
        wrong.shows("An address begins with https://.");
        // Somebody else changed it: that is not set back without a word.
        w.owner.patch(place.trim_start_matches("/admin"), json!({ "description": "Results" })).await.ok();
        let fields = [("url", "https://b.example/hook"), ("events", "*"), ("events", "team.*"), ("ordering", "strict"), ("description", HOSTILE)];
        let late = browser.post(&edit, &[&fields[..], &[("shown", &seen)]].concat()).await;
        assert_eq!(late.status, 422);
        let late = late.shows("Somebody else changed this").shows("b.example/hook");
        let seen = between(&late, "name=\"shown\" value=\"", "\"").to_owned();
        browser.post(&edit, &[&fields[..], &[("shown", &seen)]].concat()).await.leads_to(&format!("{place}?done=saved"));
        for path in [place.as_str(), "/admin/webhooks", &edit, "/admin/audit", &format!("{place}/delete")] {
            let page = browser.get(path).await.ok();
            assert!(!page.text.contains("<img src=x") && !page.text.contains("<script>\u{202e}"), "{path}");
        }
        browser.get(&place).await.ok().shows("b.example/hook").shows("Strictly one after the other").shows("<code>*</code>");
    }

    async fn failures_are_told_in_words_and_what_failed_is_sent_again(w: &World) {
        let (receiver, mut browser, place, _) = scene(w).await;
        let answer = Reply { body: format!("{HOSTILE}{}", "x".repeat(5000)).into(), ..500.into() };
        receiver.always(answer);
        team(w, "Hawks").await;
        w.deliver().await;
        let page = browser.get(&place).await.ok().shows("Will be tried again").shows("500 in").shows("Within a minute")
            .shows("The receiver is failing").shows("1 to be tried").shows("0 %");
        let one = deliveries(&page).remove(0);
        let page = browser.get(&one).await.ok().shows("It answered 500").shows("&#60;script&#62;").shows("1 of at most 10");
        assert!(!page.text.contains("<img src=x"));
        browser.get("/admin/webhooks").await.ok().shows("Failing");
        browser.get("/admin").await.ok().shows("A webhook is failing").shows(&place);
        receiver.always(204);
        browser.post(&format!("{one}/again"), &[]).await.leads_to(&format!("{one}?done=again"));
        browser.get(&format!("{one}?done=again")).await.ok().shows("put on its way once more").shows("On its way");
        w.deliver().await;
        browser.get(&one).await.ok().shows("Delivered").shows("It answered 204").shows("It answered 500");
        let ids: Vec<_> = receiver.received().iter().map(|one| one.header("webhook-id").to_owned()).collect();
        assert_eq!(ids[0], ids[1]);
        browser.get("/admin/audit?action=webhook").await.ok().shows("Delivery sent again");
    }

    async fn a_test_is_sent_and_seen(w: &World) {
        let (receiver, mut browser, place, _) = scene(w).await;
        let sent = browser.post(&format!("{place}/test"), &[]).await;
        let one = sent.next().unwrap().to_owned();
        browser.get(&one).await.ok().shows("The test was put on its way.").shows("None yet").shows("a test stands in no log")
            .shows("data-live").shows("hx-trigger=\"every 2s\"");
        w.deliver().await;
        browser.get(&one).await.ok().shows("It answered 200");
        assert_eq!(receiver.received()[0].json()["type"], "ping");
        browser.get(&format!("{place}?q=ping")).await.ok().shows("ping").shows("Delivered");
    }

    async fn a_webhook_that_was_turned_off_says_why_and_what_it_missed(w: &World) {
        let (receiver, mut browser, place, _) = scene(w).await;
        receiver.always(410);
        team(w, "Hawks").await;
        w.deliver().await;
        team(w, "Owls").await;
        w.pass(seconds(20 * 60));
        let page = browser.get(&place).await.ok().shows("This webhook is off").shows("answered 410").shows("20 minutes ago")
            .shows("<b>2 notifications</b>").shows("Turn on and replay missed");
        assert!(!page.text.contains("data-live") && !page.text.contains("Send test"));
        browser.get("/admin").await.ok().shows("A webhook was turned off").shows("Deliveries that failed").shows(&place);
        browser.get("/admin/webhooks").await.ok().shows("Turned off").shows("gone for good");
        assert_eq!(browser.post(&format!("{place}/test"), &[]).await.status, 409);
        browser.get(&format!("{place}/replay")).await.ok().shows("The webhook is off");
        receiver.always(200);
        browser.post(&format!("{place}/on"), &[("missed", "yes")]).await.leads_to(&format!("{place}?done=on-missed"));
        w.deliver().await;
        assert_eq!(receiver.received().len(), 3);
        let page = browser.get(&place).await.ok().shows("Nothing given up");
        assert!(!page.text.contains("This webhook is off"));

        browser.get(&format!("{place}/off")).await.ok().shows("told nothing until");
        browser.post(&format!("{place}/off"), &[]).await.leads_to(&format!("{place}?done=off"));
        browser.get(&format!("{place}/off")).await.leads_to(&place);
        team(w, "Gulls").await;
        browser.get(&place).await.ok().shows("Somebody turned it off.").shows("<b>1 notification</b>");
        assert!(!browser.get("/admin").await.ok().text.contains("was turned off"));
        browser.post(&format!("{place}/on"), &[("missed", "no")]).await.leads_to(&format!("{place}?done=on"));
        // In another window it is still off.
        browser.post(&format!("{place}/on"), &[("missed", "yes")]).await.leads_to(&format!("{place}?done=on-before"));
        w.deliver().await;
        assert_eq!(receiver.received().len(), 3);
        browser.get("/admin/audit?action=webhook").await.ok().shows("Webhook turned off").shows("Webhook turned on");
    }

    async fn a_part_of_the_log_is_told_again(w: &World) {
        let (receiver, mut browser, place, _) = scene(w).await;
        for name in ["A", "B", "C"] {
            team(w, name).await;
            w.deliver().await;
            w.pass(seconds(480));
        }
        let replay = format!("{place}/replay");
        let told = |from: usize| receiver.received()[from..].iter().map(Received::sequence).collect::<Vec<_>>();
        let all = told(0);
        browser.get(&replay).await.ok().shows("Nothing has failed.").shows("time zone, UTC");
        for (fields, words) in [
            (&[("what", "failed")][..], "Nothing has failed."),
            (&[("what", "numbers"), ("first", "x")], "Write a number"),
            (&[("what", "numbers"), ("first", "999")], "nothing to tell again"),
            (&[("what", "time"), ("from", "yesterday")], "Write it like"),
            (&[], "Choose what the webhook is told again."),
        ] {
            let page = browser.post(&replay, fields).await;
            assert_eq!(page.status, 422, "{fields:?}");
            page.shows(words);
        }
        let number = all[1].to_string();
        browser.post(&replay, &[("what", "numbers"), ("first", &number), ("last", &number)]).await.leads_to(&format!("{place}?done=replay"));
        w.deliver().await;
        assert_eq!(told(3), [all[1]]);
        let missed = [("what", "numbers"), ("first", "1"), ("missed", "yes")];
        browser.post(&replay, &missed).await.leads_to(&format!("{place}?done=replay"));
        w.deliver().await;
        assert_eq!(told(4), Vec::<i64>::new(), "all of it arrived before");
        browser.post(&replay, &[("what", "time"), ("from", "2026-09-05T10:12")]).await.leads_to(&format!("{place}?done=replay"));
        w.deliver().await;
        assert_eq!(told(4), [all[2]]);

        receiver.next([Reply { headers: vec![("webhook-delivery", "abort-message".to_owned())], ..400.into() }]);
        team(w, "D").await;
        w.deliver().await;
        browser.get(&place).await.ok().shows("1 given up").shows("Send these again");
        browser.get(&replay).await.ok().shows("1 delivery has</a> failed").shows("value=\"failed\" checked");
        browser.post(&replay, &[("what", "failed")]).await.leads_to(&format!("{place}?done=replay"));
        w.deliver().await;
        assert_eq!(told(5).len(), 2);
        browser.get(&place).await.ok().shows("Nothing given up");
    }

    async fn a_new_secret_signs_beside_the_old_one_for_a_day(w: &World) {
        let (receiver, mut browser, place, old) = scene(w).await;
        let page = browser.get(&format!("{place}/rotate")).await.ok().shows("24 hours");
        let nonce = between(&page, "name=\"nonce\" value=\"", "\"").to_owned();
        let made = browser.post(&format!("{place}/rotate"), &[("nonce", &nonce)]).await.ok();
        let new = secret_of(&made);
        assert_ne!(new, old);
        made.shows("also signs until").shows("/docs/webhooks");
        browser.post(&format!("{place}/rotate"), &[("nonce", &nonce)]).await.leads_to(&format!("{place}?done=before"));
        browser.get(&place).await.ok().shows("The one before also signs until");
        team(w, "Hawks").await;
        w.deliver().await;
        assert_eq!(receiver.received()[0].header("webhook-signature").split(' ').count(), 2);
        w.pass(seconds(25 * 3600));
        team(w, "Owls").await;
        w.deliver().await;
        assert_eq!(receiver.received()[1].header("webhook-signature").split(' ').count(), 1);
        let mut browser = w.browser(w.user(Role::Owner, "rui@harbour.example").await.id).await;
        assert!(!browser.get(&place).await.ok().text.contains("also signs"));
    }

    async fn whoever_signed_in_long_ago_proves_again_who_they_are(w: &World) {
        let (_, mut browser, place, _) = scene(w).await;
        let nonce = form(&mut browser).await;
        w.pass(seconds(11 * 60));
        browser.get("/admin/webhooks/new").await.leads_to("/confirm?next=%2Fadmin%2Fwebhooks%2Fnew");
        let fields = [("nonce", nonce.as_str()), ("url", "https://late.example/x"), ("events", "team.*")];
        let next = browser.post("/admin/webhooks/new", &fields).await.next().unwrap().to_owned();
        assert!(next.starts_with("/confirm?next=") && next.contains("late.example"), "{next}");
        for path in ["edit", "rotate", "delete"] {
            let path = format!("{place}/{path}");
            assert!(browser.get(&path).await.next().unwrap().starts_with("/confirm"), "{path}");
            assert!(browser.post(&path, &[("nonce", &nonce)]).await.next().unwrap().starts_with("/confirm"), "{path}");
        }
        assert_eq!(w.count("webhook").await, 1);
        let mut later = w.browser(w.user(Role::Owner, "rui@harbour.example").await.id).await;
        later.get("/admin/webhooks/new?url=https%3A%2F%2Flate.example%2Fx&events=team.%2A").await.ok()
            .shows("value=\"https://late.example/x\"").shows("value=\"team.*\" checked");
    }

    async fn deliveries_are_found_and_paged(w: &World) {
        let (receiver, mut browser, place, _) = scene(w).await;
        receiver.next([500]);
        for number in 0..7 {
            team(w, &format!("Team {number}")).await;
        }
        w.deliver().await;
        let (mut path, mut seen) = (format!("{place}?limit=3"), Vec::new());
        for _ in 0..6 {
            let page = browser.get(&path).await.ok();
            assert_eq!(page.text.contains("data-live"), !path.contains("cursor"), "older pages stand still");
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
            deliveries(&browser.get(&format!("{place}?{query}")).await.ok()).len()
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
        browser.get(&format!("{place}?q=nothing")).await.ok().shows("No delivery fits.").shows("Clear");

        // A delivery is found below its own webhook only.
        let other = place_of(&add(&mut browser, &receiver.url(), &[("events", "*")]).await.ok());
        let foreign = seen[0].replace(&place, &other);
        assert_eq!(browser.get(&foreign).await.status, 404);
        assert_eq!(browser.post(&format!("{foreign}/again"), &[]).await.status, 404);
    }

    async fn a_webhook_is_deleted_with_what_is_known_of_it(w: &World) {
        let (_receiver, mut browser, place, _) = scene(w).await;
        team(w, "Hawks").await;
        w.deliver().await;
        browser.get(&format!("{place}/delete")).await.ok().shows("cannot be undone").shows("Nothing more is sent");
        browser.post(&format!("{place}/delete"), &[]).await.leads_to("/admin/webhooks?done=deleted");
        browser.get("/admin/webhooks?done=deleted").await.ok().shows("was deleted").shows("No webhooks yet").shows("event.cancelled");
        assert_eq!(browser.get(&place).await.status, 404);
        assert_eq!((w.count("webhook").await, w.count("delivery").await, w.count("webhook_hour").await), (0, 0, 0));
    }

    async fn the_demo_club_has_a_webhook_that_sends_nothing(w: &World) {
        demo::load(&w.node.app).await.unwrap();
        w.deliver().await;
        let owner = w.user_of(demo::ACCOUNT, Role::Owner, "olga@example.org").await;
        let mut browser = w.browser_at(owner.id, Some(demo::ACCOUNT)).await;
        let page = browser.get("/admin/webhooks").await.ok().shows("scores.example.org").shows("Off");
        let place = place_of(&page);
        let page = browser.get(&place).await.ok().shows("Somebody turned it off.").shows("Delivered").shows("Load more");
        assert!(deliveries(&page).len() == 25 && !page.text.contains("Nothing was sent"));
        let failed = browser.get(&format!("{place}?status=failed")).await.ok();
        let one = deliveries(&failed).remove(0);
        browser.get(&one).await.ok().shows("It answered 422").shows("curl -X POST");
        let id: WebhookId = place.rsplit('/').next().unwrap().parse().unwrap();
        let key = w.node.app.secrets.key("webhook");
        let find = move |db: &store::Reader<'_>| touchline::webhooks::webhook::find(db, id);
        let webhook = w.db().read(Scope::account(demo::ACCOUNT, "test"), find).await.unwrap();
        assert_eq!(webhook.secrets(&key, w.node.app.clock.now()).len(), 1, "its secret can be opened");
    }

    async fn the_doctor_and_the_metrics_know_of_webhooks(w: &World) {
        let (receiver, ..) = scene(w).await;
        let found = async || {
            let findings = doctor::examine(w.db(), &w.node.app.config, w.node.app.clock.now()).await;
            let finding = findings.into_iter().find(|finding| finding.check == "webhooks").unwrap();
            (finding.verdict, finding.detail)
        };
        assert_eq!(found().await.0, doctor::Verdict::Well);
        receiver.always(500);
        team(w, "Hawks").await;
        w.deliver().await;
        w.pass(seconds(2 * 3600));
        let (verdict, detail) = found().await;
        assert_eq!(verdict, doctor::Verdict::Look);
        assert!(detail.contains("1 webhook failed for more than an hour"), "{detail}");
        let mut browser = w.browser(w.user(Role::Owner, "rui@harbour.example").await.id).await;
        browser.get("/admin/health").await.ok().shows("Webhooks").shows("failed for more than an hour");
        let text = touchline::web::metrics::Metrics::text(&w.node.app);
        assert!(text.contains("touchline_webhook_attempts_total{outcome=\"failed\"} 1"), "{text}");
    }

    async fn webhooks_are_only_for_those_who_look_after_the_club(w: &World) {
        let (_, _, place, _) = scene(w).await;
        let member = w.user(Role::Member, "eva@harbour.example").await;
        let refused = w.browser(member.id).await.get(&place).await;
        assert_eq!(refused.status, 403);
        refused.shows("Only admins");
        let other = make_account(w.db(), "Riverside", w.node.app.clock.now()).await;
        let foreign = w.user_of(other, Role::Owner, "ivo@riverside.example").await;
        let mut ivo = w.browser_at(foreign.id, Some(other)).await;
        assert_eq!(ivo.get(&place).await.status, 404);
        ivo.get("/admin/webhooks").await.ok().shows("No webhooks yet");
        assert!(!ivo.get("/admin").await.ok().text.contains("Deliveries that failed"));
    }
}

pub(crate) fn base64(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

/// Text of a page as a browser shows it.
fn plain(text: &str) -> String {
    [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
