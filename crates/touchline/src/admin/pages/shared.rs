//! Helpers that the admin pages share.

use crate::accounts::permissions::AdminArea;
use crate::accounts::user::Role;
use crate::prelude::*;
use crate::web::form::FilledForm;
use crate::web::prelude::*;

/// A signed-in admin or owner of the club.
pub(super) type Admin = Visitor<AdminArea>;
/// An admin or owner, and the form they sent.
pub(super) type AdminForm = VisitorForm<AdminArea>;

/// Whether the visitor is an owner of the club.
pub(super) fn is_owner(visitor: &Admin) -> bool {
    visitor.visit.role == Some(Role::Owner)
}

/// Adds the scopes to choose from. The explanation is the name in the API.
pub(super) fn with_scopes(form: FilledForm) -> FilledForm {
    let scopes = ScopeName::ALL.iter().map(|(scope, name)| (*name, t!(scope.description()), *name));
    form.explained_options("scopes", scopes)
}

/// The selected scopes; `None` after adding an error.
pub(super) fn parse_scopes(form: &mut FilledForm) -> Option<Scopes> {
    let selected = form.all("scopes");
    let scopes: Option<Vec<_>> = selected.iter().map(|name| ScopeName::parse(name)).collect();
    let error = match scopes {
        None => t!("One of these permissions does not exist. Choose again."),
        Some(scopes) if scopes.is_empty() => t!("Choose at least one permission."),
        Some(scopes) => return Some(Scopes::of(scopes)),
    };
    form.faults.add("scopes", error);
    None
}
