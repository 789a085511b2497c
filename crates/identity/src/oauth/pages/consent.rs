//! The consent page, where the user allows or denies an app access.

use http::Method;
use kit::secret::{Token, TokenKind};

use super::{error_page, is_session_valid_in, redirect_to_app};
use crate::accounts::scope_text::{self, ScopeText};
use crate::accounts::session::SessionLookup;
use crate::oauth::pending_request::{
    self, AnswerResult, CodeOptions, ConsentPrompt, OpenResult, PendingRequest, UserSession,
};
use crate::oauth::redirect;
use crate::prelude::*;
use crate::signin::pages::{AccountForm, AccountVisitor};
use crate::web::page::html_with_form_action;
use crate::web::prelude::*;
use crate::web::visitor::{PageError, sign_in_url, url_encode};

#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct ConsentPage<'a> {
    frame: Frame,
    prompt: &'a ConsentPrompt,
    /// The signed-in user.
    visit: &'a SessionLookup,
    /// The scopes that the app gets if the user allows it.
    granted: Vec<ScopeText>,
    /// Requested scopes that the user cannot grant.
    not_grantable: Vec<ScopeText>,
    /// Scopes that the app does not request, as the middle of a sentence.
    not_requested: String,
    /// The host of the redirect URI.
    host: &'a str,
    /// Whether the redirect URI leads to a program on this computer.
    is_local: bool,
    /// Whether the user belongs to the app's club.
    is_member: bool,
}

/// `GET /oauth/consent/{token}`.
pub(super) async fn show(
    method: Method,
    PathParams(token): PathParams<String>,
    me: AccountVisitor,
) -> PageResult {
    if method == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    let Some((token, pending)) = find_request(&me, &token).await? else { return expired_page() };
    require_authentication(&me, &pending).await?;
    let session = user_session(&me);
    let open = move |tx: &Tx<'_>| pending_request::open(tx, &token, session);
    let scope = me.guest.scope_in(pending.account_id, me.visit.user);
    match me.app().db.write(scope, open).await? {
        OpenResult::Gone => expired_page(),
        OpenResult::OtherSession => other_session_page(),
        OpenResult::Prompt(prompt) => Ok(page(&me, &prompt)?),
    }
}

/// `POST /oauth/consent/{token}`.
pub(super) async fn answer(
    PathParams(token): PathParams<String>,
    AccountForm { visitor: me, form }: AccountForm,
) -> PageResult {
    let Some((token, pending)) = find_request(&me, &token).await? else { return expired_page() };
    require_authentication(&me, &pending).await?;
    let (session, allow) = (user_session(&me), form.text("answer") == "allow");
    let app = me.app();
    let options =
        CodeOptions { key: app.secrets.key("oauth code"), ttl: app.config.oauth_code_ttl };
    let work = move |tx: &Tx<'_>| pending_request::answer(tx, &token, session, allow, &options);
    let scope = me.guest.scope_in(pending.account_id, me.visit.user);
    let issuer = app.base_url.as_str();
    let url = match app.db.write(scope, work).await? {
        AnswerResult::Gone => return expired_page(),
        AnswerResult::OtherSession => return other_session_page(),
        AnswerResult::Redirect(target, Ok(code)) => {
            target.response_url(issuer, &[("code", code.reveal())])
        }
        AnswerResult::Redirect(target, Err(error)) => target.error_url(issuer, error),
    };
    Ok(redirect_to_app(&url)?)
}

/// Redirects a user who must authenticate again first.
async fn require_authentication(me: &AccountVisitor, pending: &PendingRequest) -> PageResult<()> {
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
async fn find_request(me: &AccountVisitor, text: &str) -> Result<Option<(Token, PendingRequest)>> {
    let Some(token) = Token::parse(TokenKind::Request, text) else { return Ok(None) };
    let lookup_token = token.clone();
    let find = move |db: &Reader<'_>| pending_request::find(db, &lookup_token);
    let pending = me.app().db.read_inline(Scope::system("consent"), find).await?;
    Ok(pending.map(|pending| (token, pending)))
}

fn user_session(me: &AccountVisitor) -> UserSession {
    UserSession { user: me.visit.user, session: me.visit.session }
}

fn page(me: &AccountVisitor, prompt: &ConsentPrompt) -> Result<Response> {
    let PendingRequest { scopes: requested, redirect_uri, .. } = &prompt.pending;
    let granted =
        prompt.grantable.map_or(Scopes::of([]), |grantable| grantable.intersection(*requested));
    let not_grantable = Scopes::of(requested.names().filter(|name| !granted.contains(*name)));
    let page = ConsentPage {
        frame: me.guest.frame(t!("Connect an app")),
        prompt,
        visit: &me.visit,
        granted: scope_text::describe_all(granted),
        not_grantable: scope_text::describe_all(not_grantable),
        not_requested: scope_text::list_missing(*requested),
        host: redirect::host(redirect_uri),
        is_local: redirect::is_loopback(redirect_uri),
        is_member: prompt.grantable.is_some(),
    };
    html_with_form_action(StatusCode::OK, &page, &redirect::csp_source(redirect_uri))
}

fn expired_page() -> PageResult {
    let text = mark!("This request was already answered or has expired.");
    let advice = mark!("Go back to the app and start again from there.");
    Ok(error_page(StatusCode::GONE, mark!("Request expired"), text, advice)?)
}

fn other_session_page() -> PageResult {
    let text = mark!("This request was opened in another browser or by another user.");
    let advice = mark!("Go back to the app and start again from there.");
    Ok(error_page(StatusCode::FORBIDDEN, mark!("Request not available"), text, advice)?)
}
