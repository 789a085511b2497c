//! How an account handles money.

use testkit::{World, both, json};

both! {
    async fn an_account_decides_how_it_handles_money(w: &World) {
        let found = w.owner.get("/money_settings").await.ok();
        assert_eq!(found.data()["currency"], "EUR");
        assert_eq!(found.data()["reminder_days"], json!([-7, -1, 1, 14]));
        let change = json!({ "currency": "JPY", "order_hold_minutes": null, "reminder_days": [] });
        let changed = w.owner.patch("/money_settings", change).await.ok();
        assert_eq!(changed.data()["currency"], "JPY");
        assert_eq!(changed.data()["order_hold_minutes"], json!(null));
        assert_eq!(changed.data()["version"], 2);
        assert_eq!(w.owner.get("/money_settings").await.ok().data(), changed.data());
        assert_eq!(w.stranger.get("/money_settings").await.ok().data()["currency"], "EUR");
        // What is the same already is no news.
        let same = w.owner.patch("/money_settings", json!({ "currency": "JPY" })).await.ok();
        assert_eq!((same.data()["version"].clone(), w.news().await.len()), (json!(2), 1));
    }

    async fn what_makes_no_sense_is_refused_all_at_once(w: &World) {
        let wrong = json!({ "currency": "eur", "order_hold_minutes": 0, "reminder_days": [1, 1, 400, 2.5, "x"], "colour": 1 });
        let refused = w.owner.patch("/money_settings", wrong).await.refused(400, "invalid_parameter");
        let mut told: Vec<_> = refused.body["errors"].as_array().unwrap().iter()
            .map(|fault| format!("{} {}", fault["pointer"].as_str().unwrap(), fault["code"].as_str().unwrap())).collect();
        told.sort();
        assert_eq!(told, ["/colour unknown_member", "/currency unknown_currency", "/order_hold_minutes out_of_range",
            "/reminder_days/1 repeated", "/reminder_days/2 out_of_range", "/reminder_days/3 wrong_type", "/reminder_days/4 wrong_type"]);
        w.owner.patch("/money_settings", json!({ "currency": null, "reminder_days": null })).await.refused(422, "validation_failed");
        assert_eq!(w.owner.get("/money_settings").await.ok().data()["version"], 1);
    }
}
