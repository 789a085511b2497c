//! Actions on an app that need a recent sign-in: secrets, revoking access, disabling and enabling.

use super::apps_form::show_secret;
use super::shared::{Admin, AdminForm};
use crate::oauth::app::{self, App};
use crate::oauth::{grant, secret};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

pub(super) async fn add_secret(
    PathParams(id): PathParams<AppId>,
    AdminForm { visitor, form }: AdminForm,
) -> PageResult {
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
) -> PageResult {
    let read = move |db: &Reader<'_>| Ok((app::find(db, id)?, secret::list_active(db, id)?));
    let (app, active) = visitor.read(read).await?;
    let revoked = active.iter().find(|one| one.id == secret).ok_or_else(Error::not_found)?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/secrets/{secret}/revoke"))?;
    let others = match active.len() {
        1 => mark!(
            "It is the only secret. The app cannot get or renew access until you add another."
        ),
        _ => mark!("The other secret keeps working."),
    };
    let hint = Sentence::new("The secret that ends in {hint} no longer works.");
    let frame = visitor.frame(t!("Revoke this secret?"), Section::OauthApps);
    ConfirmPage::new(frame, "Revoke secret", format!("/admin/apps/{id}"))
        .lead(Sentence::new("A secret of “{name}” stops working at once.").name("name", &app.name))
        .effect(hint.word("hint", &revoked.hint))
        .effect(others)
        .effect("You cannot undo this. You can add a new secret at any time.")
        .respond()
}

pub(super) async fn revoke_secret(
    PathParams((id, secret)): PathParams<(AppId, ClientSecretId)>,
    posted: AdminForm,
) -> PageResult {
    let page = format!("/secrets/{secret}/revoke");
    let work = move |tx: &Tx<'_>| secret::revoke(tx, id, secret);
    change(&posted.visitor, id, &page, "secret-revoked", work).await
}

/// Changes an app if the admin authenticated recently, then shows its page. `page` is the page below that of the app to
/// return to after authenticating again.
async fn change<T: Send + 'static>(
    visitor: &Admin,
    id: AppId,
    page: &str,
    done: &str,
    work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
) -> PageResult {
    visitor.require_recent_authentication(&format!("/admin/apps/{id}{page}"))?;
    visitor.write(work).await?;
    Ok(see_other(&format!("/admin/apps/{id}?done={done}")))
}

/// The app that a page asks about, and how many people it acts for.
async fn app_in_use(visitor: &Admin, id: AppId, page: &str) -> PageResult<(App, i64)> {
    let read = move |db: &Reader<'_>| Ok((app::find(db, id)?, grant::count_users(db, id)?));
    let found = visitor.read(read).await?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/{page}"))?;
    Ok(found)
}

pub(super) async fn confirm_revoke_all(
    visitor: Admin,
    PathParams(id): PathParams<AppId>,
) -> PageResult {
    let (app, users) = app_in_use(&visitor, id, "revoke-all").await?;
    let frame = visitor.frame(t!("Revoke everyone’s access?"), Section::OauthApps);
    ConfirmPage::new(frame, "Revoke all access", format!("/admin/apps/{id}"))
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

pub(super) async fn revoke_all(PathParams(id): PathParams<AppId>, posted: AdminForm) -> PageResult {
    let revoke = move |tx: &Tx<'_>| {
        let app = app::find(tx, id)?;
        grant::revoke_all_of_app(tx, app.id, "revoked_by_admin")
    };
    change(&posted.visitor, id, "/revoke-all", "revoked", revoke).await
}

pub(super) async fn confirm_disable(
    visitor: Admin,
    PathParams(id): PathParams<AppId>,
) -> PageResult {
    let (app, users) = app_in_use(&visitor, id, "disable").await?;
    let frame = visitor.frame(t!("Disable this app?"), Section::OauthApps);
    ConfirmPage::new(frame, "Disable app", format!("/admin/apps/{id}"))
        .lead(Sentence::new("“{name}” stops working at once.").name("name", &app.name))
        .effect("Every token it holds stops working at once.")
        .effect("Nobody can give it access while it is disabled.")
        .effect("You can enable it again. People must then allow it again.")
        .effect(affected_users(id, users))
        .respond()
}

pub(super) async fn disable(PathParams(id): PathParams<AppId>, posted: AdminForm) -> PageResult {
    let disable = move |tx: &Tx<'_>| app::disable(tx, id);
    change(&posted.visitor, id, "/disable", "disabled", disable).await
}

pub(super) async fn enable(PathParams(id): PathParams<AppId>, posted: AdminForm) -> PageResult {
    let enable = move |tx: &Tx<'_>| app::enable(tx, id);
    change(&posted.visitor, id, "", "enabled", enable).await
}
