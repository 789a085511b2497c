//! `/join/{token}`: somebody follows an invitation, says who they are, and joins.
//!
//! A link that is unknown, expired, used up or revoked answers the same. Names of players are shown only
//! to whoever has signed in, and only as far as one needs to know one's own child.
//!
//! Making an account never tells whether there was one with that address: either way the next page asks
//! to sign in. The one exception is the address that an invitation was made for: whoever makes an account
//! with it is signed in at once.

use std::borrow::Cow;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use kit::secret::{Token, TokenKind};
use kit::word::Word;
use store::{Reader, Scope, Tx};

use super::link;
use crate::accounts::user::{self, Role};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::joining::claim::{self, Choice, NewClaim};
use crate::joining::invitation::{self, Address, Found, Relation};
use crate::joining::waiting;
use crate::signin::entry::{self, Entry};
use crate::signin::session::{self, Method, Visit};
use crate::web::form::{Faults, Form};
use crate::web::pace::Pace;
use crate::web::page::{self, Frame};
use crate::web::path::At;
use crate::web::visitor::{Guest, GuestPosted, Outcome, Refusal, encoded, see_other, signed_in};

/// How many accounts are made from one place: whoever has a link could otherwise ask for one address after
/// the other, or make accounts without end.
const SIGN_UPS: Pace = Pace { what: "sign up", burst: 20, every: Duration::from_secs(60) };

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/join/{token}", get(follow))
        .route("/join/{token}/account", post(sign_up))
        .route("/join/{token}/accept", post(accept))
        .route("/join/{token}/claim", post(make_claim))
}

/// What every page of a link knows.
struct Step {
    found: Found,
    token: String,
    /// The seal of a mailed address, as it was told.
    mail: String,
    relation: Option<Relation>,
    /// Whether they come from making an account.
    made: bool,
}

impl Step {
    /// The invitation behind a link, with what the address or a form says beside it.
    async fn find(guest: &Guest, token: &str, said: &Form) -> Result<Self> {
        let parsed = Token::parse(TokenKind::Invitation, token).ok_or_else(invitation::gone)?;
        let look = move |db: &Reader<'_>| invitation::follow(db, &parsed);
        let found = guest.app.db.read(guest.scope("invitation"), look).await?;
        let found = found.ok_or_else(invitation::gone)?;
        let relation = Relation::parse(said.text("as")).filter(|_| found.team_id.is_some());
        let mail = said.text("m").chars().take(100).collect();
        let made = !said.text("made").is_empty();
        Ok(Self { found, token: token.to_owned(), mail, relation, made })
    }

    /// The address of this step, to come back to.
    fn path(&self) -> String {
        self.address(false)
    }

    fn address(&self, made: bool) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.mail.is_empty() {
            query.append_pair("m", &self.mail);
        }
        if let Some(relation) = self.relation {
            query.append_pair("as", relation.word());
        }
        if made {
            query.append_pair("made", "1");
        }
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("/join/{}{mark}{query}", self.token)
    }

    fn frame(&self, guest: &Guest, title: impl Into<Cow<'static, str>>) -> Frame {
        Frame { club: Some(self.found.club.clone()), ..guest.frame(title) }
    }

    /// Whose job it is when somebody does something by this link.
    fn scope(&self, guest: &Guest, actor: String) -> Scope {
        Scope::account(self.found.account_id, actor).for_request(guest.context.id())
    }

    /// Where to sign in and come back from.
    fn sign_in(&self) -> String {
        format!("/sign-in?next={}", encoded(&self.path()))
    }
}

#[derive(Template)]
#[template(path = "joining/who.html")]
struct Who<'a> {
    frame: Frame,
    step: &'a Step,
}

#[derive(Template)]
#[template(path = "joining/sign_up.html")]
struct Account<'a> {
    frame: Frame,
    step: &'a Step,
    name: &'a str,
    email: &'a str,
    faults: Faults,
}

/// Asks whoever just made an account to sign in.
#[derive(Template)]
#[template(path = "joining/made.html")]
struct Made<'a> {
    frame: Frame,
    step: &'a Step,
}

#[derive(Template)]
#[template(path = "joining/accept.html")]
struct Accept<'a> {
    frame: Frame,
    step: &'a Step,
    visit: &'a Visit,
    /// Why this user cannot accept it, if they cannot.
    refusal: Option<String>,
    /// Whether email can be sent.
    mail: bool,
    faults: Faults,
}

impl Accept<'_> {
    /// Whether somebody signed in with another address than the one that was invited.
    fn is_other_address(&self) -> bool {
        !self.step.found.is_for(&self.visit.email)
    }
}

