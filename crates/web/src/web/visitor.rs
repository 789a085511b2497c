//! The extractors of pages: who uses the browser, and access to the database.
//!
//! A handler that shows a page takes a [`Visitor`], one that receives a form takes a [`VisitorForm`]. Both name
//! the permission they need in their type. Handlers of pages that do not require a sign-in take a [`Guest`] or a
//! [`GuestForm`]. A form is accepted only if it came from our own page in the same browser (CSRF protection).

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT_LANGUAGE, CACHE_CONTROL, LOCATION, REFERER, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use kit::secret::{Token, TokenKind};

use super::admission::LOAD_ROSTER_ACCESS;
use super::context::Context;
use super::form::Form;
use super::list::Times;
use super::nav::{LOAD_NAV, Nav};
use super::offline;
use super::page::{Flash, Frame, Section};
use super::public_url;
use super::session_cookie::session_cookie;
pub use super::session_cookie::{clear_session_cookie, csrf_token, set_session_cookie};
use super::unsent_form;
use crate::accounts::permissions::{AccessLevel, Permission};
use crate::accounts::roster_access::RosterAccess;
use crate::accounts::session::{self, Browser, SessionLookup};
use crate::accounts::user::{self, Role};
use crate::i18n::Locale;
use crate::prelude::*;
use crate::signals;
use crate::web::app::App;

/// The result of a page handler.
pub type PageResult<T = Response> = std::result::Result<T, PageError>;

/// Why a page is not shown.
#[derive(Debug)]
pub enum PageError {
    /// An error, which [`super::edge`] turns into an error page.
    Error(Box<Error>),
    /// A redirect to another page that comes first, such as sign-in.
    Redirect(String),
    /// Another page instead.
    Page(Box<Response>),
}

impl From<Error> for PageError {
    fn from(error: Error) -> Self {
        Self::Error(Box::new(error))
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        match self {
            Self::Error(error) => error.into_response(),
            Self::Redirect(path) => see_other(&path),
            Self::Page(response) => *response,
        }
    }
}

/// Extracts a browser, whether or not somebody has signed in.
pub struct Guest {
    pub app: App,
    pub context: Context,
    /// The session of this browser, if there is one. The second step of the sign-in may still be pending.
    pub visit: Option<SessionLookup>,
    /// The CSRF token that forms from this browser must contain.
    pub csrf: String,
    headers: HeaderMap,
    /// A new cookie for a browser that has none.
    new_cookie: Option<Token>,
    /// The path and query of the request.
    pub path_and_query: String,
}

/// Extracts a browser and the form it sent.
pub struct GuestForm {
    pub guest: Guest,
    pub form: Form,
}

/// Extracts a signed-in user who has the permission `N`.
pub struct Visitor<N> {
    pub guest: Guest,
    pub visit: SessionLookup,
    /// The main menu, with the teams that the visitor can open.
    pub nav: Arc<Nav>,
    permission: PhantomData<fn() -> N>,
}

/// Extracts a signed-in user who has the permission `N`, and the form they sent.
pub struct VisitorForm<N> {
    pub visitor: Visitor<N>,
    pub form: Form,
}

impl Guest {
    /// The query parameters of the request.
    pub fn query(&self) -> Result<Form> {
        let query = self.path_and_query.split_once('?').map_or("", |(_, query)| query);
        Form::parse(query.as_bytes())
    }

