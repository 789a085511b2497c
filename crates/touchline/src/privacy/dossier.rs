//! Everything that is held about a person, from every room.

use kit::Timestamp;
use serde::Serialize;
use serde_json::Value;
use store::Reader;
use utoipa::ToSchema;

use crate::accounts::rights::{ScopeName, Scopes};
use crate::error::Result;
use crate::ids::PersonId;
use crate::{dues, events, mail, messages, roster, shop};

/// Everything that is held about a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "dossier")]
pub struct Dossier {
    pub person_id: PersonId,
    pub created_at: Timestamp,
    /// The person, the teams they are on, whom they look after and who looks after them.
    #[schema(value_type = Object)]
    pub roster: Value,
    /// What was answered for them, duties they took, their calendar feeds; `null` without `events:read`.
    #[schema(value_type = Option<Object>)]
    pub events: Option<Value>,
    /// What they wrote, what reached them, and what they have read; `null` without `messages:read`.
    #[schema(value_type = Option<Object>)]
    pub messages: Option<Value>,
    /// Letters that were sent to them, or are waiting to be; `null` without `messages:read`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub mail: Option<Value>,
    /// What they ordered; `null` without `orders:read`.
    #[schema(value_type = Option<Object>)]
    pub shop: Option<Value>,
    /// What they owe or pay for others, and what was paid; `null` without `orders:read`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub dues: Option<Value>,
}

/// Gathers what a credential with these scopes may read.
pub fn gather(db: &Reader<'_>, scopes: Scopes, id: PersonId) -> Result<Dossier> {
    let (sees_events, sees_messages) =
        (scopes.allow(ScopeName::EventsRead), scopes.allow(ScopeName::MessagesRead));
    let sees_money = scopes.allow(ScopeName::OrdersRead);
    let letters = || -> Result<Value> {
        Ok(serde_json::to_value(mail::letter::held_about(db, id)?).unwrap_or_default())
    };
    Ok(Dossier {
        person_id: id,
        created_at: db.now(),
        roster: roster::erasure::dossier(db, id)?,
        events: sees_events.then(|| events::held::held_about(db, id)).transpose()?,
        messages: sees_messages.then(|| messages::held::held_about(db, id)).transpose()?,
        mail: sees_messages.then(letters).transpose()?,
        shop: sees_money.then(|| shop::held::held_about(db, id)).transpose()?,
        dues: sees_money.then(|| dues::held::held_about(db, id)).transpose()?,
    })
}
