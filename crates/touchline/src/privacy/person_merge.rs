//! Merges two records of the same person in all modules.

use crate::MODULES;
use crate::prelude::*;
use crate::roster::merge::{self, MergeRequest};
use crate::roster::profile::{self, Profile};

/// Merges a person into another one. A request that was already carried out returns the remaining person.
pub fn merge(
    tx: &Tx<'_>,
    from: PersonId,
    expected: &IfMatch,
    request: &MergeRequest,
) -> Result<Profile> {
    let into = request.into_person_id;
    if merge::find_remaining(tx, from)? != Some(into) {
        let plan = merge::plan(tx, from, expected, request)?;
        let records = plan.records();
        for module in MODULES {
            if let Some(merge) = module.merge_person {
                (merge.run)(tx, &records)?;
            }
        }
        merge::apply(tx, &plan)?;
    }
    profile::show(tx, &TeamAccess::AllTeams, into)
}
