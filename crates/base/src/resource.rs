//! Implements the traits that most resources share: notification subject, version and page order.

/// Implements traits for a type with an `id` (and a `version`):
/// `impl_resource!(Team by TeamId: Subject Versioned Paged);`. `impl_resource!(Product by ProductId in record: …)` is for
/// a type whose field `record` has them. `Saved` adds `save` to a record.
#[macro_export]
macro_rules! impl_resource {
    ($type:ident by $id:ident: $($trait:ident)+) => { $($crate::resource::impl_resource!(@$trait $type, $id);)+ };
    ($type:ident by $id:ident in $record:ident: $($trait:ident)+) => {
        $($crate::resource::impl_resource!(@$trait $type, $id, $record);)+
    };
    (@Subject $type:ident, $id:ident $(, $field:ident)?) => {
        impl $crate::signals::Subject for $type {
            fn subject(&self) -> String {
                self$(.$field)?.id.to_string()
            }
        }
    };
    (@Versioned $type:ident, $id:ident $(, $field:ident)?) => {
        impl $crate::if_match::Versioned for $type {
            fn version(&self) -> i64 {
                self$(.$field)?.version
            }
        }
    };
    (@Saved $type:ident, $id:ident) => {
        impl $type {
            /// Saves the record as its next version. Only its own module can do this.
            pub(super) fn save(self, tx: &::store::Tx<'_>) -> ::store::Result<Self> {
                let after = Self { updated_at: tx.now(), version: self.version + 1, ..self };
                tx.execute(Self::UPDATE, &after.bind())?;
                Ok(after)
            }
        }
    };
    (@Paged $type:ident, $id:ident $(, $field:ident)?) => {
        impl $crate::paging::Paged for $type {
            type SortKey = $id;

            fn sort_key(&self) -> $id {
                self$(.$field)?.id
            }
        }
    };
}
pub use impl_resource;

/// Implements the page order of a list that is sorted by one field: `paged_by!(Rsvp, member_id: MemberId);`.
#[macro_export]
macro_rules! paged_by {
    ($type:ident, $field:ident: $key:ty) => {
        impl $crate::paging::Paged for $type {
            type SortKey = $key;

            fn sort_key(&self) -> $key {
                self.$field
            }
        }
    };
}
pub use paged_by;

/// Builds a struct with fields that other values have too: `..source { a, b }` moves them, `..&source { a, b }` clones
/// them. `copy_fields! { Member { private: None, ..membership { id, team_id } ..&person { first_name } } }`
#[macro_export]
macro_rules! copy_fields {
    ($type:ident {
        $($field:ident $(: $value:expr)?,)*
        $(..$source:ident { $($moved:ident),+ $(,)? })*
        $(..&$reference:ident { $($cloned:ident),+ $(,)? })*
    }) => {
        $type {
            $($field $(: $value)?,)*
            $($($moved: $source.$moved,)+)*
            $($($cloned: $reference.$cloned.clone(),)+)*
        }
    };
}
pub use copy_fields;

/// Lets types be stored in a text column as JSON.
#[macro_export]
macro_rules! json_column {
    ($($type:ty),+) => {$(
        impl ::store::ToValue for $type {
            fn to_value(&self) -> ::store::Value<'_> {
                let text = ::serde_json::to_string(self).expect("the value is plain data");
                ::store::Value::Text(text.into())
            }
        }

        impl ::store::Column for $type {
            fn from_value(value: ::store::Value<'_>) -> ::store::Result<Self> {
                let text = <String as ::store::Column>::from_value(value)?;
                ::serde_json::from_str(&text).map_err(|error| {
                    ::store::Error::Corrupt(format!("{}: {error}", stringify!($type)))
                })
            }
        }
    )+};
}
pub use json_column;
