//! Enums that are written as words: one table says the variants and their spelling.

/// An enum whose variants have one spelling everywhere: JSON, SQL, command line.
pub trait Word: Copy + 'static {
    /// Every variant with its spelling.
    const ALL: &'static [(Self, &'static str)];

    /// The spelling.
    fn word(self) -> &'static str;

    /// The variant with this spelling.
    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, word)| *word == text).map(|(variant, _)| *variant)
    }

    /// The spellings as a sentence: `active, archived`.
    fn choices() -> String {
        Self::ALL.iter().map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
    }
}

/// Declares an enum and the word for each variant. `enum Status as EventStatus` gives it another name in
/// the description of the API, where all names stand side by side.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($body:tt)+ }) => {
        $crate::words! { $(#[$meta])* $vis enum $name as $name { $($body)+ } }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident as $shown:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $name { $($(#[$doc])* $variant),+ }

        impl $crate::word::Word for $name {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $word)),+];
            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::word::Word::word(*self))
            }
        }

        impl $crate::word::reexport::Serialize for $name {
            fn serialize<S: $crate::word::reexport::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::word::Word::word(*self))
            }
        }

        impl $crate::word::reexport::PartialSchema for $name {
            fn schema() -> $crate::word::reexport::RefOr<$crate::word::reexport::Schema> {
                $crate::word::schema::<Self>()
            }
        }
        impl $crate::word::reexport::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($shown))
            }
        }
    };
}

/// The schema of a word: a string with its known spellings.
pub fn schema<W: Word>() -> reexport::RefOr<reexport::Schema> {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::String)
        .enum_values(Some(W::ALL.iter().map(|(_, word)| *word)))
        .into()
}

/// What [`words!`] needs in the crate that calls it.
pub mod reexport {
    pub use serde::{Serialize, Serializer};
    pub use utoipa::openapi::{RefOr, schema::Schema};
    pub use utoipa::{PartialSchema, ToSchema};
}

#[cfg(test)]
mod tests {
    use super::Word;

    words! {
        enum Colour { Red = "red", DeepBlue = "deep_blue" }
    }

    #[test]
    fn words_are_read_and_written() {
        assert_eq!(Colour::parse("deep_blue"), Some(Colour::DeepBlue));
        assert_eq!(Colour::parse("Red"), None);
        assert_eq!(Colour::Red.to_string(), "red");
        assert_eq!(Colour::choices(), "red, deep_blue");
    }
}
