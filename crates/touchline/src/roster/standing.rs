//! What a user is in the club beyond their role: who they are on its rosters, whom they look after,
//! which teams they lead and which they see.

use std::collections::BTreeSet;
use std::sync::Arc;

use store::{Reader, bind};

use super::guardian;
use super::membership::Role;
use crate::accounts::permits::Least;
use crate::accounts::rights::{Place, Reach};
use crate::error::Result;
use crate::ids::{PersonId, TeamId, UserId};

/// Where a user stands. Teams that were archived and members who were removed do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Who they are.
    pub own: Vec<PersonId>,
    /// Whom they look after.
    pub wards: Vec<PersonId>,
    /// The teams they coach or manage at present.
    pub leads: Vec<TeamId>,
    /// Every team that they or those they look after are on, those they lead among them.
    pub sees: Vec<TeamId>,
}

impl Standing {
    /// What they are at most, on some team.
    pub fn level(&self) -> Least {
        if !self.leads.is_empty() {
            Least::Staff
        } else if !self.sees.is_empty() {
            Least::Family
        } else if !self.own.is_empty() {
            Least::Known
        } else {
            Least::Anybody
        }
    }

    /// The user's own persons and those they look after.
    pub fn family(&self) -> Vec<PersonId> {
        self.own.iter().chain(&self.wards).copied().collect()
    }

    /// Which teams they reach for something that asks them to be this much: those they lead where only
    /// staff may do it, else all they see.
    pub fn reach(&self, least: Least) -> Reach {
        let (may, family) = if least >= Least::Staff {
            (self.leads.clone(), Vec::new())
        } else {
            (self.sees.clone(), self.family())
        };
        let (sees, leads, own) = (self.sees.clone(), self.leads.clone(), self.own.clone());
        Reach::User(Arc::new(Place { may, sees, leads, own, family }))
    }
}

/// Where a user stands in the account.
pub fn of(db: &Reader<'_>, user: UserId) -> Result<Standing> {
    let own: Vec<(PersonId,)> = db.all(
        "select id from person
         where account_id = :account and user_id = :user and erased_at is null",
        bind! { user },
    )?;
    let own: Vec<_> = own.into_iter().map(|(person,)| person).collect();
    if own.is_empty() {
        return Ok(Standing::default());
    }
    let wards: BTreeSet<_> =
        guardian::children(db, &own)?.into_iter().map(|tie| tie.person_id).collect();
    let wards: Vec<_> = wards.into_iter().filter(|ward| !own.contains(ward)).collect();
    let family: Vec<_> = own.iter().chain(&wards).copied().collect();
    let places: Vec<(TeamId, PersonId, Role, bool)> = db.all(
        "select m.team_id, m.person_id, m.role, m.status in ('active', 'injured') as present
         from member m
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.account_id = :account and m.person_id in (:family)
           and m.status <> 'removed' and t.status = 'active'",
        bind! { family },
    )?;
    let leading = places
        .iter()
        .filter(|(_, person, role, present)| *present && own.contains(person) && role.leads());
    let leads: BTreeSet<_> = leading.map(|(team, ..)| *team).collect();
    let sees: BTreeSet<_> = places.iter().map(|(team, ..)| *team).collect();
    Ok(Standing {
        own,
        wards,
        leads: leads.into_iter().collect(),
        sees: sees.into_iter().collect(),
    })
}
