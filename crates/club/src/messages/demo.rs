//! The messages of the demo club's coaches and families.

use std::time::Duration;

use crate::demo_club::DemoClub;
use crate::messages::audience::{Audience, AudienceKind};
use crate::messages::message::{Kind, NewMessage};
use crate::messages::{posting, receipt};
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::roster::demo::DemoTeam;
use crate::roster::member::Member;
use crate::roster::membership::Role;

/// Posts the messages of all teams.
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    club.get::<Vec<DemoTeam>>()?.iter().try_for_each(|demo| post_messages(tx, demo))
}

/// Posts an announcement that some have read, a scheduled announcement, and a conversation.
fn post_messages(tx: &Tx<'_>, DemoTeam { sample, team, roster, .. }: &DemoTeam) -> Result<()> {
    let coach = roster.iter().find(|member| member.role == Role::Coach);
    let coach = coach.map(|coach| coach.person_id);
    let body = format!(
        "Welcome to the new season of **{}**!\n\n- Answer every event, even if you cannot come\n\
         - Be there at the arrival time, not when the event starts\n- Ask if anything is unclear",
        sample.name
    );
    let welcome = NewMessage {
        subject: Some("Welcome to the season".to_owned()),
        pinned: true,
        ..new_message(team.id, coach, Kind::Announcement, &body)
    };
    let welcome = post(tx, welcome)?;
    let photos = "Home colors, please. Siblings welcome.";
    let photos = NewMessage {
        subject: Some("Photo day next month".to_owned()),
        audience: Some(Audience { to: AudienceKind::Players, ..Audience::default() }),
        publish_at: Some(tx.now().plus(Duration::from_secs(14 * 86_400))),
        ..new_message(team.id, coach, Kind::Announcement, photos)
    };
    post(tx, photos)?;
    let question = "Who can drive to the away game? We need three cars.";
    let parent_id = Some(post(tx, new_message(team.id, coach, Kind::Message, question))?);
    let reply =
        new_message(team.id, first_readers(roster).next(), Kind::Message, "I can take four.");
    post(tx, NewMessage { parent_id, team_id: None, ..reply })?;
    let next_game: Option<(EventId,)> = tx.optional(
        "select id from event
         where account_id = :account and team_id = :team and kind = 'game' and starts_at > :now
         order by starts_at limit 1",
        bind! { team: team.id },
    )?;
    let pitch = "We play on the pitch behind the clubhouse. Please come through the north gate.";
    let event_id = next_game.map(|(id,)| id);
    post(tx, NewMessage { event_id, ..new_message(team.id, coach, Kind::Message, pitch) })?;
    for reader in first_readers(roster) {
        receipt::mark_read(tx, &TeamAccess::AllTeams, (welcome, reader), &IfMatch::Absent)?;
    }
    Ok(())
}

/// The first four players or, for minors, their first guardians. They read and reply.
fn first_readers(roster: &[Member]) -> impl Iterator<Item = PersonId> {
    roster.iter().take(4).map(|member| {
        let guardians = member.private.as_ref().map(|private| &private.guardians);
        let first = guardians.and_then(|guardians| guardians.first());
        first.map_or(member.person_id, |guardian| guardian.id)
    })
}

fn new_message(team: TeamId, author: Option<PersonId>, kind: Kind, body: &str) -> NewMessage {
    NewMessage {
        team_id: Some(team),
        kind,
        subject: None,
        body: body.to_owned(),
        audience: None,
        event_id: None,
        attachment_ids: Vec::new(),
        parent_id: None,
        pinned: false,
        publish_at: None,
        on_behalf_of: author,
        metadata: Metadata::default(),
    }
}

fn post(tx: &Tx<'_>, new: NewMessage) -> Result<MessageId> {
    Ok(posting::create(tx, &TeamAccess::AllTeams, &SenderIdentity::Anybody, new)?.id)
}