#[derive(Template)]
#[template(path = "joining/pick.html")]
struct Pick<'a> {
    frame: Frame,
    step: &'a Step,
    relation: Relation,
    legend: &'static str,
    visit: &'a Visit,
    choices: Vec<Choice>,
    faults: Faults,
}

async fn follow(guest: Guest, At(token): At<String>) -> Outcome {
    let step = Step::find(&guest, &token, &guest.query()?).await?;
    let club = step.found.club.clone();
    let page = match (&guest.visit, step.found.team_id, step.relation) {
        (None, ..) if step.made => {
            let frame = step.frame(&guest, "Sign in to go on");
            page::html(StatusCode::OK, &Made { frame, step: &step })?
        }
        (_, Some(_), None) => {
            let frame = step.frame(&guest, format!("Join {club}"));
            page::html(StatusCode::OK, &Who { frame, step: &step })?
        }
        (None, ..) => {
            let email = step.found.email().to_owned();
            account_page(&guest, &step, ("", &email), Faults::default())?
        }
        (Some(visit), ..) if visit.pending => {
            return Err(Refusal::First(format!("/sign-in/code?next={}", encoded(&step.path()))));
        }
        (Some(visit), None, _) => accept_page(&guest, &step, visit, Faults::default()).await?,
        (Some(visit), Some(_), Some(relation)) => {
            pick_page(&guest, &step, (visit, relation), Faults::default()).await?
        }
    };
    Ok(guest.with_cookie(page))
}

fn status(faults: &Faults) -> StatusCode {
    if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }
}

fn account_page(
    guest: &Guest,
    step: &Step,
    (name, email): (&str, &str),
    faults: Faults,
) -> Result<Response> {
    let frame = step.frame(guest, format!("Join {}", step.found.club));
    page::html(status(&faults), &Account { frame, step, name, email, faults })
}

async fn accept_page(
    guest: &Guest,
    step: &Step,
    visit: &Visit,
    faults: Faults,
) -> Result<Response> {
    let mailed = link::is_mailed(&guest.app, &step.found.token_hash, &step.mail);
    let (id, who, matches) = (step.found.id, visit.user, step.found.is_for(&visit.email));
    let can_confirm = guest.app.courier.has_server();
    let look = move |db: &Reader<'_>| {
        let verified = user::find(db, who)?.email_verified_at.is_some();
        let address =
            Address { matches, is_confirmed: verified || (mailed && matches), can_confirm };
        Ok::<_, Error>(invitation::check_address(db, &invitation::find(db, id)?, address))
    };
    let scope = step.scope(guest, who.to_string());
    let refusal = match guest.app.db.read(scope, look).await? {
        Ok(()) => None,
        Err(error) if error.code == Code::InvalidState => Some(error.detail.to_string()),
        Err(error) => return Err(error),
    };
    let mail = can_confirm;
    let frame = step.frame(guest, format!("Join {}", step.found.club));
    page::html(status(&faults), &Accept { frame, step, visit, refusal, mail, faults })
}

async fn pick_page(
    guest: &Guest,
    step: &Step,
    (visit, relation): (&Visit, Relation),
    faults: Faults,
) -> Result<Response> {
    let team = step.found.team_id.ok_or_else(invitation::gone)?;
    let id = step.found.id;
    let look = move |db: &Reader<'_>| {
        invitation::honoured(db, &invitation::find(db, id)?)?;
        claim::choices(db, team, relation)
    };
    let scope = step.scope(guest, visit.user.to_string());
    let choices = guest.app.db.read(scope, look).await?;
    let frame = step.frame(
        guest,
        match relation {
            Relation::Guardian => "Who is your child?",
            Relation::Itself => "Which player are you?",
            Relation::Coach => "You coach this team",
        },
    );
    let legend = if relation == Relation::Guardian { "My child is" } else { "I am" };
    let code = status(&faults);
    page::html(code, &Pick { frame, step, relation, legend, visit, choices, faults })
}

