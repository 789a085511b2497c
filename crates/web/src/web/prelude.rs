//! What nearly every file with endpoints or pages uses: `use crate::web::prelude::*;`.

pub use crate::accounts::permissions::Permission;
pub use crate::web::app::App;
pub use crate::web::body::{Body, NoBody, OptionalBody};
pub use crate::web::caller::Caller;
pub use crate::web::cursor::Paging;
pub use crate::web::export::Download;
pub use crate::web::fields::{Fields, FromBody};
pub use crate::web::form::{Faults, Form};
pub use crate::web::form_dedup::{new_nonce, parse_nonce};
pub use crate::web::multipart::{Multipart, SentFile};
pub use crate::web::page::{Flash, Frame, Section, render};
pub use crate::web::path::PathParams;
pub use crate::web::query::{FromQuery, NoQuery, Params, Query};
pub use crate::web::reply::{ListResponse, ObjectResponse};
pub use crate::web::routes::Routes;
pub use crate::web::row_page::{ListRequest, RowPage};
pub use crate::web::upload_form::VisitorUpload;
pub use crate::web::visitor::{PageResult, Visitor, VisitorForm, see_other};
pub use askama::Template;
pub use axum::Router;
pub use axum::response::{IntoResponse, Response};
pub use axum::routing::{get, post};
pub use http::StatusCode;
pub use macros::{endpoint, routes};
