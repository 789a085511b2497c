//! Tests of the money settings of an account.

use testkit::{World, both, json};

both! {
    async fn account_changes_its_payment_settings(w: &World) {
        let settings = w.owner.get("/payment_settings").await.ok();
        assert_eq!(settings.data()["currency"], "EUR");
        assert_eq!(settings.data()["reminder_days"], json!([-7, -1, 1, 14]));
        let change = json!({ "currency": "JPY", "unpaid_order_ttl_minutes": null, "reminder_days": [] });
        let changed = w.owner.patch("/payment_settings", change).await.ok();
        assert_eq!(changed.data()["currency"], "JPY");
        assert_eq!(changed.data()["unpaid_order_ttl_minutes"], json!(null));
        assert_eq!(changed.data()["version"], 2);
        assert_eq!(w.owner.get("/payment_settings").await.ok().data(), changed.data());
        assert_eq!(w.stranger.get("/payment_settings").await.ok().data()["currency"], "EUR");
        // An update without a difference publishes nothing.
        let same = w.owner.patch("/payment_settings", json!({ "currency": "JPY" })).await.ok();
        assert_eq!((same.data()["version"].clone(), w.notifications().await.len()), (json!(2), 1));
    }

    async fn reports_all_invalid_settings_at_once(w: &World) {
        let wrong = json!({ "currency": "eur", "unpaid_order_ttl_minutes": 0, "reminder_days": [1, 1, 400, 2.5, "x"], "colour": 1 });
        let refused = w.owner.patch("/payment_settings", wrong).await.assert_problem(400, "invalid_parameter");
        let mut errors: Vec<_> = refused.body["errors"].as_array().unwrap().iter()
            .map(|fault| format!("{} {}", fault["pointer"].as_str().unwrap(), fault["code"].as_str().unwrap())).collect();
        errors.sort();
        assert_eq!(errors, ["/colour unknown_field", "/currency unknown_currency", "/reminder_days/1 repeated", "/reminder_days/2 out_of_range",
            "/reminder_days/3 wrong_type", "/reminder_days/4 wrong_type", "/unpaid_order_ttl_minutes out_of_range"]);
        w.owner.patch("/payment_settings", json!({ "currency": null, "reminder_days": null })).await.assert_problem(422, "validation_failed");
        assert_eq!(w.owner.get("/payment_settings").await.ok().data()["version"], 1);
    }
}
