//! What to do if somebody similar is already in the club: add that person, or create a new one.

use std::collections::BTreeMap;

use crate::error::{Candidate, MatchedOn};
use crate::prelude::*;
use crate::roster::new_members::NewMember;
use crate::roster::person::PersonChange;
use crate::teams::team;

/// The code of the fault that names similar people.
pub(super) const DUPLICATE: &str = "duplicate";

/// What the visitor chose for somebody who may already exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Nothing yet.
    Undecided,
    /// It is somebody else.
    CreateNew,
    /// It is this person.
    Use(PersonId),
    /// Do not add anybody.
    Skip,
}

impl Choice {
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "new" => Self::CreateNew,
            "skip" => Self::Skip,
            id => id.parse().map_or(Self::Undecided, Self::Use),
        }
    }

    /// The value in a form.
    pub(super) fn value(self) -> String {
        match self {
            Self::Undecided => String::new(),
            Self::CreateNew => "new".to_owned(),
            Self::Use(id) => id.to_string(),
            Self::Skip => "skip".to_owned(),
        }
    }

    /// The new member as chosen. The data of an existing person stays as it is.
    pub(super) fn apply(self, new: NewMember) -> NewMember {
        match self {
            Self::Undecided | Self::Skip => new,
            Self::CreateNew => NewMember { allow_duplicate: true, ..new },
            Self::Use(id) => NewMember {
                person_id: Some(id),
                person: PersonChange::default(),
                guardians: Vec::new(),
                ..new
            },
        }
    }
}

/// A similar person, as an option.
#[derive(Debug, Clone)]
pub(super) struct SimilarPerson {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) about: String,
}

/// The similar people of a fault as options.
pub(super) fn options(
    candidates: &[Candidate],
    teams: &BTreeMap<TeamId, String>,
) -> Vec<SimilarPerson> {
    let option = |one: &Candidate| {
        let parts = [Some(&one.first_name), one.last_name.as_ref()];
        let name: Vec<_> = parts.into_iter().flatten().map(String::as_str).collect();
        let own = one.team_ids.iter().filter_map(|id| teams.get(id)).map(String::as_str);
        let own: Vec<_> = own.collect();
        let reason = match one.matched_on {
            MatchedOn::Email => t!("same email address"),
            MatchedOn::NameAndBirthDate => t!("same name and birth date"),
            MatchedOn::NameAndTeam => t!("same name on this team"),
        };
        let about = if own.is_empty() {
            reason.to_owned()
        } else {
            format!("{} · {reason}", own.join(", "))
        };
        SimilarPerson { value: one.person_id.to_string(), label: name.join(" "), about }
    };
    candidates.iter().map(option).collect()
}

/// The names of the teams of similar people.
pub(super) fn team_names<'a>(
    db: &Reader<'_>,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> Result<BTreeMap<TeamId, String>> {
    let mut names = BTreeMap::new();
    for id in candidates.into_iter().flat_map(|one| &one.team_ids) {
        if !names.contains_key(id) {
            names.insert(*id, team::find(db, *id)?.name);
        }
    }
    Ok(names)
}
