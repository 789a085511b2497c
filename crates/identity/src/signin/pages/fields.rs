//! Fields that several pages of this module and of joining share.

use crate::web::form::Field;

pub const NAME: Field =
    Field::line("name", "Your name", 120).autocomplete("name").required("Enter your name.");

/// The address to sign in with.
pub const EMAIL: Field =
    Field::email("email", "Email").autocomplete("username").required("Enter your email address.");

pub const PASSWORD: Field = Field::password("password", "Password")
    .autocomplete("current-password")
    .required("Enter your password.");

pub const NEW_PASSWORD: Field = Field::password("password", "New password")
    .autocomplete("new-password")
    .hint("At least 12 characters. A few unrelated words are easy to remember and hard to guess.")
    .attributes("minlength=12")
    .required("Enter a password.");

/// The password of a new account.
pub const FIRST_PASSWORD: Field = NEW_PASSWORD.label("Password");

/// A code of the second step.
pub const CODE: Field =
    Field::line("code", "Code", 0).autocomplete("one-time-code").required("Enter the code.");

/// The path to continue with.
pub const NEXT: Field = Field::hidden("next").page_only();