/// Makes an account for somebody who has none. Whether there was one is not told, unless it is the address
/// that was invited; an account that was there stays as it is.
async fn sign_up(At(token): At<String>, posted: GuestPosted) -> Outcome {
    let GuestPosted { guest, form } = posted;
    let step = Step::find(&guest, &token, &form).await?;
    if guest.visit.is_some() {
        return Ok(see_other(&step.path()));
    }
    guest.app.paces.take(SIGN_UPS, guest.context.address())?;
    let (name, email) = (form.text("name").to_owned(), form.text("email").to_owned());
    let password = form.get("password").unwrap_or_default().to_owned();
    let again = |faults| account_page(&guest, &step, (&name, &email), faults);
    let hash = match guest.app.passwords.hash(&password, &[&name, &email]).await {
        Ok(hash) => hash,
        Err(error) if error.code == Code::ValidationFailed => return Ok(again((&error).into())?),
        Err(error) => return Err(error.into()),
    };
    let (new_name, new_email, id) = (name.clone(), email.clone(), step.found.id);
    let signs_in = step.found.is_for(&email);
    let browser = guest.browser();
    let mailed = link::is_mailed(&guest.app, &step.found.token_hash, &step.mail);
    let work = move |tx: &Tx<'_>| {
        let user = user::sign_up(tx, &new_email, &new_name, hash)?.id;
        if mailed && signs_in {
            // The link was sent to this address.
            user::verify_email(tx, user)?;
        }
        waiting::note_account(tx, id, user)?;
        if !signs_in {
            return Ok(None);
        }
        let entry = Entry { user, method: Method::Password, browser, before: None };
        entry::enter(tx, entry).map(|(_, token)| Some(token))
    };
    match guest.app.db.write(step.scope(&guest, id.to_string()), work).await {
        Ok(Some(token)) => Ok(signed_in(see_other(&step.path()), &token)),
        Ok(None) => Ok(see_other(&step.address(true))),
        Err(error) if error.code == Code::Taken => Ok(see_other(&step.address(true))),
        Err(error) if error.code == Code::ValidationFailed => Ok(again((&error).into())?),
        Err(error) => Err(error.into()),
    }
}

/// Whoever signed in completely; others go there first.
fn signed(guest: &Guest, step: &Step) -> Outcome<Visit> {
    match &guest.visit {
        Some(visit) if !visit.pending => Ok(visit.clone()),
        _ => Err(Refusal::First(step.sign_in())),
    }
}

/// Accepts a personal invitation.
async fn accept(At(token): At<String>, posted: GuestPosted) -> Outcome {
    let GuestPosted { guest, form } = posted;
    let step = Step::find(&guest, &token, &form).await?;
    let visit = signed(&guest, &step)?;
    let mailed = link::is_mailed(&guest.app, &step.found.token_hash, &step.mail);
    let (id, club) = (step.found.id, step.found.account_id);
    let (who, browser) = (visit.user, visit.session);
    let can_confirm = guest.app.courier.has_server();
    let work = move |tx: &Tx<'_>| {
        session::check_open(tx, browser)?;
        let role = invitation::accept(tx, id, &user::find(tx, who)?, (mailed, can_confirm))?;
        session::switch(tx, browser, club)?;
        Ok(role)
    };
    match guest.app.db.write(step.scope(&guest, who.to_string()), work).await {
        Ok(role) => Ok(joined(role)),
        Err(error) if is_told(&error) => {
            Ok(accept_page(&guest, &step, &visit, general(&error)).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Says who one is.
async fn make_claim(At(token): At<String>, posted: GuestPosted) -> Outcome {
    let GuestPosted { guest, form } = posted;
    let step = Step::find(&guest, &token, &form).await?;
    let visit = signed(&guest, &step)?;
    let relation = step.relation.ok_or_else(Error::not_found)?;
    let person = form.maybe("person").map(str::parse).transpose();
    let person = person.map_err(|_| Error::not_found())?;
    let new = NewClaim { relation, person, note: form.maybe("note").map(str::to_owned) };
    let (found, who, session) = (step.found.clone(), visit.user, visit.session);
    let work = move |tx: &Tx<'_>| {
        session::check_open(tx, session)?;
        claim::make(tx, &found, who, new)
    };
    match guest.app.db.write(step.scope(&guest, who.to_string()), work).await {
        Ok(_) => Ok(see_other("/account/claims?done=asked")),
        Err(error) if is_told(&error) => {
            Ok(pick_page(&guest, &step, (&visit, relation), general(&error)).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Leads somebody who has just joined to their pages, which say so.
pub(super) fn joined(role: Role) -> Response {
    see_other(match role {
        Role::Member => "/account?done=joined",
        Role::Owner | Role::Admin => "/admin?done=joined",
    })
}

/// Whether a refusal is told on the page it came from.
fn is_told(error: &Error) -> bool {
    matches!(error.code, Code::InvalidState | Code::Taken | Code::ValidationFailed)
}

/// A refusal as one sentence for the whole form.
fn general(error: &Error) -> Faults {
    let mut faults = Faults::default();
    let first = error.faults.first().map(|fault| fault.detail.clone());
    faults.add("", first.unwrap_or_else(|| error.detail.to_string()));
    faults
}
