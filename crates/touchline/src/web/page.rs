//! What all pages share: the frame around them, the way they are sent, and the page that says what
//! went wrong.
//!
//! A page is an askama template that extends `admin.html`, `account.html` or `plain.html` and has a
//! field `frame`. `templates/parts.html` says how to write one.

use std::borrow::Cow;

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};

use crate::error::{Code, Error, Fault, Result};

/// Where somebody who is not signed in goes first.
pub const SIGN_IN: &str = "/sign-in";
/// Takes the form of the button that ends a session.
pub const SIGN_OUT: &str = "/sign-out";
/// Where somebody with several accounts chooses one.
pub const SWITCH: &str = "/accounts";

/// The entries of the two menus: the admin area's and that of somebody's own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// A page that stands in no menu.
    None,
    Overview,
    Teams,
    Members,
    Store,
    Orders,
    Dues,
    AuditLog,
    ApiKeys,
    OauthApps,
    Webhooks,
    Usage,
    Health,
    Settings,
    Shelf,
    MyOrders,
    Profile,
    Password,
    TwoStep,
    Passkeys,
    Sessions,
    ConnectedApps,
    Joining,
    OwnDues,
}

/// A menu: groups of entries, each under its heading. The first group has none.
type Menu = &'static [(&'static str, &'static [Section])];

/// The menu of the admin area.
pub const ADMIN: Menu = &[
    ("", &[Section::Overview]),
    ("People", &[Section::Teams, Section::Members]),
    ("Money", &[Section::Store, Section::Orders, Section::Dues]),
    ("Data", &[Section::AuditLog]),
    ("Developers", &[Section::ApiKeys, Section::OauthApps, Section::Webhooks, Section::Usage]),
    ("System", &[Section::Health, Section::Settings]),
];

/// The menu of somebody's own account.
pub const ACCOUNT: Menu = &[
    (
        "",
        &[
            Section::Profile,
            Section::Password,
            Section::TwoStep,
            Section::Passkeys,
            Section::Sessions,
            Section::ConnectedApps,
            Section::Joining,
        ],
    ),
    ("Money", &[Section::Shelf, Section::MyOrders, Section::OwnDues]),
];

/// The menu of somebody who belongs to no club: nothing is sold to them, and they owe nothing.
pub const ACCOUNT_WITHOUT_CLUB: Menu = &[ACCOUNT[0]];

impl Section {
    /// What the menu says, where it leads, and its icon.
    fn entry(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::None => ("Menu", "/", "menu"),
            Self::Overview => ("Overview", "/admin", "layout-dashboard"),
            Self::Teams => ("Teams", "/admin/teams", "shirt"),
            Self::Members => ("Members", "/admin/members", "users"),
            Self::Store => ("Store", "/admin/store", "shopping-bag"),
            Self::Orders => ("Orders", "/admin/orders", "receipt"),
            Self::Shelf => ("Store", "/store", "shopping-bag"),
            Self::MyOrders => ("My orders", "/store/orders", "receipt"),
            Self::Dues => ("Dues", "/admin/dues", "banknote"),
            Self::AuditLog => ("Audit log", "/admin/audit", "scroll-text"),
            Self::ApiKeys => ("API keys", "/admin/keys", "key-round"),
            Self::OauthApps => ("OAuth apps", "/admin/apps", "app-window"),
            Self::Webhooks => ("Webhooks", "/admin/webhooks", "webhook"),
            Self::Usage => ("Usage", "/admin/usage", "chart-column"),
            Self::Health => ("Health", "/admin/health", "heart-pulse"),
            Self::Settings => ("Settings", "/admin/settings", "settings"),
            Self::Profile => ("Profile", "/account", "user"),
            Self::Password => ("Password", "/account/password", "lock"),
            Self::TwoStep => ("Two-step sign-in", "/account/two-step", "shield-check"),
            Self::Passkeys => ("Passkeys", "/account/passkeys", "fingerprint"),
            Self::Sessions => ("Sessions", "/account/sessions", "monitor-smartphone"),
            Self::ConnectedApps => ("Connected apps", "/account/apps", "plug"),
            Self::Joining => ("Joining", "/account/claims", "users"),
            Self::OwnDues => ("Dues", "/dues", "banknote"),
        }
    }

    /// What the menu says.
    pub fn label(self) -> &'static str {
        self.entry().0
    }

    /// Where the entry leads.
    pub fn href(self) -> &'static str {
        self.entry().1
    }

    /// The entry's icon.
    pub fn icon(self) -> &'static str {
        self.entry().2
    }
}

/// One line on top of the page that follows a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    /// Whether it tells of a success.
    pub good: bool,
    pub text: Cow<'static, str>,
}

impl Flash {
    /// What was asked for is done.
    pub fn good(text: impl Into<Cow<'static, str>>) -> Self {
        Self { good: true, text: text.into() }
    }

    /// What was asked for could not be done.
    pub fn bad(text: impl Into<Cow<'static, str>>) -> Self {
        Self { good: false, text: text.into() }
    }
}

/// What stands around the content of a page.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The page's heading, and its name in the browser.
    pub title: Cow<'static, str>,
    /// The entry of the menu that is marked.
    pub section: Section,
    /// The account the page is about.
    pub club: Option<String>,
    /// How many accounts the user can switch between.
    pub clubs: usize,
    /// The name of whoever is signed in.
    pub user: Option<String>,
    /// Whether they may open the admin area.
    pub is_admin: bool,
    /// What every form of the page carries.
    pub csrf: String,
    pub flash: Option<Flash>,
}

