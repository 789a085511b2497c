//! The message templates of the demo club.

use super::template::{self, NewMessageTemplate};
use crate::demo_club::DemoClub;
use crate::prelude::*;

const TEMPLATES: [(&str, &str, &str); 2] = [
    (
        "Match day",
        "Match on Saturday",
        "Meet at the **lower pitch**, 45 minutes before kick-off.\n\nPlease bring:\n\n- both shirts\n- shin pads\n- a drink",
    ),
    (
        "Training cancelled",
        "No training today",
        "Training is cancelled because of the weather. See you next week.",
    ),
];

/// Creates the templates.
pub(super) fn create(tx: &Tx<'_>, _: &mut DemoClub) -> Result<()> {
    TEMPLATES.into_iter().try_for_each(|(name, subject, body)| {
        let (name, subject, body) = (name.to_owned(), Some(subject.to_owned()), body.to_owned());
        template::create(tx, NewMessageTemplate { name, subject, body }).map(drop)
    })
}
