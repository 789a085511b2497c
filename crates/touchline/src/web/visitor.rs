//! The visitor: whoever looks at a page with a browser, and their only door to the database.
//!
//! A page that shows something takes a [`Visitor`], a page that takes a form [`Posted`]; both name the
//! permit they need in their type. Pages for people who have not signed in take a [`Guest`] or
//! [`GuestPosted`]. A form is only ever handed over when it came from our own page in the same browser.

use std::borrow::Cow;
use std::marker::PhantomData;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, COOKIE, LOCATION, SET_COOKIE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use kit::secret::{Token, TokenKind};
use store::{Reader, Scope, Tx};

use super::context::Context;
use super::form::Form;
use super::page::{Flash, Frame, Section};
use super::public_url;
use crate::accounts::permits::{Least, Needs};
use crate::accounts::rights::Reach;
use crate::accounts::user::{self, Role};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::AccountId;
use crate::roster::standing::{self, Standing};
use crate::signals;
use crate::signin::session::{self, Browser, Visit};

/// The cookie: only for this host, only over https, out of reach for scripts.
const COOKIE_NAME: &str = "__Host-touchline";
const COOKIE_RULES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";
const COOKIE_DAYS: u32 = 30;

/// What a page answers, or why it does not.
pub type Outcome<T = Response> = std::result::Result<T, Refusal>;

/// Why a page is not shown.
#[derive(Debug)]
pub enum Refusal {
    /// Something is wrong; the edge makes a page of it.
    Error(Box<Error>),
    /// They must go somewhere else first, such as to sign in.
    First(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Error(Box::new(error))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Error(error) => error.into_response(),
            Self::First(path) => see_other(&path),
        }
    }
}

/// A browser of somebody who has not signed in, or need not have.
pub struct Guest {
    pub app: App,
    pub context: Context,
    /// Who has signed in with this browser, if somebody has; the second factor may be missing.
    pub visit: Option<Visit>,
    /// What a form must carry to be taken from this browser.
    pub csrf: String,
    headers: HeaderMap,
    /// The cookie to be given to a browser that has none.
    fresh: Option<Token>,
    /// The path and the query that were asked for.
    pub asked: String,
}

/// A guest's form.
pub struct GuestPosted {
    pub guest: Guest,
    pub form: Form,
}

/// Somebody who signed in and has the permit `N`.
pub struct Visitor<N> {
    pub guest: Guest,
    pub visit: Visit,
    needs: PhantomData<fn() -> N>,
}

/// A visitor's form.
pub struct Posted<N> {
    pub visitor: Visitor<N>,
    pub form: Form,
}

impl Guest {
    /// The fields of the address that was asked for.
    pub fn query(&self) -> Result<Form> {
        let query = self.asked.split_once('?').map_or("", |(_, query)| query);
        Form::parse(query.as_bytes())
    }

    /// The line on top of a page that follows a form: what was done, by the word in the page's address.
    pub fn done(&self, lines: &[(&str, &'static str)]) -> Option<Flash> {
        let query = self.query().ok()?;
        let line = lines.iter().find(|(word, _)| *word == query.text("done"));
        line.map(|(_, text)| Flash::good(*text))
    }

    async fn meet(parts: &mut Parts, app: &App) -> Result<Self> {
        let context = parts.extensions.get::<Context>().cloned().ok_or_else(|| {
            Error::internal("a request reached a handler without passing the edge")
        })?;
        let known = cookie(&parts.headers);
        let visit = match known.clone() {
            Some(token) => {
                let look = move |db: &Reader<'_>| session::find(db, &token);
                app.db.glance(Scope::system("visit"), look).await?
            }
            None => None,
        };
        if let Some(visit) = &visit {
            note_visit(app, visit);
        }
        let fresh = known.is_none().then(|| Token::make(TokenKind::Session, &app.dice));
        let token = known.as_ref().or(fresh.as_ref());
        let csrf = token.map(|token| csrf(app, token)).unwrap_or_default();
        let asked = parts.uri.path_and_query().map_or("/", |asked| asked.as_str()).to_owned();
        let headers = std::mem::take(&mut parts.headers);
        parts.headers.clone_from(&headers);
        Ok(Self { app: app.clone(), context, visit, csrf, headers, fresh, asked })
    }

    /// What is known of the browser.
    pub fn browser(&self) -> Browser {
        let agent = self.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        Browser {
            user_agent: agent.map(|text| text.chars().take(300).collect()),
            address: Some(self.context.address().to_string()),
        }
    }

    /// The frame of a page for anybody, whose forms this browser may send.
    pub fn frame(&self, title: impl Into<Cow<'static, str>>) -> Frame {
        Frame::plain(title).csrf(self.csrf.clone())
    }

    /// Gives the browser the cookie it needs for the forms of this page.
    pub fn with_cookie(&self, mut response: Response) -> Response {
        if let Some(token) = &self.fresh {
            set_cookie(&mut response, token.reveal(), COOKIE_DAYS * 86_400);
        }
        response
    }

    /// A job on behalf of nobody in particular.
    pub fn scope(&self, errand: &'static str) -> Scope {
        Scope::system(errand).for_request(self.context.id())
    }
}

impl FromRequestParts<App> for Guest {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Outcome<Self> {
        if is_unsafe(&parts.method) {
            return Err(Error::internal("a form was sent to a page that takes none").into());
        }
        Ok(Self::meet(parts, app).await?)
    }
}

impl FromRequest<App> for GuestPosted {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Outcome<Self> {
        let (mut parts, body) = request.into_parts();
        let guest = Guest::meet(&mut parts, app).await?;
        let request = Request::from_parts(parts, body);
        let form = Form::read(request, app, &guest.csrf).await?;
        Ok(Self { guest, form })
    }
}

impl<N: Needs> FromRequestParts<App> for Visitor<N> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Outcome<Self> {
        Self::admit(Guest::from_request_parts(parts, app).await?)
    }
}

impl<N: Needs> FromRequest<App> for Posted<N> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Outcome<Self> {
        let GuestPosted { guest, form } = GuestPosted::from_request(request, app).await?;
        Ok(Self { visitor: Visitor::admit(guest)?, form })
    }
}

