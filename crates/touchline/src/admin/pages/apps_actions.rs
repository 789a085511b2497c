//! Actions on an app that need a recent sign-in: secrets, revoking access, disabling and enabling.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use store::Tx;

use super::apps_form::show_secret;
use super::shared::{Admin, show};
use crate::accounts::permissions::AdminArea;
use crate::error::Error;
use crate::ids::{AppId, ClientSecretId};
use crate::oauth::app;
use crate::oauth::{grant, secret};
use crate::web::form_dedup::{Submission, parse_nonce, submit_once};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, VisitorForm, see_other};

/// A confirmation page that lists the consequences of an action.
#[derive(Template)]
#[template(path = "admin/apps_confirm.html")]
struct ConfirmPage {
    frame: Frame,
    name: String,
    /// The text before and after the app's name.
    lead: (&'static str, &'static str),
    consequences: Vec<String>,
    /// How many people the action affects, if it affects people.
    users: Option<i64>,
    button: &'static str,
    back: String,
}

pub(super) async fn add_secret(
    PathParams(id): PathParams<AppId>,
    VisitorForm { visitor, form }: VisitorForm<AdminArea>,
) -> PageResult<Response> {
    let app = visitor.read(move |db| app::find(db, id)).await?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}"))?;
    let (ttl, nonce) = (visitor.app().config.idempotency_ttl, parse_nonce(&form)?);
    let added = visitor.write(move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| {
            let (_, value) = secret::add(tx, id)?;
            Ok((id.to_string(), value))
        })
    });
    match added.await? {
        Submission::Accepted(value) => show_secret(&visitor, app, &value),
        Submission::Duplicate(_) => Ok(see_other(&format!("/admin/apps/{id}"))),
    }
}

pub(super) async fn confirm_revoke_secret(
    visitor: Admin,
    PathParams((id, secret)): PathParams<(AppId, ClientSecretId)>,
) -> PageResult<Response> {
    let read = move |db: &store::Reader<'_>| Ok((app::find(db, id)?, secret::list_active(db, id)?));
    let (app, active) = visitor.read(read).await?;
    let revoked = active.iter().find(|one| one.id == secret).ok_or_else(Error::not_found)?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/secrets/{secret}/revoke"))?;
    let others = match active.len() {
        1 => "It is the only secret. The app cannot get or renew access until you add another.",
        _ => "The other secret keeps working.",
    };
    let page = ConfirmPage {
        frame: visitor.frame("Revoke this secret?", Section::OauthApps),
        name: app.name,
        lead: ("A secret of", "stops working at once."),
        consequences: vec![
            format!("The secret that ends in {} no longer works.", revoked.hint),
            others.to_owned(),
            "You cannot undo this. You can add a new secret at any time.".to_owned(),
        ],
        users: None,
        button: "Revoke secret",
        back: format!("/admin/apps/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn revoke_secret(
    PathParams((id, secret)): PathParams<(AppId, ClientSecretId)>,
    VisitorForm { visitor, .. }: VisitorForm<AdminArea>,
) -> PageResult<Response> {
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/secrets/{secret}/revoke"))?;
    visitor.write(move |tx| secret::revoke(tx, id, secret)).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done=secret-revoked")))
}

pub(super) async fn confirm_revoke_all(
    visitor: Admin,
    PathParams(id): PathParams<AppId>,
) -> PageResult<Response> {
    let read = move |db: &store::Reader<'_>| Ok((app::find(db, id)?, grant::count_users(db, id)?));
    let (app, users) = visitor.read(read).await?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/revoke-all"))?;
    let page = ConfirmPage {
        frame: visitor.frame("Revoke everyone’s access?", Section::OauthApps),
        name: app.name,
        lead: ("", "can no longer act for anyone."),
        consequences: vec![
            "Every token it holds stops working at once.".to_owned(),
            "People can allow it again at any time.".to_owned(),
        ],
        users: Some(users),
        button: "Revoke all access",
        back: format!("/admin/apps/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn revoke_all(
    PathParams(id): PathParams<AppId>,
    VisitorForm { visitor, .. }: VisitorForm<AdminArea>,
) -> PageResult<Response> {
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/revoke-all"))?;
    let revoke = move |tx: &Tx<'_>| {
        let app = app::find(tx, id)?;
        grant::revoke_all_of_app(tx, app.id, "revoked_by_admin")
    };
    visitor.write(revoke).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done=revoked")))
}

pub(super) async fn confirm_disable(
    visitor: Admin,
    PathParams(id): PathParams<AppId>,
) -> PageResult<Response> {
    let read = move |db: &store::Reader<'_>| Ok((app::find(db, id)?, grant::count_users(db, id)?));
    let (app, users) = visitor.read(read).await?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/disable"))?;
    let page = ConfirmPage {
        frame: visitor.frame("Disable this app?", Section::OauthApps),
        name: app.name,
        lead: ("", "stops working at once."),
        consequences: vec![
            "Every token it holds stops working at once.".to_owned(),
            "Nobody can give it access while it is disabled.".to_owned(),
            "You can enable it again. People must then allow it again.".to_owned(),
        ],
        users: Some(users),
        button: "Disable app",
        back: format!("/admin/apps/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn disable(
    PathParams(id): PathParams<AppId>,
    VisitorForm { visitor, .. }: VisitorForm<AdminArea>,
) -> PageResult<Response> {
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/disable"))?;
    visitor.write(move |tx| app::disable(tx, id)).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done=disabled")))
}

pub(super) async fn enable(
    PathParams(id): PathParams<AppId>,
    VisitorForm { visitor, .. }: VisitorForm<AdminArea>,
) -> PageResult<Response> {
    visitor.require_recent_authentication(&format!("/admin/apps/{id}"))?;
    visitor.write(move |tx| app::enable(tx, id)).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done=enabled")))
}
