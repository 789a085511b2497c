//! The question: may this app act for you?

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use kit::secret::{Token, TokenKind};
use store::{Reader, Scope, Tx};

use super::{back_to_app, is_good_in, stop};
use crate::accounts::rights::Scopes;
use crate::error::Result;
use crate::ids::AccountId;
use crate::oauth::redirect;
use crate::oauth::request::{self, Answered, Answerer, Making, Opened, Pending, Question};
use crate::oauth::words::{self, Words};
use crate::web::caller::OwnAccount;
use crate::web::page::{Frame, html_with_form_action};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Refusal, Visitor, encoded, sign_in};

type Me = Visitor<OwnAccount>;

#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct ConsentPage {
    frame: Frame,
    app: String,
    club: String,
    registered_by: Option<String>,
    /// Whose name is shown as the one who allows it.
    name: String,
    email: String,
    /// What it will be able to do.
    can: Vec<Words>,
    /// What it asks for but this user cannot allow.
    left_out: Vec<Words>,
    /// What it does not ask for, as the middle of a sentence.
    beyond: String,
    /// Where they go back to, and whether that is a program on this computer.
    host: String,
    near: bool,
    belongs: bool,
}

/// `GET /oauth/consent/{token}`.
pub(super) async fn show(method: Method, At(token): At<String>, me: Me) -> Outcome {
    if method == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    let Some((token, pending)) = found(&me, &token).await? else { return Ok(gone()?) };
    proven(&me, &pending).await?;
    let who = answerer(&me);
    let open = move |tx: &Tx<'_>| request::open(tx, &token, who);
    let opened = me.app().db.write(scope(&me, pending.account_id), open).await?;
    Ok(match opened {
        Opened::Gone => gone()?,
        Opened::Foreign => foreign()?,
        Opened::Question(question) => page(&me, *question)?,
    })
}

/// `POST /oauth/consent/{token}`.
pub(super) async fn answer(At(token): At<String>, posted: Posted<OwnAccount>) -> Outcome {
    let Posted { visitor: me, form } = posted;
    let Some((token, pending)) = found(&me, &token).await? else { return Ok(gone()?) };
    proven(&me, &pending).await?;
    let (who, allow) = (answerer(&me), form.text("answer") == "allow");
    let app = me.app();
    let making = Making { key: app.secrets.key("oauth code"), life: app.config.oauth_code_ttl };
    let work = move |tx: &Tx<'_>| request::answer(tx, &token, who, allow, &making);
    let answered = app.db.write(scope(&me, pending.account_id), work).await?;
    let home = app.home.as_str();
    Ok(match answered {
        Answered::Gone => gone()?,
        Answered::Foreign => foreign()?,
        Answered::Told(way, Ok(code)) => back_to_app(&way.back(home, &[("code", code.reveal())]))?,
        Answered::Told(way, Err(refusal)) => back_to_app(&way.refused(home, refusal))?,
    })
}

/// Sends whoever must first prove again who they are to do so.
async fn proven(me: &Me, pending: &Pending) -> Outcome<()> {
    if !is_good_in(&me.guest, pending.account_id, &me.visit).await? {
        return Err(Refusal::First(sign_in(&me.guest.asked)));
    }
    if pending.wants_login() && me.visit.proved_at < pending.created_at {
        let back = encoded(&me.guest.asked);
        return Err(Refusal::First(format!("/confirm?next={back}")));
    }
    Ok(())
}

/// The question under this token, whatever club it is about.
async fn found(me: &Me, text: &str) -> Result<Option<(Token, Pending)>> {
    let Some(token) = Token::parse(TokenKind::Request, text) else { return Ok(None) };
    let sought = token.clone();
    let find = move |db: &Reader<'_>| request::find(db, &sought);
    let pending = me.app().db.glance(Scope::system("consent"), find).await?;
    Ok(pending.map(|pending| (token, pending)))
}

fn answerer(me: &Me) -> Answerer {
    Answerer { user: me.visit.user, session: me.visit.session }
}

/// The question is about the app's club, whichever club's pages are shown.
fn scope(me: &Me, club: AccountId) -> Scope {
    Scope::account(club, me.visit.user.to_string()).for_request(me.guest.context.id())
}

fn page(me: &Me, question: Question) -> Result<Response> {
    let Question { pending, app, club, registered_by, grantable } = question;
    let belongs = grantable.is_some();
    let asked = pending.scopes;
    let can = grantable.map_or(Scopes::of([]), |grantable| grantable.shared(asked));
    let left_out = Scopes::of(asked.names().filter(|name| !can.allow(*name)));
    let page = ConsentPage {
        frame: me.guest.frame("Connect an app"),
        app: app.name,
        club,
        registered_by,
        name: me.visit.name.clone(),
        email: me.visit.email.clone(),
        can: words::of_all(can),
        left_out: words::of_all(left_out),
        beyond: words::beyond(asked),
        host: redirect::host(&pending.redirect_uri).to_owned(),
        near: redirect::is_near(&pending.redirect_uri),
        belongs,
    };
    html_with_form_action(StatusCode::OK, &page, &redirect::source(&pending.redirect_uri))
}

fn gone() -> Result<Response> {
    let text = "This question was already answered, or it has been open for too long.";
    let advice = "Go back to the app and start again from there.";
    stop(StatusCode::GONE, "Nothing left to ask", text, advice)
}

fn foreign() -> Result<Response> {
    let text = "This question was asked in another browser, or to somebody else.";
    let advice = "Go back to the app and start again from there.";
    stop(StatusCode::FORBIDDEN, "This is not your question", text, advice)
}
