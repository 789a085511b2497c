//! Whom to call about members who have not answered.

use std::collections::BTreeSet;

use super::responses::Response;
use crate::prelude::*;
use crate::roster::guardian;
use crate::roster::person::{self, Person};
use crate::roster::safeguarding;

/// A member who has not answered, and whom to call: the member, or the guardians of a minor.
#[derive(Debug, Clone)]
pub struct UnansweredContacts {
    pub member_id: MemberId,
    pub name: String,
    pub contacts: Vec<Contact>,
}

/// Somebody to call or to write to.
#[derive(Debug, Clone)]
pub struct Contact {
    pub name: String,
    pub phone: Option<String>,
    pub email: Option<String>,
}

impl From<&Person> for Contact {
    fn from(person: &Person) -> Self {
        let name = person::display_name(person);
        Self { name, phone: person.phone.clone(), email: person.email.clone() }
    }
}

/// The members without an answer among the responses to an event, with their contacts. Only for staff of the team. Takes
/// the same number of queries for any number of members.
pub fn of_unanswered(db: &Reader<'_>, responses: &[Response]) -> Result<Vec<UnansweredContacts>> {
    let missing: Vec<_> = responses.iter().filter(|one| one.answer.is_none()).collect();
    let ids: BTreeSet<_> = missing.iter().map(|one| one.person_id).collect();
    let minors = safeguarding::minors(db, &ids)?;
    let links = guardian::list_for(db, &minors.iter().copied().collect::<Vec<_>>())?;
    let people = person::find_many(db, ids.into_iter().collect())?;
    let contacts = |one: &Response| {
        if minors.contains(&one.person_id) {
            let own = links.iter().filter(|link| link.guardianship.person_id == one.person_id);
            let present = own.filter(|link| link.guardian.erased_at.is_none());
            present.map(|link| Contact::from(&link.guardian)).collect()
        } else {
            people.get(&one.person_id).map(Contact::from).into_iter().collect()
        }
    };
    let unanswered = |one: &Response| UnansweredContacts {
        member_id: one.member_id,
        name: one.name(),
        contacts: contacts(one),
    };
    Ok(missing.into_iter().map(unanswered).collect())
}