    /// The message for the parameter `done` of the URL, which names the action that was completed.
    pub fn done_flash(&self, messages: &[(&str, &'static str)]) -> Option<Flash> {
        let query = self.query().ok()?;
        let message = messages.iter().find(|(action, _)| *action == query.text("done"));
        message.map(|(_, text)| Flash::success(t!(text)))
    }

    pub(super) async fn load(parts: &mut Parts, app: &App) -> Result<Self> {
        let context = Context::of(parts)?;
        let existing = session_cookie(&parts.headers);
        let visit = match existing.clone() {
            Some(token) => {
                let find = move |db: &Reader<'_>| session::find(db, &token);
                app.db.read_inline(Scope::system("visit"), find).await?
            }
            None => None,
        };
        if let Some(visit) = &visit {
            touch_session(app, visit);
            let accepted = parts.headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
            let language = visit.language.as_deref();
            Locale::negotiate(language, accepted.unwrap_or_default()).set_current();
        }
        let new_token = existing.is_none().then(|| Token::generate(TokenKind::Session, &app.rng));
        let token = existing.as_ref().or(new_token.as_ref());
        let club = visit.as_ref().and_then(|visit| visit.club);
        let csrf = token.map(|token| csrf_token(app, token, club)).unwrap_or_default();
        let uri = parts.uri.path_and_query().map_or("/", |uri| uri.as_str()).to_owned();
        let headers = std::mem::take(&mut parts.headers);
        parts.headers.clone_from(&headers);
        let app = app.clone();
        Ok(Self { app, context, visit, csrf, headers, new_cookie: new_token, path_and_query: uri })
    }

    /// The browser's user agent and address.
    pub fn browser(&self) -> Browser {
        let agent = self.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        Browser {
            user_agent: agent.map(|text| text.chars().take(300).collect()),
            address: Some(self.context.address().to_string()),
        }
    }

    /// The layout of a page without sign-in, with the CSRF token of this browser.
    pub fn frame(&self, title: impl Into<Cow<'static, str>>) -> Frame {
        let session = Some(self.session_name());
        Frame { session, ..Frame::plain(title).csrf(self.csrf.clone()) }
    }

    /// The path of our own page that led here.
    pub(super) fn referring_path(&self) -> Option<&str> {
        let url = self.headers.get(REFERER).and_then(|value| value.to_str().ok())?;
        let (_, path) = url.split_once("://")?.1.split_once('/')?;
        let start = url.len() - path.len() - 1;
        Some(safe_redirect_path(&url[start..])).filter(|path| *path != "/")
    }

    /// The name of the session for the service worker. Empty if nobody is signed in.
    fn session_name(&self) -> String {
        let visit = self.visit.as_ref().filter(|visit| !visit.pending);
        visit.map(|visit| offline::session_name(&self.app, visit)).unwrap_or_default()
    }

    /// Sets the cookie that the forms of this page need.
    pub fn with_cookie(&self, mut response: Response) -> Response {
        if let Some(token) = &self.new_cookie {
            response = set_session_cookie(response, token);
        }
        response
    }

    /// The database scope for a job that acts for no account. `job` names it.
    pub fn scope(&self, job: &'static str) -> Scope {
        Scope::system(job).for_request(self.context.id())
    }

    /// The database scope for a job in this account, which may not be the one whose pages are shown.
    pub fn scope_in(&self, account: AccountId, actor: impl ToString) -> Scope {
        Scope::account(account, actor.to_string()).for_request(self.context.id())
    }

    /// Reads outside of any account.
    pub async fn read<T: Send + 'static>(
        &self,
        job: &'static str,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.app.db.read(self.scope(job), work).await
    }

    /// Writes outside of any account.
    pub async fn write<T: Send + 'static>(
        &self,
        job: &'static str,
        work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.app.db.write(self.scope(job), work).await
    }
}

impl FromRequestParts<App> for Guest {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> PageResult<Self> {
        if is_unsafe(&parts.method) {
            return Err(Error::internal(
                "the handler of a form must take GuestForm or VisitorForm",
            )
            .into());
        }
        Ok(Self::load(parts, app).await?)
    }
}

impl FromRequest<App> for GuestForm {
    type Rejection = PageError;

    async fn from_request(request: Request, app: &App) -> PageResult<Self> {
        let (mut parts, body) = request.into_parts();
        let guest = Guest::load(&mut parts, app).await?;
        let request = Request::from_parts(parts, body);
        let signed_in = guest.visit.as_ref().is_some_and(|visit| !visit.pending);
        let form = Form::read(request, app, &guest.csrf, signed_in).await?;
        Ok(Self { guest, form })
    }
}

impl<N: Permission> FromRequestParts<App> for Visitor<N> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> PageResult<Self> {
        Self::authorize(Guest::from_request_parts(parts, app).await?).await
    }
}

