//! What is held about a person: to be handed over, or to be erased.

pub mod api;
pub mod dossier;
pub mod erasure;