impl<N: Needs> Visitor<N> {
    /// Lets in whoever signed in and may see this; sends everybody else to sign in.
    fn admit(guest: Guest) -> Outcome<Self> {
        let Some(visit) = guest.visit.clone() else {
            return Err(Refusal::First(sign_in(&guest.asked)));
        };
        if visit.pending {
            return Err(Refusal::First(format!("/sign-in/code?next={}", encoded(&guest.asked))));
        }
        permitted::<N>(visit.role)?;
        Ok(Self { guest, visit, needs: PhantomData })
    }

    /// The service.
    pub fn app(&self) -> &App {
        &self.guest.app
    }

    /// The absolute URL of a path, to be shown to this visitor only.
    pub fn url(&self, path: &str) -> String {
        public_url::for_request(self.app(), &self.guest.context, path)
    }

    /// The frame of a page for this visitor.
    pub fn frame(&self, title: impl Into<Cow<'static, str>>, section: Section) -> Frame {
        let Visit { name, club_name, role, clubs, .. } = &self.visit;
        let frame = Frame::signed_in(title, section, name, &self.guest.csrf);
        let clubs = usize::try_from(*clubs).unwrap_or_default();
        match club_name {
            Some(club) => frame.club(club, clubs, role.is_some_and(|role| role != Role::Member)),
            None => frame,
        }
    }

    /// Whether the visitor can open the admin area of the club.
    pub fn is_admin(&self) -> bool {
        self.visit.club.is_some() && self.visit.role.is_some_and(|role| role != Role::Member)
    }

    /// The club whose pages are shown.
    pub fn club(&self) -> Result<AccountId> {
        let none = || Error::new(Code::Forbidden, "You do not belong to a club yet.");
        self.visit.club.ok_or_else(none)
    }

    /// Whose job it is when this visitor asks for something in the club.
    pub fn scope(&self) -> Result<Scope> {
        let scope = Scope::account(self.club()?, self.visit.user.to_string());
        Ok(scope.for_request(self.guest.context.id()))
    }

    /// Which teams the visitor reaches for what the permit is for, and how far: as the API would say.
    pub async fn reach(&self) -> Result<Reach> {
        if self.visit.role.is_some_and(|role| role != Role::Member) {
            return Ok(Reach::Everywhere);
        }
        Ok(self.standing().await?.reach(N::LEAST))
    }

    /// What the visitor is on the rosters of the club, whatever their role.
    pub async fn standing(&self) -> Result<Standing> {
        let user = self.visit.user;
        self.read(move |db| standing::of(db, user)).await
    }

