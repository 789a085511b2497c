//! The consent page, where the user allows or denies an app access.

use http::Method;
use kit::secret::{Token, TokenKind};

use super::{error_page, is_session_valid_in, redirect_to_app};
use crate::accounts::permissions::OwnAccount;
use crate::accounts::scope_text::{self, ScopeText};
use crate::oauth::pending_request::{
    self, AnswerResult, CodeOptions, ConsentPrompt, OpenResult, PendingRequest, UserSession,
};
use crate::oauth::redirect;
use crate::prelude::*;
use crate::web::page::html_with_form_action;
use crate::web::prelude::*;
use crate::web::visitor::{PageError, sign_in_url, url_encode};

type Me = Visitor<OwnAccount>;

#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct ConsentPage {
    frame: Frame,
    app: String,
    club: String,
    registered_by: Option<String>,
    /// Name of the signed-in user.
    name: String,
    email: String,
    /// The scopes that the app gets if the user allows it.
    granted: Vec<ScopeText>,
    /// Requested scopes that the user cannot grant.
    not_grantable: Vec<ScopeText>,
    /// Scopes that the app does not request, as the middle of a sentence.
    not_requested: String,
    /// The host of the redirect URI.
    host: String,
    /// Whether the redirect URI leads to a program on this computer.
    is_local: bool,
    /// Whether the user belongs to the app's club.
    is_member: bool,
}

/// `GET /oauth/consent/{token}`.
pub(super) async fn show(
    method: Method,
    PathParams(token): PathParams<String>,
    me: Me,
) -> PageResult {
    if method == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    let Some((token, pending)) = find_request(&me, &token).await? else {
        return Ok(expired_page()?);
    };
    require_authentication(&me, &pending).await?;
    let session = user_session(&me);
    let open = move |tx: &Tx<'_>| pending_request::open(tx, &token, session);
    let opened = me.app().db.write(scope(&me, pending.account_id), open).await?;
    Ok(match opened {
        OpenResult::Gone => expired_page()?,
        OpenResult::OtherSession => other_session_page()?,
        OpenResult::Prompt(question) => page(&me, *question)?,
    })
}

/// `POST /oauth/consent/{token}`.
pub(super) async fn answer(
    PathParams(token): PathParams<String>,
    posted: VisitorForm<OwnAccount>,
) -> PageResult {
    let VisitorForm { visitor: me, form } = posted;
    let Some((token, pending)) = find_request(&me, &token).await? else {
        return Ok(expired_page()?);
    };
    require_authentication(&me, &pending).await?;
    let (session, allow) = (user_session(&me), form.text("answer") == "allow");
    let app = me.app();
    let options =
        CodeOptions { key: app.secrets.key("oauth code"), ttl: app.config.oauth_code_ttl };
    let work = move |tx: &Tx<'_>| pending_request::answer(tx, &token, session, allow, &options);
    let result = app.db.write(scope(&me, pending.account_id), work).await?;
    let issuer = app.base_url.as_str();
    Ok(match result {
        AnswerResult::Gone => expired_page()?,
        AnswerResult::OtherSession => other_session_page()?,
        AnswerResult::Redirect(target, Ok(code)) => {
            redirect_to_app(&target.response_url(issuer, &[("code", code.reveal())]))?
        }
        AnswerResult::Redirect(target, Err(error)) => {
            redirect_to_app(&target.error_url(issuer, error))?
        }
    })
}

/// Redirects a user who must authenticate again first.
async fn require_authentication(me: &Me, pending: &PendingRequest) -> PageResult<()> {
    if !is_session_valid_in(&me.guest, pending.account_id, &me.visit).await? {
        return Err(PageError::Redirect(sign_in_url(&me.guest.path_and_query)));
    }
    if pending.requires_login() && me.visit.proved_at < pending.created_at {
        let back = url_encode(&me.guest.path_and_query);
        return Err(PageError::Redirect(format!("/confirm?next={back}")));
    }
    Ok(())
}

/// The pending request with this token, of any club.
async fn find_request(me: &Me, text: &str) -> Result<Option<(Token, PendingRequest)>> {
    let Some(token) = Token::parse(TokenKind::Request, text) else { return Ok(None) };
    let lookup_token = token.clone();
    let find = move |db: &Reader<'_>| pending_request::find(db, &lookup_token);
    let pending = me.app().db.read_inline(Scope::system("consent"), find).await?;
    Ok(pending.map(|pending| (token, pending)))
}

fn user_session(me: &Me) -> UserSession {
    UserSession { user: me.visit.user, session: me.visit.session }
}

/// The database scope of the app's club, which may not be the club whose pages are shown.
fn scope(me: &Me, club: AccountId) -> Scope {
    Scope::account(club, me.visit.user.to_string()).for_request(me.guest.context.id())
}

fn page(me: &Me, prompt: ConsentPrompt) -> Result<Response> {
    let ConsentPrompt { pending, app, club, registered_by, grantable } = prompt;
    let is_member = grantable.is_some();
    let requested = pending.scopes;
    let granted = grantable.map_or(Scopes::of([]), |grantable| grantable.intersection(requested));
    let not_grantable = Scopes::of(requested.names().filter(|name| !granted.contains(*name)));
    let page = ConsentPage {
        frame: me.guest.frame(t!("Connect an app")),
        app: app.name,
        club,
        registered_by,
        name: me.visit.name.clone(),
        email: me.visit.email.clone(),
        granted: scope_text::describe_all(granted),
        not_grantable: scope_text::describe_all(not_grantable),
        not_requested: scope_text::list_missing(requested),
        host: redirect::host(&pending.redirect_uri).to_owned(),
        is_local: redirect::is_loopback(&pending.redirect_uri),
        is_member,
    };
    html_with_form_action(StatusCode::OK, &page, &redirect::csp_source(&pending.redirect_uri))
}

fn expired_page() -> Result<Response> {
    let text = mark!("This request was already answered or has expired.");
    let advice = mark!("Go back to the app and start again from there.");
    error_page(StatusCode::GONE, mark!("Request expired"), text, advice)
}

fn other_session_page() -> Result<Response> {
    let text = mark!("This request was opened in another browser or by another user.");
    let advice = mark!("Go back to the app and start again from there.");
    error_page(StatusCode::FORBIDDEN, mark!("Request not available"), text, advice)
}
