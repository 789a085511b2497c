//! Actions on an app that need a recent sign-in: secrets, revoking access, disabling and enabling.

use super::apps_form::show_secret;
use super::shared::Admin;
use crate::accounts::permissions::AdminArea;
use crate::oauth::app;
use crate::oauth::{grant, secret};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

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
        1 => mark!(
            "It is the only secret. The app cannot get or renew access until you add another."
        ),
        _ => mark!("The other secret keeps working."),
    };
    ConfirmPage::new(
        visitor.frame(t!("Revoke this secret?"), Section::OauthApps),
        "Revoke secret",
        format!("/admin/apps/{id}"),
    )
    .lead(Sentence::new("A secret of “{name}” stops working at once.").name("name", &app.name))
    .effect(
        Sentence::new("The secret that ends in {hint} no longer works.")
            .word("hint", &revoked.hint),
    )
    .effect(others)
    .effect("You cannot undo this. You can add a new secret at any time.")
    .respond()
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
    ConfirmPage::new(
        visitor.frame(t!("Revoke everyone’s access?"), Section::OauthApps),
        "Revoke all access",
        format!("/admin/apps/{id}"),
    )
    .lead(Sentence::new("“{name}” can no longer act for anyone.").name("name", &app.name))
    .effect("Every token it holds stops working at once.")
    .effect("People can allow it again at any time.")
    .effect(affected_users(id, users))
    .respond()
}

/// How many people the action affects.
fn affected_users(id: AppId, users: i64) -> Sentence {
    let text = tn_html!(
        "The app currently acts for <a href='{url}'>{count} person</a>.",
        "The app currently acts for <a href='{url}'>{count} people</a>.",
        users,
        url = format!("/admin/apps/{id}/users")
    );
    Sentence::new("{text}").html("text", text.to_string())
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
    ConfirmPage::new(
        visitor.frame(t!("Disable this app?"), Section::OauthApps),
        "Disable app",
        format!("/admin/apps/{id}"),
    )
    .lead(Sentence::new("“{name}” stops working at once.").name("name", &app.name))
    .effect("Every token it holds stops working at once.")
    .effect("Nobody can give it access while it is disabled.")
    .effect("You can enable it again. People must then allow it again.")
    .effect(affected_users(id, users))
    .respond()
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
