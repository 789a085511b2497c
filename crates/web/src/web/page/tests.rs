//! Renders every template part in every layout, with names that try to inject HTML.

use kit::{Timestamp, Zone};

use super::*;
use crate::web::assets;
use crate::web::confirm::ConfirmPage;
use crate::web::form::Faults;
use crate::web::sentence::Sentence;

const SCRIPT: &str = "<script>alert(1)</script>";
const PICTURE: &str = "\"><img src=x onerror=alert(1)>";
const BACKWARDS: &str = "\u{202e}drahciR";

const LONG: &str = "LlanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogochLlanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch";

/// Every part in the admin layout, with names that try to inject HTML.
#[derive(Template)]
#[template(path = "gallery/keys.html")]
struct Gallery {
    frame: Frame,
    names: [&'static str; 5],
    moment: Timestamp,
    now: Timestamp,
    zone: Zone,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "gallery/profile.html")]
struct AccountGallery {
    frame: Frame,
    name: String,
}

#[derive(Template)]
#[template(path = "gallery/sign_in.html")]
struct PlainGallery {
    frame: Frame,
    error: &'static str,
}

fn admin(title: &'static str, section: Section) -> Frame {
    Frame::signed_in(title, section, "Robin Okafor", "token-of-the-form").club(
        "Harbour FC",
        2,
        true,
    )
}

fn gallery(frame: Frame) -> Gallery {
    let fault = Fault::new("/email", "invalid", "Enter an email address such as name@example.org.");
    Gallery {
        frame,
        names: ["Maya Lindqvist", SCRIPT, PICTURE, BACKWARDS, LONG],
        moment: "2026-11-14T18:05:00Z".parse().unwrap(),
        now: "2026-11-15T08:00:00Z".parse().unwrap(),
        zone: "Europe/Berlin".parse().unwrap(),
        faults: (&Error::invalid(vec![fault])).into(),
    }
}

/// Every layout with every part, by name.
fn pages() -> Vec<(&'static str, String)> {
    let flash = Some(Flash::success("Key created."));
    let hostile = Frame::signed_in(SCRIPT, Section::ApiKeys, PICTURE, PICTURE);
    let hostile = hostile.club(BACKWARDS, 12, true).flash(Some(Flash::failure(SCRIPT)));
    let account = Frame::signed_in("Profile", Section::Profile, "Robin Okafor", "t");
    let account = account.club(LONG, 3, true);
    let sign_in = Frame::plain("Sign in to Harbour FC").csrf("t");
    let danger = Frame { club: Some(LONG.to_owned()), ..Frame::plain("Revoke this key?") };
    let error = Error::not_found();
    let rendered = |page: &dyn askama::DynTemplate| page.dyn_render().unwrap();
    vec![
        ("admin", rendered(&gallery(admin("API keys", Section::ApiKeys).flash(flash)))),
        ("hostile", rendered(&gallery(hostile))),
        ("account", rendered(&AccountGallery { frame: account, name: PICTURE.to_owned() })),
        (
            "plain",
            rendered(&PlainGallery {
                frame: sign_in,
                error: "The email address or password is incorrect.",
            }),
        ),
        (
            "danger",
            rendered(
                &ConfirmPage::new(danger, "Revoke the key", "/admin/keys")
                    .lead(
                        Sentence::new("The key “{name}” stops working at once.")
                            .name("name", SCRIPT),
                    )
                    .effect("Programs that use it get an error from now on.")
                    .back_label("Keep it"),
            ),
        ),
        ("error", text(error_page(&error, "req_01kbm2x5q8f7vr0n3hd9tzc4wy", None))),
    ]
}

fn text(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), usize::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    String::from_utf8(runtime.block_on(body).unwrap().to_vec()).unwrap()
}

