//! What the demo club's coaches and families write to each other.

use std::time::Duration;

use store::Tx;

use super::club::Sample;
use crate::accounts::rights::{Reach, Voice};
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::{MessageId, PersonId, TeamId};
use crate::messages::audience::{Audience, To};
use crate::messages::message::{Kind, NewMessage};
use crate::messages::{posting, receipt};
use crate::metadata::Metadata;
use crate::roster::member::Member;
use crate::roster::membership::Role;
use crate::teams::team::Team;

/// A welcome that some have read, a reminder that is yet to come, and a conversation.
pub(super) fn begin(tx: &Tx<'_>, sample: &Sample, team: &Team, roster: &[Member]) -> Result<()> {
    let coach = roster.iter().find(|member| member.role == Role::Coach);
    let coach = coach.map(|coach| coach.person_id);
    let body = format!(
        "Welcome to the new season of **{}**!\n\n- Answer every event, also with *no*\n\
         - Be there when it says, not when it starts\n- Ask if anything is unclear",
        sample.name
    );
    let welcome = NewMessage {
        subject: Some("Welcome to the season".to_owned()),
        pinned: true,
        ..written(team.id, coach, Kind::Announcement, &body)
    };
    let welcome = post(tx, welcome)?;
    let photos = "Home colours, please. Siblings welcome.";
    let photos = NewMessage {
        subject: Some("Photo day next month".to_owned()),
        audience: Some(Audience { to: To::Players, ..Audience::default() }),
        publish_at: Some(tx.now().plus(Duration::from_secs(14 * 86_400))),
        ..written(team.id, coach, Kind::Announcement, photos)
    };
    post(tx, photos)?;
    let question = "Who can drive to the away game? We need three cars.";
    let parent_id = Some(post(tx, written(team.id, coach, Kind::Message, question))?);
    let reply = written(team.id, drivers(roster).next(), Kind::Message, "I can take four.");
    post(tx, NewMessage { parent_id, team_id: None, ..reply })?;
    for reader in drivers(roster) {
        receipt::read(tx, &Reach::Everywhere, (welcome, reader), &Expected::Anything)?;
    }
    Ok(())
}

/// Those who read everything and drive everybody: the first players, or their guardians.
fn drivers(roster: &[Member]) -> impl Iterator<Item = PersonId> {
    roster.iter().take(4).map(|member| {
        let guardians = member.private.as_ref().map(|private| &private.guardians);
        let first = guardians.and_then(|guardians| guardians.first());
        first.map_or(member.person_id, |guardian| guardian.id)
    })
}

fn written(team: TeamId, author: Option<PersonId>, kind: Kind, body: &str) -> NewMessage {
    NewMessage {
        team_id: Some(team),
        kind,
        subject: None,
        body: body.to_owned(),
        audience: None,
        parent_id: None,
        pinned: false,
        publish_at: None,
        on_behalf_of: author,
        metadata: Metadata::default(),
    }
}

fn post(tx: &Tx<'_>, new: NewMessage) -> Result<MessageId> {
    Ok(posting::create(tx, &Reach::Everywhere, &Voice::Anybodys, new)?.id)
}
