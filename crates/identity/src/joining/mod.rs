//! Joining a club: invitations and claims (requests to join).
//!
//! A user with a personal invitation joins at once, with the role of the invitation. A user who opens a team's link
//! makes a claim and sees nothing of the club until a coach of the team or an admin approves it.

pub mod age;
pub mod claim;
pub mod claim_list;
pub mod claim_policy;
pub mod invitation;
pub mod pending_invitations;
pub mod pages;

use crate::ids::{ClaimKind, InvitationKind};
use crate::personal_data::PersonMerge;
use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module {
    pages: pages::router,
    merge_person: Some(PersonMerge {
        references: &["invitation.person_id", "claim.person_id"],
        run: |tx, records| {
            invitation::move_to_person(tx, records.from, records.into)?;
            claim::move_to_person(tx, records.from, records.into)
        },
    }),
    object_names: crate::object_names! {
        InvitationKind: mark!("Invitation"),
            "select i.id, coalesce(i.email, t.name) as name from invitation i
             left join team t on t.account_id = i.account_id and t.id = i.team_id
             where i.account_id = :account and i.id in (:ids)";
        ClaimKind: mark!("Request to join"),
            "select c.id, u.name from claim c join app_user u on u.id = c.user_id
             where c.account_id = :account and c.id in (:ids)";
    },
    ..Module::EMPTY
};
