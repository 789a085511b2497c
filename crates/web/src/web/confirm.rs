//! The page that asks before an action: what happens, a button, and a way back. Its texts are translated when it is
//! shown.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::form::FilledForm;
use super::page::{self, Frame};
use super::sentence::Sentence;
use super::visitor::PageResult;

/// A page that says why there is nothing to confirm.
#[derive(Template)]
#[template(path = "notice.html")]
pub struct NoticePage {
    pub frame: Frame,
    pub lead: Option<Sentence>,
    pub text: Sentence,
    /// The way back.
    pub back: String,
    pub back_label: &'static str,
}

impl NoticePage {
    pub fn respond(&self) -> PageResult<Response> {
        Ok(page::html(StatusCode::OK, self)?)
    }
}

/// A page that asks "really?". The button posts to the address of the page.
#[derive(Template)]
#[template(path = "confirm.html")]
pub struct ConfirmPage {
    frame: Frame,
    lead: Option<Sentence>,
    /// The heading and text of a warning.
    warning: Option<(&'static str, Sentence)>,
    /// What happens, and the heading above it.
    effects: Vec<Sentence>,
    heading: &'static str,
    /// Names below the effects, such as of the people who get an email, with a title.
    names: Option<(&'static str, Vec<String>)>,
    button: &'static str,
    is_dangerous: bool,
    /// The way back.
    back: String,
    back_label: &'static str,
    /// The fields, such as a reason, and hidden ones.
    form: FilledForm,
    /// The heading of an error.
    rejection: &'static str,
}

impl ConfirmPage {
    /// A page with this title, a button that does it, and the address of the way back.
    pub fn new(frame: Frame, button: &'static str, back: impl Into<String>) -> Self {
        Self {
            frame,
            lead: None,
            warning: None,
            effects: Vec::new(),
            heading: mark!("What happens next"),
            names: None,
            button,
            is_dangerous: true,
            back: back.into(),
            back_label: mark!("Cancel"),
            form: FilledForm::empty(&[]),
            rejection: mark!("Nothing was changed"),
        }
    }

    /// The action can be undone or destroys nothing.
    #[must_use]
    pub fn harmless(self) -> Self {
        Self { is_dangerous: false, ..self }
    }

    /// The sentence below the title.
    #[must_use]
    pub fn lead(self, lead: impl Into<Sentence>) -> Self {
        Self { lead: Some(lead.into()), ..self }
    }

    #[must_use]
    pub fn warning(self, heading: &'static str, text: impl Into<Sentence>) -> Self {
        Self { warning: Some((heading, text.into())), ..self }
    }

    /// Adds something that happens.
    #[must_use]
    pub fn effect(mut self, effect: impl Into<Sentence>) -> Self {
        self.effects.push(effect.into());
        self
    }

    #[must_use]
    pub fn heading(self, heading: &'static str) -> Self {
        Self { heading, ..self }
    }

    /// Adds a list of names, which the visitor opens.
    #[must_use]
    pub fn names(self, title: &'static str, names: Vec<String>) -> Self {
        Self { names: Some((title, names)).filter(|(_, names)| !names.is_empty()), ..self }
    }

    #[must_use]
    pub fn back_label(self, back_label: &'static str) -> Self {
        Self { back_label, ..self }
    }

    /// Adds fields. `rejection` is the heading if the form has errors.
    #[must_use]
    pub fn form(self, form: FilledForm, rejection: &'static str) -> Self {
        Self { form, rejection, ..self }
    }

    #[must_use]
    pub fn nonce(mut self, nonce: String) -> Self {
        self.form = self.form.nonce(nonce);
        self
    }

    fn note_kind(&self) -> &'static str {
        if self.is_dangerous { "danger" } else { "info" }
    }

    fn look(&self) -> &'static str {
        if self.is_dangerous { "danger" } else { "primary" }
    }

    pub fn respond(&self) -> PageResult<Response> {
        self.respond_with(self.form.status())
    }

    pub fn respond_with(&self, status: StatusCode) -> PageResult<Response> {
        Ok(page::html(status, self)?)
    }
}
