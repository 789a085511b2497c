//! What all HTML pages share: layout data, response headers and the error page.
//!
//! A page is an askama template that extends `admin.html`, `account.html` or `plain.html` and has a
//! field `frame`. `templates/parts.html` describes how to write one.

use std::borrow::Cow;
use std::sync::Arc;

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};

use super::nav::Nav;
use super::team_look::{TeamLook, initials};
use super::visitor::PageResult;
use crate::i18n::Locale;
use crate::prelude::*;

/// The sign-in page.
pub const SIGN_IN: &str = "/sign-in";
/// The form action that ends the session.
pub const SIGN_OUT: &str = "/sign-out";
/// The page where a user with several clubs chooses one.
pub const SWITCH_ACCOUNT: &str = "/accounts";

macro_rules! sections {
    ($($(#[$doc:meta])* $section:ident = $label:expr, $href:literal, $icon:literal;)+) => {
        /// The menu entries of the admin area and of the user's own account.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Section { $($(#[$doc])* $section),+ }

        impl Section {
            /// Label, path and icon of the entry.
            fn entry(self) -> (&'static str, &'static str, &'static str) {
                match self {
                    $(Self::$section => ($label, $href, $icon),)+
                }
            }
        }
    };
}

sections! {
    /// A page that is not in a menu.
    None = mark!("Menu"), "/", "menu";
    Home = mark!("Home"), "/", "house";
    Schedule = mark!("Schedule"), "/schedule", "calendar";
    Messages = mark!("Messages"), "/messages", "message-circle";
    MyTeams = mark!("Teams"), "/teams", "shield";
    More = mark!("More"), "/more", "ellipsis";
    Locations = mark!("Places"), "/locations", "map-pin";
    Notifications = mark!("Notifications"), "/account/notifications", "bell";
    Overview = mark!("Overview"), "/admin", "layout-dashboard";
    People = mark!("People"), "/people", "users";
    Teams = mark!("Teams"), "/teams", "shield";
    Members = mark!("Members"), "/admin/members", "lock";
    Store = mark!("Store"), "/admin/store", "shopping-bag";
    Orders = mark!("Orders"), "/admin/orders", "receipt";
    Dues = mark!("Dues"), "/admin/dues", "banknote";
    AuditLog = mark!("Audit log"), "/admin/audit", "scroll-text";
    ApiKeys = mark!("API keys"), "/admin/keys", "key-round";
    OauthApps = mark!("OAuth apps"), "/admin/apps", "app-window";
    Webhooks = mark!("Webhooks"), "/admin/webhooks", "webhook";
    Usage = mark!("Usage"), "/admin/usage", "chart-column";
    Health = mark!("Health"), "/admin/health", "heart-pulse";
    Settings = mark!("Settings"), "/admin/settings", "settings";
    MyStore = mark!("Store"), "/store", "shopping-bag";
    MyOrders = mark!("My orders"), "/store/orders", "receipt";
    Profile = mark!("Profile"), "/account", "user";
    Password = mark!("Password"), "/account/password", "lock";
    TwoStep = mark!("Two-step sign-in"), "/account/two-step", "shield-check";
    Passkeys = mark!("Passkeys"), "/account/passkeys", "fingerprint";
    Sessions = mark!("Signed-in browsers"), "/account/sessions", "monitor-smartphone";
    ConnectedApps = mark!("Connected apps"), "/account/apps", "plug";
    Joining = mark!("Invitations and requests"), "/account/claims", "users";
    MyDues = mark!("Dues"), "/dues", "banknote";
}

/// A menu: groups of entries with their headings. The heading of the first group is empty.
type Menu = &'static [(&'static str, &'static [Section])];

/// The main menu of the team app: the tab bar on a phone.
pub const MAIN: [Section; 4] =
    [Section::Home, Section::Schedule, Section::Messages, Section::MyTeams];

/// The menu of the admin area.
pub const ADMIN: Menu = &[
    ("", &[Section::Overview]),
    (mark!("People"), &[Section::People, Section::Teams, Section::Members]),
    (mark!("Money"), &[Section::Store, Section::Orders, Section::Dues]),
    (mark!("Data"), &[Section::AuditLog]),
    (
        mark!("Developers"),
        &[Section::ApiKeys, Section::OauthApps, Section::Webhooks, Section::Usage],
    ),
    (mark!("System"), &[Section::Health, Section::Settings]),
];

/// The menu of the user's own account.
pub const ACCOUNT: Menu = &[(
    "",
    &[
        Section::Profile,
        Section::Notifications,
        Section::Password,
        Section::TwoStep,
        Section::Passkeys,
        Section::Sessions,
        Section::ConnectedApps,
        Section::Joining,
    ],
)];

impl Section {
    /// The entry's label.
    pub fn label(self) -> &'static str {
        t!(self.entry().0)
    }

    /// The path the entry links to.
    pub fn href(self) -> &'static str {
        self.entry().1
    }

    /// The entry's icon.
    pub fn icon(self) -> &'static str {
        self.entry().2
    }
}