impl<N: Permission> FromRequest<App> for VisitorForm<N> {
    type Rejection = PageError;

    async fn from_request(request: Request, app: &App) -> PageResult<Self> {
        let (mut parts, body) = request.into_parts();
        let guest = Guest::load(&mut parts, app).await?;
        let request = Request::from_parts(parts, body);
        let signed_in = guest.visit.as_ref().is_some_and(|visit| !visit.pending);
        let form = Form::read_unconfirmed(request, app, signed_in).await?;
        unsent_form::check(&guest, &form, false)?;
        Ok(Self { visitor: Visitor::authorize(guest).await?, form })
    }
}

impl<N: Permission> Visitor<N> {
    /// The visitor behind a guest, for a page that is also shown to others.
    pub async fn from_guest(guest: Guest) -> PageResult<Self> {
        Self::authorize(guest).await
    }

    /// Checks the session and the permission. Redirects to sign-in if there is no complete session.
    pub(super) async fn authorize(guest: Guest) -> PageResult<Self> {
        let Some(visit) = guest.visit.clone() else {
            return Err(PageError::Redirect(sign_in_url(&guest.path_and_query)));
        };
        if visit.pending {
            return Err(PageError::Redirect(format!(
                "/sign-in/code?next={}",
                url_encode(&guest.path_and_query)
            )));
        }
        check_permission::<N>(visit.role)?;
        let nav = Arc::new(load_nav(&guest, &visit).await?);
        Ok(Self { guest, visit, nav, permission: PhantomData })
    }

    /// The service.
    pub fn app(&self) -> &App {
        &self.guest.app
    }

    /// The times for a list that shows no times in the club's zone.
    pub fn times(&self) -> Times {
        (self.app().clock.now(), kit::Zone::utc())
    }

    /// The absolute URL of a path. It must be shown only to this visitor.
    pub fn url(&self, path: &str) -> String {
        public_url::for_request(self.app(), &self.guest.context, path)
    }

    /// The layout of a page for this visitor.
    pub fn frame(&self, title: impl Into<Cow<'static, str>>, section: Section) -> Frame {
        let SessionLookup { name, club_name, role, clubs, .. } = &self.visit;
        let frame = Frame::signed_in(title, section, name, &self.guest.csrf);
        let clubs = usize::try_from(*clubs).unwrap_or_default();
        let session = Some(self.guest.session_name());
        let frame = Frame { nav: Arc::clone(&self.nav), session, ..frame };
        match club_name {
            Some(club) => frame.club(club, clubs, role.is_some_and(|role| role != Role::Member)),
            None => frame,
        }
    }

    /// Whether the visitor can open the admin area of the club.
    pub fn is_admin(&self) -> bool {
        self.visit.club.is_some() && self.visit.role.is_some_and(|role| role != Role::Member)
    }

    /// The current club.
    pub fn club(&self) -> Result<AccountId> {
        let none = || Error::new(Code::Forbidden, "You are not a member of a club yet.");
        self.visit.club.ok_or_else(none)
    }

    /// The database scope: the current club, with the user as actor.
    pub fn scope(&self) -> Result<Scope> {
        Ok(self.guest.scope_in(self.club()?, self.visit.user))
    }

    /// The teams the visitor may access with this permission, by the same rules as in the API.
    pub async fn team_access(&self) -> Result<TeamAccess> {
        if self.visit.role.is_some_and(|role| role != Role::Member) {
            return Ok(TeamAccess::AllTeams);
        }
        Ok(self.roster_access().await?.team_access(N::MIN_LEVEL))
    }

    /// The visitor's positions on the rosters of the club, whatever their role.
    pub async fn roster_access(&self) -> Result<RosterAccess> {
        let user = self.visit.user;
        self.read(move |db| LOAD_ROSTER_ACCESS.get()?(db, user)).await
    }

