//! Export and erasure of personal data.

pub mod api;
pub mod person_export;
pub mod erasure;
mod redaction;
