//! Enums whose variants are represented as strings, declared together with their strings.

/// An enum whose variants have the same string representation in JSON, SQL and on the command line.
pub trait StringEnum: Copy + 'static {
    /// All variants with their strings.
    const ALL: &'static [(Self, &'static str)];

    /// What the enum is, from its doc comment.
    const DESCRIPTION: &'static str;

    /// What each variant means, from its doc comment; empty if it has none.
    const MEANINGS: &'static [&'static str];

    /// The string of the variant.
    fn as_str(self) -> &'static str;

    /// Returns the variant with this string.
    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, string)| *string == text).map(|(variant, _)| *variant)
    }

    /// All strings as a list: `active, archived`.
    fn choices() -> String {
        Self::ALL.iter().map(|(_, string)| *string).collect::<Vec<_>>().join(", ")
    }
}

/// Declares an enum and the string of each variant. `enum Status as EventStatus` sets the name of the schema in the
/// OpenAPI description, where all names share one namespace.
#[macro_export]
macro_rules! string_enum {
    ($(#[$($meta:tt)*])* $vis:vis enum $name:ident { $($body:tt)+ }) => {
        $crate::string_enum! { $(#[$($meta)*])* $vis enum $name as $name { $($body)+ } }
    };
    ($(#[$($meta:tt)*])* $vis:vis enum $name:ident as $shown:ident { $($(#[$($doc:tt)*])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$($meta)*])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $name { $($(#[$($doc)*])* $variant),+ }

        impl $crate::string_enum::StringEnum for $name {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $word)),+];
            const DESCRIPTION: &'static str = $crate::doc_text!($([$($meta)*])*);
            const MEANINGS: &'static [&'static str] = &[$($crate::doc_text!($([$($doc)*])*)),+];
            fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::string_enum::StringEnum::as_str(*self))
            }
        }

        impl $crate::string_enum::reexport::Serialize for $name {
            fn serialize<S: $crate::string_enum::reexport::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::string_enum::StringEnum::as_str(*self))
            }
        }

        impl $crate::string_enum::reexport::PartialSchema for $name {
            fn schema() -> $crate::string_enum::reexport::RefOr<$crate::string_enum::reexport::Schema> {
                $crate::string_enum::schema::<Self>()
            }
        }
        impl $crate::string_enum::reexport::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($shown))
            }
        }
    };
}

/// The text of doc comments, given as the tokens of attributes. Other attributes are left out.
#[macro_export]
macro_rules! doc_text {
    () => { "" };
    ([doc = $text:literal] $($rest:tt)*) => { concat!($text, $crate::doc_text!($($rest)*)) };
    ([$($other:tt)*] $($rest:tt)*) => { $crate::doc_text!($($rest)*) };
}

/// The description of the enum, followed by the meaning of its values.
fn description<W: StringEnum>() -> Option<String> {
    let mut text = W::DESCRIPTION.trim().to_owned();
    for ((_, string), meaning) in W::ALL.iter().zip(W::MEANINGS) {
        if !meaning.is_empty() {
            text.push_str(&format!("\n\n- `{string}`: {}", meaning.trim()));
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The OpenAPI schema of such an enum: a string with the possible values.
pub fn schema<W: StringEnum>() -> reexport::RefOr<reexport::Schema> {
    schema_of(description::<W>(), W::ALL.iter().map(|(_, string)| *string))
}

/// The OpenAPI schema of a string with these possible values.
pub fn schema_of(
    description: Option<String>,
    values: impl Iterator<Item = &'static str>,
) -> reexport::RefOr<reexport::Schema> {
    utoipa::openapi::ObjectBuilder::new()
        .description(description)
        .schema_type(utoipa::openapi::schema::Type::String)
        .enum_values(Some(values))
        .into()
}

/// Declares a type that is only a schema in the OpenAPI description: a string with these possible values.
#[macro_export]
macro_rules! string_schema {
    ($(#[doc = $doc:literal])+ $vis:vis $name:ident: $values:expr) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        $vis struct $name;

        impl $crate::string_enum::reexport::PartialSchema for $name {
            fn schema() -> $crate::string_enum::reexport::RefOr<$crate::string_enum::reexport::Schema> {
                let description = concat!($($doc),+).trim().to_owned();
                $crate::string_enum::schema_of(Some(description), $values)
            }
        }

        impl $crate::string_enum::reexport::ToSchema for $name {}
    };
}

/// Items that [`string_enum!`] uses in the calling crate.
pub mod reexport {
    pub use serde::{Serialize, Serializer};
    pub use utoipa::openapi::{RefOr, schema::Schema};
    pub use utoipa::{PartialSchema, ToSchema};
}

#[cfg(test)]
mod tests {
    use super::StringEnum;

    string_enum! {
        /// A color.
        enum Color {
            Red = "red",
            /// Like the sea.
            DeepBlue = "deep_blue",
        }
    }

    #[test]
    fn comments_become_the_description() {
        let text = super::description::<Color>().unwrap();
        assert_eq!(text, "A color.\n\n- `deep_blue`: Like the sea.");
    }

    #[test]
    fn variants_are_parsed_and_displayed() {
        assert_eq!(Color::parse("deep_blue"), Some(Color::DeepBlue));
        assert_eq!(Color::parse("Red"), None);
        assert_eq!(Color::Red.to_string(), "red");
        assert_eq!(Color::choices(), "red, deep_blue");
    }
}
