//! What nearly everything has: news name it by its id, its version is a member, lists follow its ids.

/// Gives a type the traits of a thing: `thing!(Team by TeamId: Subject Versioned Paged);`.
macro_rules! thing {
    ($type:ident by $id:ident: $($trait:ident)+) => { $($crate::thing::thing!(@$trait $type, $id);)+ };
    (@Subject $type:ident, $id:ident) => {
        impl $crate::signals::Subject for $type {
            fn subject(&self) -> String {
                self.id.to_string()
            }
        }
    };
    (@Versioned $type:ident, $id:ident) => {
        impl $crate::expected::Versioned for $type {
            fn version(&self) -> i64 {
                self.version
            }
        }
    };
    (@Paged $type:ident, $id:ident) => {
        impl $crate::paging::Paged for $type {
            type Place = $id;

            fn place(&self) -> $id {
                self.id
            }
        }
    };
}
pub(crate) use thing;
