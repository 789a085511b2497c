//! Pending invitations of a signed-in user: those to their confirmed email address, and those that they signed up
//! with.

use super::invitation::Relation;
use crate::accounts::user::{Role, User};
use crate::prelude::*;

record! {
    /// Records that a user signed up with an invitation.
    #[derive(Debug)]
    struct InvitationVisit in invitation_visit {
        account_id: AccountId,
        invitation_id: InvitationId,
        user_id: UserId,
        created_at: Timestamp,
    }
}

/// Records that a user signed up with this invitation.
pub fn record_sign_up(tx: &Tx<'_>, invitation_id: InvitationId, user_id: UserId) -> Result<()> {
    let visit =
        InvitationVisit { account_id: tx.account(), invitation_id, user_id, created_at: tx.now() };
    tx.execute(InvitationVisit::INSERT, &visit.bind())?;
    Ok(())
}

row! {
    /// An invitation that can still be accepted.
    #[derive(Debug, Clone)]
    pub struct PendingInvitation {
        pub id: InvitationId,
        pub account_id: AccountId,
        pub club: String,
        /// Name of the team, if it is a team's link. The user has to open such a link again.
        pub team: Option<String>,
        pub role: Role,
        pub relation: Option<Relation>,
        pub expires_at: Timestamp,
    }
}

/// The pending invitations of a user in all clubs, oldest first.
pub fn list(db: &Reader<'_>, user: &User) -> Result<Vec<PendingInvitation>> {
    let mut pending: Vec<PendingInvitation> = db.all(
        "select i.id, i.account_id, a.name as club, t.name as team, i.role, i.relation, i.expires_at
         from invitation_visit v
         join invitation i on i.account_id = v.account_id and i.id = v.invitation_id
         join account a on a.id = i.account_id
         left join team t on t.account_id = i.account_id and t.id = i.team_id
         where v.user_id = :id and i.revoked_at is null and i.expires_at > :now
           and (i.uses_left is null or i.uses_left > 0)
           and not exists (select 1 from claim c where c.account_id = i.account_id
                             and c.user_id = v.user_id and c.team_id = i.team_id)
         order by i.id limit 20 /* any account */",
        bind! { id: user.id },
    )?;
    // Anyone can sign up with any address, so only a confirmed address counts.
    if user.email_verified_at.is_some() {
        let mut addressed: Vec<PendingInvitation> = db.all(
            "select i.id, i.account_id, a.name as club, null as team, i.role, i.relation, i.expires_at
             from invitation i
             join account a on a.id = i.account_id
             where i.email_folded = :email and i.team_id is null and i.revoked_at is null
               and i.expires_at > :now and i.uses_left > 0
             order by i.id limit 20 /* any account */",
            bind! { email: user.email_folded.clone() },
        )?;
        addressed.retain(|one| pending.iter().all(|other| other.id != one.id));
        pending.append(&mut addressed);
    }
    Ok(pending)
}
