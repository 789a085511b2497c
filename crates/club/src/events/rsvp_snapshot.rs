//! RSVPs as notifications contain them.

use super::rsvp::{Answer, Rsvp};
use crate::prelude::*;

/// An RSVP in a notification. It has no note, because the note can contain health information.
#[macros::object("rsvp")]
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RsvpSnapshot)]
pub struct RsvpSnapshot {
    pub id: RsvpId,
    pub event_id: EventId,
    /// The team of the event.
    pub team_id: TeamId,
    pub member_id: MemberId,
    /// The answer; `null` if it was withdrawn because the member left the team or is no longer away.
    pub answer: Option<Answer>,
    /// ID of the person in `on_behalf_of`, or of the user or key that answered; `away_date` if the member is away on that
    /// day.
    #[schema(examples("per_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub answered_by: String,
    /// When the answer was given.
    pub answered_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

impl RsvpSnapshot {
    /// The snapshot of an RSVP to an event of this team.
    pub fn new(rsvp: &Rsvp, team_id: TeamId) -> Self {
        copy_fields! {
            Self {
                team_id,
                answer: Some(rsvp.answer),
                ..&rsvp {
                    id, event_id, member_id, answered_by, answered_at, created_at, updated_at,
                    version,
                }
            }
        }
    }
}

impl_resource!(RsvpSnapshot by RsvpId: Subject);
