//! Translations of texts, and numbers, dates, lists and money in the reader's language.
//!
//! The English text is the key. `cargo xtask i18n` extracts all keys into `locale/touchline.pot`, and the
//! translations are in `locale/*.po`. `docs/translation.md` describes how to write translatable texts.
//!
//! | Macro | Result |
//! |---|---|
//! | `t!("Save changes")` | a text in the current locale |
//! | `t!("Hello {name}", name)` | the same with values, each `name` or `name = expression` |
//! | `t!("Open", "status")` | the same with a context, for an English word that has several meanings |
//! | `t!(label)` | a text that was marked with `mark!` elsewhere |
//! | `tn!("{count} person", "{count} people", count)` | a text with a plural |
//! | `t_html!`, `tn_html!` | the same for texts with HTML markup; values are escaped |
//! | `message!`, `message_n!` | a [`Message`], which is translated when it is shown |
//! | `mark!("Save changes")` | the English text, which is translated later |

mod catalogue;
pub mod format;
mod locale;
mod message;
mod pseudo;

pub use catalogue::{lookup, translate};
pub use locale::Locale;
pub use message::{Html, Message, ToValue, Value};

/// A text in the current locale. See the [crate documentation](crate).
#[macro_export]
macro_rules! t {
    ($text:literal $(,)?) => { $crate::translate($text) };
    ($text:literal, $context:literal $(,)?) => { $crate::lookup($context, $text) };
    ($text:literal, $($rest:tt)+) => { $crate::message!($text, $($rest)+).to_string() };
    ($text:expr) => { $crate::translate($text) };
}

/// A text with a plural, in the current locale. The third argument is the number, which is also the value `count`.
#[macro_export]
macro_rules! tn {
    ($($arguments:tt)+) => { $crate::message_n!($($arguments)+).to_string() };
}

/// A text with HTML markup, in the current locale.
#[macro_export]
macro_rules! t_html {
    ($($arguments:tt)+) => { $crate::message!($($arguments)+).to_html() };
}

/// A text with HTML markup and a plural, in the current locale.
#[macro_export]
macro_rules! tn_html {
    ($($arguments:tt)+) => { $crate::message_n!($($arguments)+).to_html() };
}

/// A [`Message`], which is translated when it is shown.
#[macro_export]
macro_rules! message {
    ($text:literal $(,)?) => { $crate::Message::from($text) };
    ($text:literal, $context:literal $(, $($rest:tt)*)?) => {
        $crate::with_values!($crate::Message::from($text).context($context); $($($rest)*)?)
    };
    ($text:literal, $($rest:tt)*) => {
        $crate::with_values!($crate::Message::from($text); $($rest)*)
    };
}

/// A [`Message`] with a plural. The third argument is the number, which is also the value `count`.
#[macro_export]
macro_rules! message_n {
    ($one:literal, $many:literal, $count:expr $(, $($rest:tt)*)?) => {
        $crate::with_values!(
            $crate::Message::plural($one, $many, &$count); $($($rest)*)?
        )
    };
}

/// Adds values to a message.
#[doc(hidden)]
#[macro_export]
macro_rules! with_values {
    ($message:expr; $(,)?) => { $message };
    ($message:expr; $name:ident = $value:expr $(, $($rest:tt)*)?) => {
        $crate::with_values!($message.with(stringify!($name), &$value); $($($rest)*)?)
    };
    ($message:expr; $name:ident $(, $($rest:tt)*)?) => {
        $crate::with_values!($message.with(stringify!($name), &$name); $($($rest)*)?)
    };
}

/// Marks an English text that is translated later, with `t!(label)`.
#[macro_export]
macro_rules! mark {
    ($text:literal) => {
        $text
    };
}

/// Marks English texts that the program puts together itself, such as a label from the name of a field.
#[macro_export]
macro_rules! marks {
    ($($text:literal),+ $(,)?) => {};
}
