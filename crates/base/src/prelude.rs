//! What nearly every file of the domain uses: `use crate::prelude::*;`.

pub use crate::error::{Code, Error, Fault, OrNone, Result};
pub use crate::ids::*;
pub use crate::if_match::{IfMatch, Versioned};
pub use crate::metadata::Metadata;
pub use crate::paging::{Order, Page, Paged};
pub use crate::queries::Queries;
pub use crate::resource::{copy_fields, impl_resource, json_column, paged_by};
pub use crate::rights::{ScopeName, Scopes, TeamAccess};
pub use crate::signals::Publish;
pub use crate::violations::Violations;
pub use kit::string_enum::StringEnum;
pub use kit::{Change, Currency, Day, Money, Timestamp, Zone};
pub use serde::Serialize;
pub use serde_json::{Value, json};
pub use store::{Reader, Scope, Tx, bind, enum_column, record, row, sql};
pub use utoipa::ToSchema;