/// A message at the top of the page that is shown after a form was submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    /// Whether the action succeeded.
    pub is_success: bool,
    pub text: Cow<'static, str>,
}

impl Flash {
    /// The action succeeded.
    pub fn success(text: impl Into<Cow<'static, str>>) -> Self {
        Self { is_success: true, text: text.into() }
    }

    /// The action failed.
    pub fn failure(text: impl Into<Cow<'static, str>>) -> Self {
        Self { is_success: false, text: text.into() }
    }
}

/// The data of the layout around a page's content.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The page's heading and its title in the browser.
    pub title: Cow<'static, str>,
    /// The highlighted menu entry.
    pub section: Section,
    /// The name of the current club.
    pub club: Option<String>,
    /// The number of clubs the user can switch between.
    pub club_count: usize,
    /// The name of the signed-in user.
    pub user: Option<String>,
    /// Whether the user may open the admin area.
    pub is_admin: bool,
    /// The CSRF token for the forms of the page.
    pub csrf: String,
    pub flash: Option<Flash>,
    /// The session that the page belongs to, for the service worker: [`super::offline::session_name`]. Empty if nobody is
    /// signed in, and `None` if the page does not know.
    pub session: Option<String>,
    /// The main menu of a signed-in user.
    pub nav: Arc<Nav>,
    /// The team that the page is about.
    pub team: Option<TeamId>,
}

impl Frame {
    /// The layout of a page without sign-in: one card, no menu.
    pub fn plain(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            title: title.into(),
            section: Section::None,
            club: None,
            club_count: 0,
            user: None,
            is_admin: false,
            csrf: String::new(),
            flash: None,
            session: None,
            nav: Arc::default(),
            team: None,
        }
    }

    /// The layout of a page for a signed-in user.
    pub fn signed_in(
        title: impl Into<Cow<'static, str>>,
        section: Section,
        user: impl Into<String>,
        csrf: impl Into<String>,
    ) -> Self {
        let (user, csrf) = (Some(user.into()), csrf.into());
        Self { section, user, csrf, ..Self::plain(title) }
    }

    /// Sets the current club and the number of clubs the user can switch between.
    #[must_use]
    pub fn club(self, name: impl Into<String>, clubs: usize, is_admin: bool) -> Self {
        Self { club: Some(name.into()), club_count: clubs, is_admin, ..self }
    }

    /// Sets the CSRF token.
    #[must_use]
    pub fn csrf(self, csrf: impl Into<String>) -> Self {
        Self { csrf: csrf.into(), ..self }
    }

    /// Sets the message at the top.
    #[must_use]
    pub fn flash(self, flash: Option<Flash>) -> Self {
        Self { flash, ..self }
    }

    /// The attributes `lang` and `dir` of the page.
    pub fn language() -> (&'static str, &'static str) {
        let locale = Locale::current_or_english();
        (locale.lang(), locale.dir())
    }

    /// The user's initials, at most two.
    pub fn initials(&self) -> String {
        initials(self.user.as_deref().unwrap_or_default(), 2)
    }

    /// Sets the team that the page is about, which is highlighted in the menu.
    #[must_use]
    pub fn team(self, team: TeamId) -> Self {
        Self { team: Some(team), ..self }
    }

    /// Whether the page is about this team.
    pub fn is_about(&self, team: &TeamId) -> bool {
        self.team == Some(*team)
    }

    /// The entries of the main menu for which a phone has no tab.
    pub fn other_sections(&self) -> &'static [Section] {
        let all = &[
            Section::MyStore,
            Section::MyOrders,
            Section::MyDues,
            Section::Locations,
            Section::People,
            Section::Overview,
        ];
        // Families see neither locations nor the directory; coaches see the locations.
        match (self.is_admin, self.nav.is_staff) {
            (true, _) => all,
            (false, true) => &all[..4],
            (false, false) => &all[..3],
        }
    }

    /// Whether the page is one that a phone opens with the tab "More".
    pub fn is_more(&self) -> bool {
        !MAIN.contains(&self.section)
    }

    /// The crest of the club.
    pub fn club_look(&self) -> TeamLook {
        TeamLook::of_club(self.club.as_deref().unwrap_or("Touchline"))
    }
}

/// The Content-Security-Policy of pages: they load from this server and submit forms to it, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; \
    worker-src 'self'; manifest-src 'self'; frame-ancestors 'none'; form-action 'self'";

/// Renders a page.
///
/// Pages contain secrets next to text that others wrote. [`super::compression`] decides when that is safe to compress.
pub fn html<T: Template>(status: StatusCode, page: &T) -> Result<Response> {
    respond(status, page, HeaderValue::from_static(POLICY))
}

