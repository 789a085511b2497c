//! What is done to an app with care: its secrets, everybody's access, and taking it out of service.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use store::Tx;

use super::apps_form::show_secret;
use super::shared::{Admin, show};
use crate::accounts::permits::AdminArea;
use crate::error::Error;
use crate::ids::{AppId, ClientSecretId};
use crate::oauth::app;
use crate::oauth::{grant, secret};
use crate::web::once::{Once, nonce, once};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, see_other};

/// A page that says what will happen before it does.
#[derive(Template)]
#[template(path = "admin/apps_ask.html")]
struct AskPage {
    frame: Frame,
    name: String,
    /// What stands before and behind the name.
    lead: (&'static str, &'static str),
    events: Vec<String>,
    /// The page about the people it is about, if it is about people.
    users: Option<i64>,
    button: &'static str,
    back: String,
}

pub(super) async fn add_secret(
    At(id): At<AppId>,
    Posted { visitor, form }: Posted<AdminArea>,
) -> Outcome<Response> {
    let app = visitor.read(move |db| app::find(db, id)).await?;
    visitor.fresh(&format!("/admin/apps/{id}"))?;
    let (kept, nonce) = (visitor.app().config.idempotency_ttl, nonce(&form)?);
    let added = visitor.write(move |tx: &Tx<'_>| {
        once(tx, &nonce, kept, |tx| {
            let (_, value) = secret::add(tx, id)?;
            Ok((id.to_string(), value))
        })
    });
    match added.await? {
        Once::Now(value) => show_secret(&visitor, app, &value),
        Once::Before(_) => Ok(see_other(&format!("/admin/apps/{id}"))),
    }
}

pub(super) async fn ask_revoke_secret(
    visitor: Admin,
    At((id, secret)): At<(AppId, ClientSecretId)>,
) -> Outcome<Response> {
    let look = move |db: &store::Reader<'_>| Ok((app::find(db, id)?, secret::live(db, id)?));
    let (app, live) = visitor.read(look).await?;
    let found = live.iter().find(|one| one.id == secret).ok_or_else(Error::not_found)?;
    visitor.fresh(&format!("/admin/apps/{id}/secrets/{secret}/revoke"))?;
    let others = match live.len() {
        1 => "It is the only one: the app cannot get or renew access until it has another.",
        _ => "The other secret goes on working.",
    };
    let page = AskPage {
        frame: visitor.frame("Revoke this secret?", Section::OauthApps),
        name: app.name,
        lead: ("A secret of", "stops working at once."),
        events: vec![
            format!("The secret that ends in {} opens nothing from now on.", found.hint),
            others.to_owned(),
            "It cannot be undone. You can add a new secret at any time.".to_owned(),
        ],
        users: None,
        button: "Revoke the secret",
        back: format!("/admin/apps/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn revoke_secret(
    At((id, secret)): At<(AppId, ClientSecretId)>,
    Posted { visitor, .. }: Posted<AdminArea>,
) -> Outcome<Response> {
    visitor.fresh(&format!("/admin/apps/{id}/secrets/{secret}/revoke"))?;
    visitor.write(move |tx| secret::revoke(tx, id, secret)).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done=secret-revoked")))
}

pub(super) async fn ask_revoke_all(visitor: Admin, At(id): At<AppId>) -> Outcome<Response> {
    let look = move |db: &store::Reader<'_>| Ok((app::find(db, id)?, grant::users_of(db, id)?));
    let (app, users) = visitor.read(look).await?;
    visitor.fresh(&format!("/admin/apps/{id}/revoke-all"))?;
    let page = AskPage {
        frame: visitor.frame("Revoke everybody’s access?", Section::OauthApps),
        name: app.name,
        lead: ("", "can no longer act for anybody."),
        events: vec![
            "Every token it holds stops working at once.".to_owned(),
            "People can allow it again whenever they use it.".to_owned(),
        ],
        users: Some(users),
        button: "Revoke all access",
        back: format!("/admin/apps/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn revoke_all(
    At(id): At<AppId>,
    Posted { visitor, .. }: Posted<AdminArea>,
) -> Outcome<Response> {
    visitor.fresh(&format!("/admin/apps/{id}/revoke-all"))?;
    let end = move |tx: &Tx<'_>| {
        let app = app::find(tx, id)?;
        grant::revoke_all_of_app(tx, app.id, "revoked_by_admin")
    };
    visitor.write(end).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done=revoked")))
}

pub(super) async fn ask_disable(visitor: Admin, At(id): At<AppId>) -> Outcome<Response> {
    let look = move |db: &store::Reader<'_>| Ok((app::find(db, id)?, grant::users_of(db, id)?));
    let (app, users) = visitor.read(look).await?;
    visitor.fresh(&format!("/admin/apps/{id}/disable"))?;
    let page = AskPage {
        frame: visitor.frame("Take this app out of service?", Section::OauthApps),
        name: app.name,
        lead: ("", "stops working at once."),
        events: vec![
            "Every token it holds stops working at once.".to_owned(),
            "Nobody can allow it anything until it is in service again.".to_owned(),
            "You can put it into service again; people are then asked again.".to_owned(),
        ],
        users: Some(users),
        button: "Take it out of service",
        back: format!("/admin/apps/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn disable(
    At(id): At<AppId>,
    Posted { visitor, .. }: Posted<AdminArea>,
) -> Outcome<Response> {
    visitor.fresh(&format!("/admin/apps/{id}/disable"))?;
    visitor.write(move |tx| app::disable(tx, id)).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done=disabled")))
}

pub(super) async fn enable(
    At(id): At<AppId>,
    Posted { visitor, .. }: Posted<AdminArea>,
) -> Outcome<Response> {
    visitor.fresh(&format!("/admin/apps/{id}"))?;
    visitor.write(move |tx| app::enable(tx, id)).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done=enabled")))
}
