//! Implements the traits that most resources share: notification subject, version and page order.

/// Implements traits for a type with an `id` (and a `version`):
/// `impl_resource!(Team by TeamId: Subject Versioned Paged);`. `impl_resource!(Product by ProductId in record: …)` is for
/// a type whose field `record` has them.
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