#[test]
fn every_part_renders_in_every_layout_and_escapes_names() {
    for (name, html) in pages() {
        assert!(!html.contains("<script>") && !html.contains("<img src=x"), "{name}");
        assert!(!html.contains(" style=") && !html.contains("<style"), "{name}: inline style");
        let scripts = html.matches("<script").count();
        assert_eq!(scripts, html.matches("<script src=\"/assets/").count(), "{name}");
        for (index, _) in html.match_indices(BACKWARDS) {
            let before = &html[..index];
            let isolated = before.ends_with("<bdi>") || before.ends_with(" · ");
            assert!(isolated, "{name}: a name outside of <bdi>: {}", &before[before.len() - 60..]);
        }
        assert_eq!(html.matches("<h1>").count(), 1, "{name}");
        assert!(html.contains("href=\"#main\"") && html.contains("id=\"main\""), "{name}");
        assert!(html.contains("role=\"status\""), "{name}");
        assert!(!html.contains("=\"\"></use>") && !html.contains("href=\"\""), "{name}");
        for form in html.split("<form method=\"post\"").skip(1) {
            let form = form.split("</form>").next().unwrap();
            assert!(form.contains("name=\"csrf\""), "{name}: {form}");
        }
        assert!(html.len() < 60_000, "{name} has {} bytes", html.len());
    }
}

#[test]
fn a_field_shows_its_value_even_if_the_page_has_a_field_of_that_name() {
    let (_, account) = pages().into_iter().find(|(name, _)| *name == "account").unwrap();
    assert!(
        account.contains("value=\"&#34;&#62;&#60;img src=x onerror=alert(1)&#62;\""),
        "{account}"
    );
}

#[test]
fn every_icon_in_use_exists() {
    let sprite = include_str!("../../../assets/icons.svg");
    let mark = format!("{}#", assets::href("icons.svg"));
    for (name, html) in pages() {
        for used in html.split(mark.as_str()).skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(sprite.contains(&format!("id=\"{used}\"")), "{name}: no icon {used}");
        }
    }
    for section in ADMIN.iter().chain(ACCOUNT).flat_map(|(_, sections)| sections.iter()) {
        assert!(sprite.contains(&format!("id=\"{}\"", section.icon())), "{section:?}");
    }
}

#[test]
fn a_form_targets_another_origin_only_if_the_page_allows_it() {
    let page = PlainGallery { frame: Frame::plain("Consent"), error: "" };
    let policy = |response: Response| {
        response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned()
    };
    let usual = policy(html(StatusCode::OK, &page).unwrap());
    assert!(usual.ends_with("form-action 'self'") && !usual.contains("unsafe"), "{usual}");
    let app = html_with_form_action(StatusCode::OK, &page, "https://app.example").unwrap();
    assert_eq!(policy(app), format!("{usual} https://app.example"));
    for wrong in ["https://a b", "https://a; script-src *", "x\n", "a,b"] {
        assert!(html_with_form_action(StatusCode::OK, &page, wrong).is_err(), "{wrong}");
    }
}

#[test]
fn error_pages_hide_the_internal_cause_and_escape_the_detail() {
    let inside = Error::internal("select of the secret table failed");
    let page = text(error_page(&inside, "req_x", None));
    assert!(page.contains("Something went wrong") && page.contains("req_x"));
    assert!(!page.contains("secret table") && page.contains("href=\"/\""));
    let refused = Error::new(Code::Forbidden, SCRIPT);
    assert!(!text(error_page(&refused, "req_x", Some(&[SCRIPT.to_owned()]))).contains("<script>"));
}

#[test]
fn every_stylesheet_and_script_in_use_exists() {
    for (name, html) in pages() {
        let used = |mark: &str| {
            let pieces: Vec<_> = html.split(mark).skip(1).collect();
            pieces.into_iter().filter_map(|rest| rest.split('"').next()).map(str::to_owned)
        };
        let styles = used("<link rel=\"stylesheet\" href=\"");
        let all: Vec<_> = styles.chain(used("<script src=\"")).collect();
        assert!(all.len() >= 2, "{name}: {all:?}");
        let is_asset = |address: &&String| !address.starts_with("/assets/colors/");
        for address in all.iter().filter(is_asset) {
            let file = address.trim_start_matches("/assets/").split('?').next().unwrap();
            assert!(!file.is_empty() && *address == assets::href(file), "{name}: {address}");
        }
    }
}
