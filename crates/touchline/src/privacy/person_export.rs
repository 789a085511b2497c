//! Collects the stored data about a person from all modules.

use kit::Timestamp;
use serde::Serialize;
use serde_json::Value;
use store::Reader;
use utoipa::ToSchema;

use crate::error::Result;
use crate::ids::PersonId;
use crate::rights::{ScopeName, Scopes};
use crate::{dues, events, mail, messages, roster, shop};

/// All stored data about a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "person_export")]
pub struct PersonExport {
    pub person_id: PersonId,
    pub created_at: Timestamp,
    /// The person, their memberships, dependents and guardians.
    #[schema(value_type = Object)]
    pub roster: Value,
    /// RSVPs, duties and calendar feeds; `null` without `events:read`.
    #[schema(value_type = Option<Object>)]
    pub events: Option<Value>,
    /// Messages sent, received and read; `null` without `messages:read`.
    #[schema(value_type = Option<Object>)]
    pub messages: Option<Value>,
    /// Emails sent to the person or queued; `null` without `messages:read`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub emails: Option<Value>,
    /// Orders of the person; `null` without `orders:read`.
    #[schema(value_type = Option<Object>)]
    pub store: Option<Value>,
    /// Dues that the person owes or pays, with payments; `null` without `orders:read`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub dues: Option<Value>,
}

/// Collects the data that a credential with these scopes may read.
pub fn collect(db: &Reader<'_>, scopes: Scopes, id: PersonId) -> Result<PersonExport> {
    let (sees_events, sees_messages) =
        (scopes.contains(ScopeName::EventsRead), scopes.contains(ScopeName::MessagesRead));
    let sees_money = scopes.contains(ScopeName::OrdersRead);
    let emails = || -> Result<Value> {
        Ok(serde_json::to_value(mail::email::list_to_person(db, id)?).unwrap_or_default())
    };
    Ok(PersonExport {
        person_id: id,
        created_at: db.now(),
        roster: roster::erasure::export_person(db, id)?,
        events: sees_events.then(|| events::personal_data::export_person(db, id)).transpose()?,
        messages: sees_messages
            .then(|| messages::personal_data::export_person(db, id))
            .transpose()?,
        emails: sees_messages.then(emails).transpose()?,
        store: sees_money.then(|| shop::personal_data::export_person(db, id)).transpose()?,
        dues: sees_money.then(|| dues::personal_data::export_person(db, id)).transpose()?,
    })
}
