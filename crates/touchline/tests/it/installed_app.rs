//! Tests of the installed app: the manifest and its icons.

use image::ImageFormat;
use testkit::{Value, World, both};
use touchline::accounts::user::Role;

use crate::compression::fetch;

/// The texts of a list in the manifest.
fn texts<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|one| one[field].as_str().unwrap()).collect()
}

both! {
    async fn the_manifest_is_in_the_language_of_the_browser(w: &World) {
        let expected = [
            ("en-GB,en;q=0.9", "en", "Touchline: your teams", ["Schedule", "Messages"]),
            ("es-MX,es;q=0.9,en;q=0.5", "es", "Touchline: tus equipos", ["Calendario", "Mensajes"]),
        ];
        let user = w.user(Role::Member, "ana@example.org").await;
        let mut browser = w.browser(user.id).await;
        for (language, lang, name, shortcuts) in expected {
            let manifest = w.nobody.with_header("Accept-Language", language).page("GET", "/manifest.webmanifest", None).await.ok();
            assert_eq!(manifest.header("content-type"), Some("application/manifest+json"));
            assert_eq!(manifest.header("vary"), Some("accept-language"));
            let body = &manifest.body;
            assert_eq!((&body["lang"], &body["name"], &body["dir"]), (&lang.into(), &name.into(), &"ltr".into()));
            assert_eq!((&body["start_url"], &body["scope"], &body["display"]), (&"/".into(), &"/".into(), &"standalone".into()));
            assert_eq!(texts(&body["shortcuts"], "name"), shortcuts);
            for url in texts(&body["shortcuts"], "url").into_iter().chain(["/"]) {
                browser.get(url).await.ok();
            }
        }
        browser.get("/").await.ok().shows("<link rel=\"manifest\" href=\"/manifest.webmanifest\">");
    }

    async fn every_icon_has_the_size_that_the_manifest_says(w: &World) {
        let manifest = w.nobody.page("GET", "/manifest.webmanifest", None).await.ok();
        let icons = manifest.body["icons"].as_array().unwrap();
        for icon in icons {
            let path = icon["src"].as_str().unwrap();
            let (head, bytes) = fetch(&w.nobody, path).await;
            assert!(head.starts_with("http/1.1 200") && head.contains("content-type: image/png"), "{path}: {head}");
            assert!(head.contains("cache-control: public, max-age=31536000, immutable"), "{path}: {head}");
            let image = image::load_from_memory_with_format(&bytes, ImageFormat::Png).unwrap();
            let size = format!("{}x{}", image.width(), image.height());
            assert_eq!((&icon["sizes"], &icon["type"]), (&size.into(), &"image/png".into()), "{path}");
        }
        // Browsers install the app only with these sizes, and phones cut a maskable icon to their shape.
        let has = |size: &str, purpose: &str| icons.iter().any(|icon| icon["sizes"] == size && icon["purpose"] == purpose);
        assert!(has("192x192", "any") && has("512x512", "any") && has("512x512", "maskable"), "{icons:?}");
        let sign_in = w.nobody.page("GET", "/sign-in", None).await.ok();
        let touch_icon = sign_in.text.split("<link rel=\"apple-touch-icon\" href=\"").nth(1).unwrap().split('"').next().unwrap();
        let (head, bytes) = fetch(&w.nobody, touch_icon).await;
        assert!(head.starts_with("http/1.1 200") && head.contains("content-type: image/png"), "{head}");
        let image = image::load_from_memory_with_format(&bytes, ImageFormat::Png).unwrap();
        assert_eq!((image.width(), image.height()), (180, 180));
    }
}
