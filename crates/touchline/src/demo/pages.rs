//! Pages that offer the demo club after the set-up, and that remove it.

use crate::accounts::account;
use crate::accounts::permissions::Ownership;
use crate::accounts::session;
use crate::accounts::user::{self, NewUser, Role};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::page;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const REMOVAL: &str = "/admin/settings/demo";

pub fn router() -> Router<App> {
    Router::new()
        .route("/set-up", get(show_demo_offer).post(load_demo))
        .route(REMOVAL, get(confirm_removal).post(remove_demo))
}

#[derive(Template)]
#[template(path = "signin/set_up_demo.html")]
struct DemoPage {
    frame: Frame,
}

async fn show_demo_offer(visitor: Visitor<Ownership>) -> PageResult {
    check_only_club(&visitor).await?;
    Ok(page::html(
        StatusCode::OK,
        &DemoPage { frame: visitor.guest.frame(t!("Your club is ready")) },
    )?)
}

/// Checks that the visitor's club is the only one. Otherwise the demo club is not offered.
async fn check_only_club(visitor: &Visitor<Ownership>) -> Result<()> {
    let accounts = visitor.app().db.read(visitor.guest.scope("set-up"), account::list).await?;
    let club = visitor.club()?;
    if accounts.iter().all(|account| account.id == club) { Ok(()) } else { Err(Error::not_found()) }
}

async fn load_demo(VisitorForm { visitor, .. }: VisitorForm<Ownership>) -> PageResult {
    check_only_club(&visitor).await?;
    let app = visitor.app();
    super::load(app).await?;
    let (name, email) = (visitor.visit.name.clone(), visitor.visit.email.clone());
    let join = move |tx: &Tx<'_>| {
        user::create(tx, NewUser { email, name, role: Role::Owner, password_hash: None })
    };
    let scope = Scope::account(super::ACCOUNT, visitor.visit.user.to_string());
    app.db.write(scope, join).await?;
    let session = visitor.visit.session;
    let switch = move |tx: &Tx<'_>| session::switch_club(tx, session, super::ACCOUNT);
    app.db.write(visitor.guest.scope("sessions"), switch).await?;
    Ok(see_other("/admin"))
}

/// Fails unless this is the demo club, the only club that can be removed here.
async fn require_demo_club(visitor: &Visitor<Ownership>) -> PageResult<()> {
    let account = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    if account.demo && account.id == super::ACCOUNT {
        Ok(())
    } else {
        Err(Error::not_found().into())
    }
}

/// Asks for confirmation.
async fn confirm_removal(visitor: Visitor<Ownership>) -> PageResult {
    require_demo_club(&visitor).await?;
    visitor.require_recent_authentication(REMOVAL)?;
    let frame = visitor.frame(t!("Remove the demo club?"), Section::Settings);
    let command = "<code>touchline seed demo</code>".to_owned();
    ConfirmPage::new(frame, "Remove demo club", "/admin/settings")
        .lead("This deletes the demo club and everything in it.")
        .effect("Its teams, people, events and messages are deleted.")
        .effect("Its keys and apps stop working at once.")
        .effect("You lose access to it. Your account and your other clubs stay.")
        .effect(
            Sentence::new("You cannot undo this. {command} creates a new demo club.")
                .html("command", command),
        )
        .respond()
}

async fn remove_demo(posted: VisitorForm<Ownership>) -> PageResult {
    let visitor = posted.visitor;
    require_demo_club(&visitor).await?;
    visitor.require_recent_authentication(REMOVAL)?;
    super::remove(&visitor.app().db, &visitor.app().config.data).await?;
    Ok(see_other("/account"))
}
