//! The ids that the developer portal shows a signed-in owner or admin: the club's first team, with one of its events and
//! members.

use crate::prelude::*;

/// Ids of the account for the examples. None of them is secret.
pub fn find(db: &Reader<'_>) -> Result<Vec<String>> {
    let team: Option<(TeamId,)> = db.optional(
        "select id from team where account_id = :account and status = 'active' order by id limit 1",
        bind! {},
    )?;
    let Some((team,)) = team else { return Ok(Vec::new()) };
    let event: Option<(EventId,)> = db.optional(
        "select id from event where account_id = :account and team_id = :team order by starts_at limit 1",
        bind! { team },
    )?;
    let member: Option<(MemberId, PersonId)> = db.optional(
        "select id, person_id from member
         where account_id = :account and team_id = :team and status = 'active' order by id limit 1",
        bind! { team },
    )?;
    let (member, person) = member.unzip();
    let others = [
        event.map(|(event,)| event.to_string()),
        member.map(|member| member.to_string()),
        person.map(|person| person.to_string()),
    ];
    Ok([team.to_string()].into_iter().chain(others.into_iter().flatten()).collect())
}
