//! What the demo club's coaches and families write to each other.

use std::time::Duration;

use store::Tx;

use super::club::Sample;
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::PersonId;
use crate::messages::audience::{Audience, To};
use crate::messages::message::{Kind, NewMessage};
use crate::messages::posting;
use crate::metadata::Metadata;
use crate::roster::member::Member;
use crate::roster::membership::Role;
use crate::teams::team::Team;

/// A welcome, a reminder that is yet to come, and a conversation among the staff.
pub(super) fn begin(tx: &Tx<'_>, sample: &Sample, team: &Team, roster: &[Member]) -> Result<()> {
    let coach =
        roster.iter().find(|member| member.role == Role::Coach).map(|coach| coach.person_id);
    let welcome = format!(
        "Welcome to the new season of **{}**!\n\n- Answer every event, also with *no*\n- Be there when it says, not when it starts\n- Shin pads are not optional",
        sample.name
    );
    post(
        tx,
        team,
        coach,
        NewMessage {
            subject: Some("Welcome to the season".to_owned()),
            pinned: true,
            ..blank(Kind::Announcement, welcome)
        },
    )?;
    post(
        tx,
        team,
        coach,
        NewMessage {
            subject: Some("Photo day next month".to_owned()),
            audience: Some(Audience { to: To::Players, ..Audience::default() }),
            publish_at: Some(tx.now().plus(Duration::from_secs(14 * 86_400))),
            ..blank(Kind::Announcement, "Home colours, please. Siblings welcome.".to_owned())
        },
    )?;
    let first = post(
        tx,
        team,
        coach,
        NewMessage {
            audience: Some(Audience { to: To::All, ..Audience::default() }),
            ..blank(Kind::Message, "Who can drive to the away game? We need three cars.".to_owned())
        },
    )?;
    let reply = "I can take four.".to_owned();
    let parent_id = Some(first);
    posting::create(
        tx,
        &Reach::Everywhere,
        NewMessage { parent_id, ..blank(Kind::Message, reply) },
    )?;
    Ok(())
}

fn blank(kind: Kind, body: String) -> NewMessage {
    NewMessage {
        team_id: None,
        kind,
        subject: None,
        body,
        audience: None,
        parent_id: None,
        pinned: false,
        publish_at: None,
        on_behalf_of: None,
        metadata: Metadata::default(),
    }
}

fn post(
    tx: &Tx<'_>,
    team: &Team,
    author: Option<PersonId>,
    new: NewMessage,
) -> Result<crate::ids::MessageId> {
    let new = NewMessage { team_id: Some(team.id), on_behalf_of: author, ..new };
    Ok(posting::create(tx, &Reach::Everywhere, new)?.id)
}