impl Frame {
    /// The frame of a page for anybody: one card, no menu.
    pub fn plain(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            title: title.into(),
            section: Section::None,
            club: None,
            clubs: 0,
            user: None,
            is_admin: false,
            csrf: String::new(),
            flash: None,
        }
    }

    /// The frame of a page for somebody who is signed in.
    pub fn signed_in(
        title: impl Into<Cow<'static, str>>,
        section: Section,
        user: impl Into<String>,
        csrf: impl Into<String>,
    ) -> Self {
        let (user, csrf) = (Some(user.into()), csrf.into());
        Self { section, user, csrf, ..Self::plain(title) }
    }

    /// The same frame with the account it is about, out of so many to choose from.
    #[must_use]
    pub fn club(self, name: impl Into<String>, clubs: usize, is_admin: bool) -> Self {
        Self { club: Some(name.into()), clubs, is_admin, ..self }
    }

    /// The same frame with what its forms carry.
    #[must_use]
    pub fn csrf(self, csrf: impl Into<String>) -> Self {
        Self { csrf: csrf.into(), ..self }
    }

    /// The same frame with a line on top.
    #[must_use]
    pub fn flash(self, flash: Option<Flash>) -> Self {
        Self { flash, ..self }
    }

    /// One or two letters that stand for the user.
    pub fn initials(&self) -> String {
        let name = self.user.as_deref().unwrap_or_default();
        let words = name.split(|c: char| !c.is_alphanumeric());
        let letters = words.filter_map(|word| word.chars().next()).take(2);
        letters.flat_map(char::to_uppercase).collect()
    }
}

/// What a page may load and where its forms may lead: to this server, and nowhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; \
    frame-ancestors 'none'; form-action 'self'";

/// Sends a page.
///
/// It is not packed: pages hold secrets beside what others wrote, and the length of a packed page
/// tells which of the two resemble each other.
pub fn html<T: Template>(status: StatusCode, page: &T) -> Result<Response> {
    send(status, page, HeaderValue::from_static(POLICY))
}

/// Sends a page whose form leads on to another origin, such as that of an app somebody consents to.
pub fn html_with_form_action<T: Template>(
    status: StatusCode,
    page: &T,
    origin: &str,
) -> Result<Response> {
    // Whatever ends a directive or a source in the policy is not part of an origin.
    if origin.contains([';', ',']) || origin.contains(char::is_whitespace) {
        return Err(Error::internal("the form leads to something that is no origin"));
    }
    let policy = HeaderValue::try_from(format!("{POLICY} {origin}"));
    send(status, page, policy.map_err(|error| Error::internal(error.to_string()))?)
}

fn send<T: Template>(status: StatusCode, page: &T, policy: HeaderValue) -> Result<Response> {
    let text = page.render().map_err(|error| Error::internal(format!("a page: {error}")))?;
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
    text: &'a str,
    faults: &'a [Fault],
    status: u16,
    request_id: &'a str,
    /// What leads on from here.
    way_out: (&'static str, &'static str),
}

/// The page that says what went wrong, in place of the problem that an API caller gets.
pub fn error_page(error: &Error, request_id: &str, signed_in: bool) -> Response {
    let (title, text) = words(error);
    let way_out = match error.code {
        Code::MissingCredentials | Code::InvalidCredentials => (SIGN_IN, "Sign in"),
        _ if signed_in => (Section::Profile.href(), "Go to my account"),
        _ => ("/", "Go to the start page"),
    };
    let status = error.code.status();
    let page = ErrorPage {
        frame: Frame::plain(title),
        text,
        faults: &error.faults,
        status: status.as_u16(),
        request_id,
        way_out,
    };
    // If even this page cannot be written, its status says enough.
    let mut response = html(status, &page).unwrap_or_else(|_| status.into_response());
    // A script that asked for a part of a page shows the card in place of the content.
    for (name, value) in
        [("hx-retarget", "#main"), ("hx-reselect", ".sheet"), ("hx-reswap", "innerHTML")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// An error as one would say it to a person: a heading and a sentence or two.
fn words(error: &Error) -> (&'static str, &str) {
    match error.code {
        Code::NotFound => (
            "Page not found",
            "There is nothing at this address, or nothing that you may see. The link may be old or incomplete.",
        ),
        Code::Gone => {
            ("No longer here", "This link has expired or was already used. Ask for a new one.")
        }
        Code::MissingCredentials | Code::InvalidCredentials => {
            ("Please sign in", "This page is only for people who are signed in.")
        }
        Code::Forbidden | Code::InsufficientScope => ("You cannot do this", &error.detail),
        Code::MethodNotAllowed => (
            "This page cannot be opened like this",
            "Go back and use the buttons on the page before this one.",
        ),
        Code::RateLimited | Code::TooManyConcurrent => {
            ("Too many tries", "Wait a little, then try again.")
        }
        Code::InternalError => (
            "Something went wrong",
            "It is not your fault. Try again; if it happens again, tell your administrator the number below.",
        ),
        Code::Overloaded | Code::RequestTimeout => {
            ("Not right now", "The service is busy or cannot be reached. Try again in a moment.")
        }
        Code::Conflict | Code::PreconditionFailed => (
            "Somebody else was faster",
            "This was changed while you had it open. Go back, reload the page and try again.",
        ),
        Code::Taken | Code::InvalidState => ("This does not work now", &error.detail),
        Code::PayloadTooLarge => ("Too large", "What you sent is larger than this page takes."),
        _ => ("This request could not be read", &error.detail),
    }
}

#[cfg(test)]
mod tests;