    /// Reads from the current club.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let locale = Locale::current_or_english();
        self.app().db.read(self.scope()?, move |db| locale.run(|| work(db))).await
    }

    /// Writes to the current club. The transaction checks session and role again, because they may have changed
    /// while the form was arriving.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (session, locale) = (self.visit.session, Locale::current_or_english());
        let change = move |tx: &Tx<'_>| {
            signals::prefetch_journal(tx)?;
            check_permission::<N>(session::current_role(tx, session)?)?;
            locale.run(|| work(tx))
        };
        self.app().db.write(self.scope()?, change).await
    }

    /// Writes to the visitor's own user, outside of any club. Locks the user ([`user::lock`]) and checks again
    /// that the session is open.
    pub async fn write_user<T: Send + 'static>(
        &self,
        job: &'static str,
        work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (user, session) = (self.visit.user, self.visit.session);
        let locale = Locale::current_or_english();
        let change = move |tx: &Tx<'_>| {
            user::lock(tx, user)?;
            session::check_active(tx, session)?;
            locale.run(|| work(tx))
        };
        self.app().db.write(self.guest.scope(job), change).await
    }

    /// Redirects to `/confirm` if the user last authenticated too long ago. `back` is the page to return to.
    pub fn require_recent_authentication(&self, back: &str) -> PageResult<()> {
        if self.visit.is_recently_authenticated(self.app().clock.now()) {
            return Ok(());
        }
        Err(PageError::Redirect(format!("/confirm?next={}", url_encode(back))))
    }
}

/// The main menu. A user without a club has an empty one.
async fn load_nav(guest: &Guest, visit: &SessionLookup) -> Result<Nav> {
    let (Some(club), user) = (visit.club, visit.user) else { return Ok(Nav::default()) };
    let is_admin = visit.role.is_some_and(|role| role != Role::Member);
    let scope = guest.scope_in(club, user);
    guest.app.db.read(scope, move |db| LOAD_NAV.get()?(db, user, is_admin)).await
}

/// Fails if a user with this role does not have the permission. For members, what they are on the rosters is
/// checked later, where the team is known.
fn check_permission<N: Permission>(role: Option<Role>) -> Result<()> {
    let level = role.map_or(AccessLevel::SignedIn, AccessLevel::from);
    if level >= N::MIN_LEVEL || N::MIN_LEVEL <= AccessLevel::Staff {
        return Ok(());
    }
    let detail = match N::MIN_LEVEL {
        AccessLevel::Owner => "Only owners of the club can do this.",
        _ => "Only admins of the club can do this.",
    };
    Err(Error::new(Code::Forbidden, detail))
}

/// Redirects to another page of this service (303).
pub fn see_other(path: &str) -> Response {
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    let headers = [(LOCATION, location), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// Returns `next` if it is safe to redirect to: a path of this service that no browser takes for another host.
/// Otherwise `/`.
pub fn safe_redirect_path(next: &str) -> &str {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_.~?=&%+".contains(&b);
    let safe = next.starts_with('/') && !next.starts_with("//") && next.bytes().all(plain);
    if safe && next.len() <= 2048 { next } else { "/" }
}

/// The URL of the sign-in page, with the page to continue to.
pub fn sign_in_url(next: &str) -> String {
    match safe_redirect_path(next) {
        "/" => "/sign-in".to_owned(),
        next => format!("/sign-in?next={}", url_encode(next)),
    }
}

/// Encodes text for a query string.
pub fn url_encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Records that a session is in use, at most once a minute and without delaying the page.
fn touch_session(app: &App, visit: &SessionLookup) {
    if !visit.needs_touch(app.clock.now()) {
        return;
    }
    let (db, id) = (app.db.clone(), visit.session);
    app.spawn(async move {
        let result = db.write(Scope::system("visits"), move |tx| session::touch(tx, id)).await;
        if let Err(error) = result {
            tracing::warn!(cause = ?error.cause, "could not record that a session is in use");
        }
    });
}

fn is_unsafe(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_on_this_service() {
        for good in ["/", "/admin/keys?limit=5&cursor=a%3D", "/oauth/consent/tlrq_x"] {
            assert_eq!(safe_redirect_path(good), good);
        }
        for bad in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\r\nb",
            "evil",
            "",
            "/@x:y",
        ] {
            assert_eq!(safe_redirect_path(bad), "/", "{bad}");
        }
    }
}
