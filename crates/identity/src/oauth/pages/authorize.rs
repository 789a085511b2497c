//! The authorization endpoint (RFC 6749 section 3.1).

use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use http::Method;
use kit::secret::{Token, TokenKind};

use super::{error_page, is_session_valid_in, redirect_to_app};
use crate::accounts::session::{self, SessionLookup};
use crate::oauth::api::audience;
use crate::oauth::app::{self, App as Client};
use crate::oauth::authorization_request::{self, AuthorizationRequest, RedirectTarget};
use crate::oauth::code::{self, NewCode};
use crate::oauth::error::{ErrorCode, OAuthError};
use crate::oauth::parameters::Parameters;
use crate::oauth::pending_request::UserSession;
use crate::oauth::{grant, pending_request};
use crate::prelude::*;
use crate::web::prelude::*;
use crate::web::throttle::RateLimit;
use crate::web::visitor::{Guest, url_encode};

/// Maximum length of the query, in bytes.
const MAX_QUERY_LENGTH: usize = 8 * 1024;
/// The limit on authorization requests per app and IP address.
const REQUEST_LIMIT: RateLimit =
    RateLimit { name: "oauth authorize", burst: 120, interval: Duration::from_millis(500) };

const NOT_GRANTED: OAuthError =
    OAuthError::new(ErrorCode::ConsentRequired, "The user has not granted these scopes.");
const NOT_SIGNED_IN: OAuthError =
    OAuthError::new(ErrorCode::LoginRequired, "The user is not signed in.");

/// Title and advice of the error page that is shown when the user cannot be redirected to the app.
const TITLE: &str = mark!("This app cannot connect");
const ADVICE: &str =
    mark!("You can close this page. If it happens again, contact the developer of the app.");

/// `GET /oauth/authorize`.
pub(super) async fn authorize(State(app): State<App>, request: Request) -> PageResult {
    let (mut parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let bad_request = |text: &str| Ok(error_page(StatusCode::BAD_REQUEST, TITLE, text, ADVICE)?);
    if query.len() > MAX_QUERY_LENGTH {
        return bad_request(mark!("The authorization request is too long."));
    }
    let parameters = Parameters::parse(query.as_bytes());
    let Ok(Some(id)) = parameters.text("client_id").map(|id| id.map(str::to_owned)) else {
        return bad_request(mark!("The app sent no valid client_id."));
    };
    let find = move |db: &Reader<'_>| app::find_client(db, &id);
    let Some(client) = app.db.read_inline(Scope::system("client"), find).await? else {
        return bad_request(mark!("The app is not registered here, or it is disabled."));
    };
    let target = match authorization_request::redirect_target(&parameters, &client) {
        Ok(target) => target,
        Err(text) => return bad_request(text),
    };
    let request = match authorization_request::parse(&parameters, &client, &audience(&app)) {
        Ok(request) => request,
        Err(error) => {
            return Ok(redirect_to_app(&target.error_url(app.base_url.as_str(), error))?);
        }
    };
    // A HEAD request must not store a pending request.
    if parts.method == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    let guest = Guest::from_request_parts(&mut parts, &app).await?;
    Ok(Authorization { guest, client, target, request }.respond().await?)
}

/// A valid authorization request with its client and browser.
struct Authorization {
    guest: Guest,
    client: Client,
    target: RedirectTarget,
    request: AuthorizationRequest,
}

/// Whether the user has already consented.
enum Consent {
    /// The user granted all scopes before. Contains the new code.
    Granted(Token),
    /// The user must be asked.
    Required,
    /// The user does not belong to the app's club.
    NotInClub,
}

impl Authorization {
    async fn respond(self) -> Result<Response> {
        let mut visit = self.guest.visit.clone().filter(|visit| !visit.pending);
        if let Some(current) = &visit
            && !is_session_valid_in(&self.guest, self.client.account_id, current).await?
        {
            visit = None;
        }
        let consent = match &visit {
            Some(visit) => self.check_consent(visit).await?,
            None => Consent::Required,
        };
        let home = self.guest.app.base_url.clone();
        let error = match consent {
            Consent::Granted(code) => {
                let response = [("code", code.reveal())];
                return redirect_to_app(&self.target.response_url(home.as_str(), &response));
            }
            _ if !self.request.prompt.none => return self.ask_for_consent(visit).await,
            Consent::NotInClub => pending_request::ACCESS_DENIED,
            Consent::Required if visit.is_some() => NOT_GRANTED,
            Consent::Required => NOT_SIGNED_IN,
        };
        redirect_to_app(&self.target.error_url(home.as_str(), error))
    }

    /// Checks whether the user has already consented. Only confidential clients can skip the consent page, because any
    /// program can claim to be a public client.
    async fn check_consent(&self, visit: &SessionLookup) -> Result<Consent> {
        let AuthorizationRequest { scopes, challenge, prompt } = self.request;
        let can_skip = self.client.kind.is_confidential() && !prompt.consent && !prompt.login;
        let (user, session, app) = (visit.user, visit.session, self.client.id);
        let redirect_uri = self.target.redirect_uri.clone();
        let ttl = self.guest.app.config.oauth_code_ttl;
        let work = move |tx: &Tx<'_>| {
            session::check_active(tx, session)?;
            let Some(grantable) = pending_request::grantable_scopes_of(tx, user)? else {
                return Ok(Consent::NotInClub);
            };
            let scopes = scopes.intersection(grantable);
            if !can_skip
                || scopes.is_empty()
                || !grant::covers(tx, app, user, scopes, &redirect_uri)?
            {
                return Ok(Consent::Required);
            }
            let code = Token::generate(TokenKind::Code, tx.rng());
            let new = NewCode { app, user, session, redirect_uri, scopes, challenge };
            code::issue(tx, new, &code, ttl)?;
            Ok(Consent::Granted(code))
        };
        let scope = self.guest.scope_in(self.client.account_id, user);
        self.guest.app.db.write(scope, work).await
    }

    /// Redirects to the consent page, through the sign-in page if nobody is signed in.
    async fn ask_for_consent(self, visit: Option<SessionLookup>) -> Result<Response> {
        let Self { guest, client: Client { id, account_id, .. }, target, request } = self;
        let limit_key = (guest.context.address(), &*id.to_string());
        guest.app.throttle.check(REQUEST_LIMIT, limit_key)?;
        let session = visit.map(|visit| UserSession { user: visit.user, session: visit.session });
        let store = move |tx: &Tx<'_>| pending_request::create(tx, id, target, &request, session);
        let token = guest.app.db.write(guest.scope_in(account_id, id), store).await?;
        let consent_page = format!("/oauth/consent/{}", token.reveal());
        Ok(see_other(&match session {
            Some(_) => consent_page,
            None => format!("/sign-in?next={}", url_encode(&consent_page)),
        }))
    }
}