/// Renders a page, as the result of a handler.
pub fn render<T: Template>(status: StatusCode, page: &T) -> PageResult {
    Ok(html(status, page)?)
}

/// Renders a page whose form redirects to another origin, such as the app on the OAuth consent page.
pub fn html_with_form_action<T: Template>(
    status: StatusCode,
    page: &T,
    origin: &str,
) -> Result<Response> {
    // These characters would end a source or a directive of the policy.
    if origin.contains([';', ',']) || origin.contains(char::is_whitespace) {
        return Err(Error::internal("the form target is not an origin"));
    }
    let policy = HeaderValue::try_from(format!("{POLICY} {origin}"));
    respond(status, page, policy.map_err(|error| Error::internal(error.to_string()))?)
}

fn respond<T: Template>(status: StatusCode, page: &T, policy: HeaderValue) -> Result<Response> {
    let text =
        page.render().map_err(|error| Error::internal(format!("cannot render a page: {error}")))?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, policy),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        // With `no-referrer` a browser sends `Origin: null` with our own forms.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            HeaderValue::from_static("same-origin"),
        ),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((status, headers, text).into_response())
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    frame: Frame,
    text: String,
    faults: &'a [Fault],
    status: u16,
    request_id: &'a str,
    /// What somebody entered into the form that failed.
    entered: &'a [String],
    /// Path and label of the button.
    next_link: (&'static str, &'static str),
}

/// The error page, which people get instead of a problem document. `entered` is what they entered into the form that
/// failed, if they sent one.
pub fn error_page(error: &Error, request_id: &str, entered: Option<&[String]>) -> Response {
    let (title, text) = match (error.code, entered) {
        (Code::NotFound, Some(_)) => (
            t!("No longer there"),
            t!("Nothing was saved. Somebody has deleted this in the meantime, or you do not have access to it.").to_owned(),
        ),
        _ => explain(error),
    };
    let next_link = match error.code {
        Code::MissingCredentials | Code::InvalidCredentials => (SIGN_IN, t!("Sign in")),
        _ => ("/", t!("Go to the home page")),
    };
    let status = error.code.status();
    let page = ErrorPage {
        frame: Frame::plain(title),
        text,
        faults: &error.faults,
        status: status.as_u16(),
        request_id,
        entered: entered.unwrap_or_default(),
        next_link,
    };
    // If even this page cannot be rendered, only the status is sent.
    let mut response = html(status, &page).unwrap_or_else(|_| status.into_response());
    replace_main_content(&mut response);
    response
}

/// If htmx requested a part of a page, it shows the card of this response in place of the main content.
pub(super) fn replace_main_content(response: &mut Response) {
    for (name, value) in
        [("hx-retarget", "#main"), ("hx-reselect", ".sheet"), ("hx-reswap", "innerHTML")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

/// The heading and text that explain an error to a person.
fn explain(error: &Error) -> (&'static str, String) {
    let (title, text) = match error.code {
        Code::NotFound => (
            mark!("Page not found"),
            mark!(
                "This page does not exist, or you do not have access to it. Check that the link is complete and up to date."
            ),
        ),
        Code::Gone => (
            mark!("Link expired"),
            mark!("This link has expired or was already used. Ask for a new one."),
        ),
        Code::MissingCredentials | Code::InvalidCredentials => {
            (mark!("Sign in"), mark!("You need to sign in to see this page."))
        }
        Code::Forbidden | Code::InsufficientScope => (mark!("You do not have access"), ""),
        Code::MethodNotAllowed => (
            mark!("This page cannot be opened directly"),
            mark!("Go back to the previous page and use the button there."),
        ),
        Code::RateLimited | Code::TooManyConcurrent => {
            (mark!("Too many attempts"), mark!("Wait a moment, then try again."))
        }
        Code::InternalError => (
            mark!("Something went wrong"),
            mark!(
                "The error is on our side. Try again. If it happens again, send the request ID below to your administrator."
            ),
        ),
        Code::Overloaded | Code::RequestTimeout => {
            (mark!("Service unavailable"), mark!("The service is busy. Try again in a moment."))
        }
        Code::Conflict | Code::PreconditionFailed => (
            mark!("Changed by somebody else"),
            mark!(
                "Somebody else changed this while you had it open. Go back, reload the page and try again."
            ),
        ),
        Code::Taken | Code::InvalidState => (mark!("This is not possible right now"), ""),
        Code::PayloadTooLarge => (
            mark!("Too large"),
            mark!("What you sent is too large. Make it smaller and try again."),
        ),
        _ => (mark!("Invalid request"), ""),
    };
    // Without a text of its own, the page shows what the error says.
    let text = if text.is_empty() { error.detail.to_string() } else { t!(text).to_owned() };
    (t!(title), text)
}

#[cfg(test)]
mod tests;