    /// Looks at something of the club.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.app().db.read(self.scope()?, work).await
    }

    /// Changes something of the club. The job checks again that the session is open and its user has the role: the form
    /// may have taken its time to arrive.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let session = self.visit.session;
        let change = move |tx: &Tx<'_>| {
            signals::journal_ahead(tx)?;
            permitted::<N>(session::current_role(tx, session)?)?;
            work(tx)
        };
        self.app().db.write(self.scope()?, change).await
    }

    /// Changes something about the visitor's own user, outside of any club. The user is locked ([`user::lock`]), and the job
    /// checks again that the session is open.
    pub async fn write_own<T: Send + 'static>(
        &self,
        errand: &'static str,
        work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (user, session) = (self.visit.user, self.visit.session);
        let change = move |tx: &Tx<'_>| {
            user::lock(tx, user)?;
            session::check_open(tx, session)?;
            work(tx)
        };
        self.app().db.write(self.guest.scope(errand), change).await
    }

    /// Asks for the password again if it was given too long ago. `back` is the page to come back to.
    pub fn fresh(&self, back: &str) -> Outcome<()> {
        if self.visit.is_fresh(self.app().clock.now()) {
            return Ok(());
        }
        Err(Refusal::First(format!("/confirm?next={}", encoded(back))))
    }
}

/// Fails if a user with this role does not have the permit. What members are beyond their role is looked at where it
/// matters.
fn permitted<N: Needs>(role: Option<Role>) -> Result<()> {
    let level = role.map_or(Least::Anybody, Least::from);
    if level >= N::LEAST || N::LEAST <= Least::Staff {
        return Ok(());
    }
    let detail = match N::LEAST {
        Least::Owner => "Only owners of the club can do this.",
        _ => "Only admins of the club can do this.",
    };
    Err(Error::new(Code::Forbidden, detail))
}

/// What a form must carry to be taken from the browser with this cookie.
pub fn csrf(app: &App, token: &Token) -> String {
    use base64::Engine;
    let seal = app.secrets.key("csrf").sign(&[&token.hash()]);
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(seal)
}

/// Goes on to another page of ours.
pub fn see_other(path: &str) -> Response {
    let place = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    let headers = [(LOCATION, place), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// A page of ours that was asked for, as far as it is safe to go there: a path of this service and
/// nothing that a browser could take for another host.
pub fn own_path(next: &str) -> &str {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_.~?=&%+".contains(&b);
    let own = next.starts_with('/') && !next.starts_with("//") && next.bytes().all(plain);
    if own && next.len() <= 2048 { next } else { "/" }
}

/// Where to sign in, and where to go on afterwards.
pub fn sign_in(next: &str) -> String {
    match own_path(next) {
        "/" => "/sign-in".to_owned(),
        next => format!("/sign-in?next={}", encoded(next)),
    }
}

/// Text as it stands in a query.
pub fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Signs the browser in: its cookie is replaced, whatever it was before.
pub fn signed_in(mut response: Response, token: &Token) -> Response {
    set_cookie(&mut response, token.reveal(), COOKIE_DAYS * 86_400);
    response
}

/// Takes the cookie away.
pub fn signed_out(mut response: Response) -> Response {
    set_cookie(&mut response, "", 0);
    response
}

fn set_cookie(response: &mut Response, value: &str, seconds: u32) {
    let line = format!("{COOKIE_NAME}={value}; {COOKIE_RULES}; Max-Age={seconds}");
    if let Ok(line) = HeaderValue::from_str(&line) {
        response.headers_mut().append(SET_COOKIE, line);
    }
}

/// The value of our cookie, if it has the right form and stands there once.
fn cookie(headers: &HeaderMap) -> Option<Token> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let mut ours = pairs.filter(|(name, _)| name.trim() == COOKIE_NAME);
    let (_, value) = ours.next()?;
    ours.next().is_none().then(|| Token::parse(TokenKind::Session, value.trim()))?
}

/// Notes that a session is in use, once a minute and without holding up the page.
fn note_visit(app: &App, visit: &Visit) {
    if !visit.is_due(app.clock.now()) {
        return;
    }
    let (db, id) = (app.db.clone(), visit.session);
    app.spawn(async move {
        let noted = db.write(Scope::system("visits"), move |tx| session::touch(tx, id)).await;
        if let Err(error) = noted {
            tracing::warn!(cause = ?error.cause, "could not note that a session is in use");
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
    fn only_our_own_pages_are_gone_to() {
        for good in ["/", "/admin/keys?limit=5&cursor=a%3D", "/oauth/consent/tlrq_x"] {
            assert_eq!(own_path(good), good);
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
            assert_eq!(own_path(bad), "/", "{bad}");
        }
    }

    #[test]
    fn the_cookie_stands_there_once_and_has_its_form() {
        let token = Token::from_bytes(TokenKind::Session, [7; 32]);
        let line = |text: String| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, text.parse().unwrap());
            cookie(&headers).is_some()
        };
        let ours = format!("{COOKIE_NAME}={}", token.reveal());
        assert!(line(ours.clone()) && line(format!("a=b; {ours}")));
        assert!(!line(format!("{ours}; {ours}")) && !line(format!("{COOKIE_NAME}=tlss_x")));
    }
}
