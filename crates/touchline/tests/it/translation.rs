//! Tests of the language of pages and emails: the user's setting, then the browser, then English.

use store::Scope;
use testkit::{Value, World, both};
use touchline::accounts::profile;
use touchline::accounts::user::{Role, User};
use touchline::i18n::{Locale, Message};
use touchline::mail::email;

/// An admin who chose this language.
async fn admin_with_language(w: &World, email: &str, language: Option<&'static str>) -> User {
    let user = w.user(Role::Admin, email).await;
    let id = user.id;
    let change = move |tx: &store::Tx<'_>| profile::update(tx, id, "Lola", language);
    w.db().write(Scope::system("test"), change).await.unwrap();
    user
}

both! {
    async fn pages_follow_the_setting_and_then_the_browser(w: &World) {
        let user = w.user(Role::Owner, "lola@example.org").await;
        let mut browser = w.browser(user.id).await.with_header("Accept-Language", "es-MX,es;q=0.9");
        browser.get("/account").await.ok().shows("<html lang=\"es\" dir=\"ltr\">").shows("Mi cuenta").shows("Llaves de acceso");
        browser.get("/there/is/nothing").await.shows("Página no encontrada").shows("lang=\"es\"");
        let saved = browser.post("/account", &[("name", "Lola"), ("language", "en")]).await;
        saved.redirects_to("/account?done=saved");
        browser.get("/account").await.ok().shows("<html lang=\"en\" dir=\"ltr\">").shows("My account")
            .shows("<option value=\"en\" selected>English</option>");
        browser.post("/account", &[("name", "Lola"), ("language", "")]).await;
        browser.get("/account").await.ok().shows("lang=\"es\"");
        let wrong = browser.post("/account", &[("name", ""), ("language", "")]).await;
        assert!(wrong.text.contains("Escribe un nombre de 120 caracteres"), "{}", wrong.text);
        let mut guest = w.anonymous_browser().with_header("Accept-Language", "es");
        guest.get("/sign-in").await.ok().shows("lang=\"es\"");
    }

    async fn the_api_is_always_in_english(w: &World) {
        let client = w.owner.with_header("Accept-Language", "es");
        let wrong = client.post("/teams", testkit::json!({ "name": "x".repeat(300), "timezone": "UTC" })).await;
        let wrong = wrong.assert_problem(422, "validation_failed");
        assert_eq!(wrong.body["errors"][0]["detail"], "Use at most 120 characters.");
    }

    async fn emails_are_in_the_language_of_each_recipient(w: &World) {
        admin_with_language(w, "lola@example.org", Some("es")).await;
        admin_with_language(w, "ann@example.org", None).await;
        let queue = |tx: &store::Tx<'_>| {
            let subject = Message::from("Card payment disputed");
            email::enqueue_to_admins(tx, "ord_x", &subject, &Message::from("Card refund failed"))
        };
        w.db().write(Scope::account(w.harbour, "test"), queue).await.unwrap();
        let emails = w.owner.get("/emails?related_id=ord_x").await.ok();
        let subject = |address: &str| {
            let all = emails.data().as_array().unwrap();
            let found = all.iter().find(|email| email["to_address"] == address).unwrap();
            found["subject"].as_str().map(str::to_owned).unwrap()
        };
        assert_eq!(subject("lola@example.org"), "Pago con tarjeta en disputa");
        assert_eq!(subject("ann@example.org"), "Card payment disputed");
        let fields: Vec<_> = emails.data()[0].as_object().unwrap().keys().collect();
        assert!(!fields.contains(&&"language".to_owned()), "{fields:?}");
        assert!(emails.data()[0]["version"] != Value::Null);
    }
}

#[test]
fn every_language_can_be_chosen() {
    let choices: Vec<_> = Locale::choices().map(|(tag, _)| tag).collect();
    assert!(choices.contains(&"en") && choices.contains(&"es"), "{choices:?}");
    assert!(!choices.contains(&"en-US"), "a variant is not a language");
}
