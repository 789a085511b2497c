//! The page for a form whose session has changed since its page was opened: the visitor signed out in another tab, the
//! session ended, or somebody signed in or switched clubs. It shows what the visitor entered and can send it again, so
//! nothing is lost. Error pages also show what the visitor entered.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::form::{CSRF, Form};
use super::page::{self, Frame, SIGN_IN};
use super::visitor::{Guest, PageError, PageResult, url_encode};
use crate::error::{Code, Error};

/// Paths whose forms must be opened again: what they do depends on who signs in.
const NOT_REPEATED: [&str; 6] = ["/oauth/", "/account", "/sign-", "/confirm", "/set-up", KEYS];
const KEYS: &str = "/admin/keys";
const OTHER_CLUB: &str = mark!(
    "Nothing was saved, because you have opened the pages of another club since. Open the page again."
);
/// Parts of the names of fields with a text, as opposed to a choice from a list.
const TEXT_FIELDS: [&str; 11] = [
    "name", "note", "title", "subject", "body", "reason", "opponent", "email", "phone", "address",
    "text",
];
/// Parts of the names of fields that must not be sent back.
const SECRETS: [&str; 2] = ["password", "secret"];

#[derive(Template)]
#[template(path = "unsent_form.html")]
struct UnsentPage<'a> {
    frame: Frame,
    action: &'a str,
    /// All fields of the form except the CSRF token.
    fields: Vec<(&'a str, &'a str)>,
    /// What somebody entered or chose.
    entered: Vec<&'a str>,
    /// Whether there were files, which are not kept.
    had_files: bool,
    /// The name of the user who is signed in now.
    user: Option<&'a str>,
    /// The club whose pages are shown now.
    club: &'a str,
    sign_in: String,
}

/// Checks the token of a form. Without the session of its page, the answer is a page that can send it again. Keeps what
/// was entered for an error page.
pub(super) fn check(guest: &Guest, form: &Form, had_files: bool) -> PageResult<()> {
    let confirmed = form.check_token(&guest.csrf);
    let is_of_club = form.is_of_club(&guest.csrf);
    if !is_of_club && guest.path_and_query.starts_with(KEYS) {
        return Err(Error::new(Code::Forbidden, OTHER_CLUB).into());
    }
    if can_repeat(guest, form) {
        if guest.visit.is_none() || confirmed.is_err() || !is_of_club {
            let page = respond(guest, form, had_files)?;
            return Err(PageError::Page(Box::new(page)));
        }
        guest.context.keep_entered(entered(form).map(str::to_owned).collect());
    }
    Ok(confirmed?)
}

/// Whether a form may be sent again from this page.
fn can_repeat(guest: &Guest, form: &Form) -> bool {
    let path = &guest.path_and_query;
    let is_pending = guest.visit.as_ref().is_some_and(|visit| visit.pending);
    let has_secret =
        |name: &str| name == "code" || SECRETS.iter().any(|secret| name.contains(secret));
    !is_pending
        && !NOT_REPEATED.iter().any(|start| path.starts_with(start))
        && !form.with_prefix("").any(|(name, _)| has_secret(name))
}

/// The page. The form must have come from our own site.
fn respond(guest: &Guest, form: &Form, had_files: bool) -> PageResult<Response> {
    let fields = form.with_prefix("").filter(|(name, _)| *name != CSRF);
    let user = guest.visit.as_ref().map(|visit| visit.name.as_str());
    let title = if user.is_some() { t!("Send it again?") } else { t!("You are signed out") };
    let sign_in = guest.referring_path().map(|path| format!("{SIGN_IN}?next={}", url_encode(path)));
    let unsent = UnsentPage {
        frame: guest.frame(title),
        action: &guest.path_and_query,
        entered: entered(form).collect(),
        fields: fields.collect(),
        had_files,
        user,
        club: guest.visit.as_ref().and_then(|visit| visit.club_name.as_deref()).unwrap_or("–"),
        sign_in: sign_in.unwrap_or_else(|| SIGN_IN.to_owned()),
    };
    let mut response = page::html(StatusCode::FORBIDDEN, &unsent)?;
    page::replace_main_content(&mut response);
    Ok(guest.with_cookie(response))
}

/// What somebody entered or chose in a form.
fn entered(form: &Form) -> impl Iterator<Item = &str> {
    let values = form.with_prefix("").filter(|(name, _)| *name != CSRF);
    let values = values.map(|(name, value)| (name, value.trim()));
    values.filter(|(name, value)| is_readable(name, value)).map(|(_, value)| value)
}

/// Whether a value is something that a person entered, as opposed to an id, a nonce, a path, a choice from a list or the
/// state of the form.
fn is_readable(name: &str, value: &str) -> bool {
    let is_text = TEXT_FIELDS.iter().any(|part| name.contains(part));
    let is_plain = |byte: u8| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_choice = value.len() <= 2 || value.len() <= 20 && value.bytes().all(is_plain);
    let is_id = value.split_once('_').is_some_and(|(kind, id)| kind.len() <= 5 && id.len() == 26);
    let is_number = value.len() > 15 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    !(value.is_empty() || is_id || is_number || value.starts_with(['/', '{']))
        && (is_text || !is_choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_hidden_values_are_not_shown() {
        for (name, text) in [
            ("note", "late"),
            ("n-mem", "Ten minutes late"),
            ("starts_at", "18:30"),
            ("date", "2026-09-06"),
        ] {
            assert!(is_readable(name, text), "{text}");
        }
        for (name, choice) in [("answer", "yes"), ("step", "save"), ("weekdays", "MO"), ("v", "1")]
        {
            assert!(!is_readable(name, choice), "{choice}");
        }
        let hidden =
            ["", "mem_01kbm2x5q8f7vr0n3hd9tzc4wy", "0123456789abcdef0123456789abcdef", "/", "{}"];
        for text in hidden {
            assert!(!is_readable("note", text), "{text}");
        }
    }
}
