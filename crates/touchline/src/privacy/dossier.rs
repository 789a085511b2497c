//! Everything that is held about a person, from every room.

use kit::Timestamp;
use serde::Serialize;
use serde_json::Value;
use store::Reader;
use utoipa::ToSchema;

use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::PersonId;
use crate::{events, mail, messages, roster};

/// Everything that is held about a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "dossier")]
pub struct Dossier {
    pub person_id: PersonId,
    pub created_at: Timestamp,
    /// The person, the teams they are on, whom they look after and who looks after them.
    #[schema(value_type = Object)]
    pub roster: Value,
    /// What was answered for them, duties they took, their calendar feeds.
    #[schema(value_type = Object)]
    pub events: Value,
    /// What they wrote, what reached them, and what they have read.
    #[schema(value_type = Object)]
    pub messages: Value,
    /// Letters that were sent to them, or are waiting to be.
    #[schema(value_type = Vec<Object>)]
    pub mail: Value,
}

/// Gathers it.
pub fn gather(db: &Reader<'_>, reach: &Reach, id: PersonId) -> Result<Dossier> {
    roster::person::reachable(db, reach, id)?;
    let letters = mail::letter::held_about(db, id)?;
    Ok(Dossier {
        person_id: id,
        created_at: db.now(),
        roster: roster::erasure::dossier(db, id)?,
        events: events::held::held_about(db, id)?,
        messages: messages::held::held_about(db, id)?,
        mail: serde_json::to_value(letters).unwrap_or_default(),
    })
}
