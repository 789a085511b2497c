//! Chooses the color of a team: one of twelve colors, or the code of another one.

use askama::Template;
use kit::text::is_color;

use crate::web::form::{FilledForm, Form};

/// Colors that are easy to tell apart, with their names.
const COLORS: [(&str, &str); 12] = [
    ("#b3122f", mark!("Red")),
    ("#7b1e3b", mark!("Burgundy")),
    ("#b4540a", mark!("Orange")),
    ("#ffd21f", mark!("Yellow")),
    ("#2f6b3a", mark!("Green")),
    ("#0b6b78", mark!("Teal")),
    ("#4aa3df", mark!("Light blue")),
    ("#0b5cad", mark!("Blue")),
    ("#1d2f6f", mark!("Navy")),
    ("#5b3a86", mark!("Purple")),
    ("#ffffff", mark!("White")),
    ("#16181a", mark!("Black")),
];

/// The radio buttons.
#[derive(Template)]
#[template(path = "teams/colors.html")]
struct ColorPicker {
    colors: &'static [(&'static str, &'static str)],
    /// The color of the form, in lower case.
    chosen: String,
}

impl ColorPicker {
    fn is_own(&self) -> bool {
        !self.chosen.is_empty() && !self.colors.iter().any(|(code, _)| *code == self.chosen)
    }
}

/// The form with the color that was chosen: that of a radio button, or the code that was entered.
pub(super) fn with_chosen_color(form: &Form) -> Form {
    let mut form = form.clone();
    match form.text("palette").to_owned() {
        code if is_color(&code) => form.set("color", [code]),
        choice if choice == "none" => form.set("color", [""]),
        _ => {}
    }
    form
}

/// Adds the radio buttons to the form. The field for the code is empty if one of them has the color.
pub(super) fn with_colors(form: FilledForm) -> FilledForm {
    let chosen = form.text("color").to_lowercase();
    let picker = ColorPicker { colors: &COLORS, chosen };
    let own = if picker.is_own() { form.text("color").to_owned() } else { String::new() };
    let html = picker.render().unwrap_or_default();
    form.with("color", own).slot("palette", html)
}
