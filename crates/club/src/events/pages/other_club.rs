//! The page for a link to an event of another club that the visitor belongs to, such as a link in an email.

use crate::accounts::user::{self, Club};
use crate::events::event;
use crate::prelude::*;
use crate::web::page::SWITCH_ACCOUNT;
use crate::web::prelude::*;

#[derive(Template)]
#[template(path = "events/other_club.html")]
struct OtherClubPage {
    frame: Frame,
    club: Club,
    /// The page to open after switching.
    path: String,
}

/// Offers to switch to the club of an event that was not found in the current one. Otherwise the event is not found.
pub(super) async fn offer<N: Permission>(visitor: &Visitor<N>, id: EventId) -> PageResult {
    let user = visitor.visit.user;
    let current = visitor.visit.club;
    let find = move |db: &Reader<'_>| {
        let mut clubs = user::clubs(db, user)?;
        clubs.retain(|club| Some(club.id) != current);
        let accounts = clubs.iter().map(|club| club.id).collect();
        let owner = event::find_account(db, accounts, id)?;
        Ok(clubs.into_iter().find(|club| Some(club.id) == owner))
    };
    let found = visitor.guest.read("events of other clubs", find).await?;
    let club = found.ok_or_else(Error::not_found)?;
    let frame = visitor.frame(t!("This event is in another club"), Section::Schedule);
    let page = OtherClubPage { frame, club, path: super::event_path(id) };
    render(StatusCode::OK, &page)
}
