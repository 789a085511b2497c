//! An app sends somebody to us.

use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use kit::secret::{Token, TokenKind};
use store::{Reader, Scope, Tx};

use super::{back_to_app, is_good_in, stop};
use crate::app::App;
use crate::error::Result;
use crate::oauth::api::audience;
use crate::oauth::app::{self, App as Client};
use crate::oauth::ask::{self, Asked, Way};
use crate::oauth::code::{self, NewCode};
use crate::oauth::parameters::Parameters;
use crate::oauth::refusal::{Refusal, Word};
use crate::oauth::request::Answerer;
use crate::oauth::{grant, request};
use crate::signin::session::{self, Visit};
use crate::web::pace::Pace;
use crate::web::visitor::{Guest, Outcome, encoded, see_other};

/// The longest query.
const LONGEST: usize = 8 * 1024;
/// So often a minute an app may send people from one address.
const PACE: Pace = Pace { what: "oauth authorize", burst: 120, every: Duration::from_millis(500) };

/// What the page says that is shown instead of going anywhere.
const TITLE: &str = "This app cannot connect";
const ADVICE: &str = "You can close this page. If it happens again, tell whoever makes the app.";

/// `GET /oauth/authorize`.
pub(super) async fn ask(State(app): State<App>, request: Request) -> Outcome {
    let (mut parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let refused = |text: &str| Ok(stop(StatusCode::BAD_REQUEST, TITLE, text, ADVICE)?);
    if query.len() > LONGEST {
        return refused("The app asked with more words than we read.");
    }
    let parameters = Parameters::parse(query.as_bytes());
    let Ok(Some(id)) = parameters.text("client_id").map(|id| id.map(str::to_owned)) else {
        return refused("The app did not say which one it is.");
    };
    let find = move |db: &Reader<'_>| app::find_client(db, &id);
    let Some(client) = app.db.glance(Scope::system("client"), find).await? else {
        return refused("The app is not known here, or was taken out of service.");
    };
    let way = match ask::way(&parameters, &client) {
        Ok(way) => way,
        Err(text) => return refused(text),
    };
    let asked = match ask::read(&parameters, &client, &audience(&app)) {
        Ok(asked) => asked,
        Err(refusal) => return Ok(back_to_app(&way.refused(app.home.as_str(), refusal))?),
    };
    // Asking what would happen makes nothing happen.
    if parts.method == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    let guest = Guest::from_request_parts(&mut parts, &app).await?;
    Ok(Asking { guest, client, way, asked }.go_on().await?)
}

struct Asking {
    guest: Guest,
    client: Client,
    way: Way,
    asked: Asked,
}

/// How far one can get without asking the user.
enum Known {
    /// They allowed all of it before.
    Allowed(Token),
    /// They must be asked.
    Unknown,
    /// They do not belong to the app's club.
    Foreign,
}

impl Asking {
    async fn go_on(self) -> Result<Response> {
        let mut visit = self.guest.visit.clone().filter(|visit| !visit.pending);
        if let Some(shown) = &visit
            && !is_good_in(&self.guest, self.client.account_id, shown).await?
        {
            visit = None;
        }
        let known = match &visit {
            Some(visit) => self.known(visit).await?,
            None => Known::Unknown,
        };
        let home = self.guest.app.home.clone();
        let refusal = match known {
            Known::Allowed(code) => {
                return back_to_app(&self.way.back(home.as_str(), &[("code", code.reveal())]));
            }
            _ if !self.asked.prompt.none => return self.question(visit).await,
            Known::Foreign => request::DENIED,
            Known::Unknown if visit.is_some() => {
                Refusal::new(Word::ConsentRequired, "The user has not allowed this yet.")
            }
            Known::Unknown => Refusal::new(Word::LoginRequired, "Nobody is signed in."),
        };
        back_to_app(&self.way.refused(home.as_str(), refusal))
    }

    fn scope(&self, actor: String) -> Scope {
        Scope::account(self.client.account_id, actor).for_request(self.guest.context.id())
    }

    /// An app that proves with a secret who it is need not ask twice for the same. Any program can say
    /// that it is an app without one, so its users are always asked.
    async fn known(&self, visit: &Visit) -> Result<Known> {
        let Asked { scopes, challenge, prompt } = self.asked;
        let silent = self.client.kind.is_confidential() && !prompt.consent && !prompt.login;
        let (user, session, app) = (visit.user, visit.session, self.client.id);
        let redirect_uri = self.way.redirect_uri.clone();
        let life = self.guest.app.config.oauth_code_ttl;
        let work = move |tx: &Tx<'_>| {
            session::check_open(tx, session)?;
            let Some(grantable) = request::grantable_by(tx, user)? else {
                return Ok(Known::Foreign);
            };
            let scopes = scopes.shared(grantable);
            if !silent || scopes.is_empty() || !grant::covers(tx, app, user, scopes, &redirect_uri)?
            {
                return Ok(Known::Unknown);
            }
            let made = Token::make(TokenKind::Code, tx.dice());
            let new = NewCode { app, user, session, redirect_uri, scopes, challenge };
            code::give(tx, new, &made, life)?;
            Ok(Known::Allowed(made))
        };
        self.guest.app.db.write(self.scope(user.to_string()), work).await
    }

    /// Goes to the page with the question, by way of signing in if need be.
    async fn question(self, visit: Option<Visit>) -> Result<Response> {
        let id = self.client.id.to_string();
        self.guest.app.paces.take(PACE, (self.guest.context.address(), id.as_str()))?;
        let scope = self.scope(id);
        let signed_in = visit.is_some();
        let who = visit.map(|visit| Answerer { user: visit.user, session: visit.session });
        let Self { guest, client, way, asked } = self;
        let keep = move |tx: &Tx<'_>| request::keep(tx, client.id, way, &asked, who);
        let token = guest.app.db.write(scope, keep).await?;
        let question = format!("/oauth/consent/{}", token.reveal());
        if signed_in {
            return Ok(see_other(&question));
        }
        Ok(see_other(&format!("/sign-in?next={}", encoded(&question))))
    }
}
