//! `/account/password`: changes or sets the user's password.

use kit::secret::Token;

use super::account::current_user;
use super::reset::{hash_password, send_password_changed_email};
use super::sign_in::password_proof;
use super::{
    AccountForm, AccountVisitor, attempt, audit, audit_failure, fields, flash, uncount_attempt,
};
use crate::accounts::session;
use crate::accounts::user;
use crate::prelude::*;
use crate::signin::authentication;
use crate::signin::throttle::{self, Factor};
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;
use crate::web::visitor::set_session_cookie;

pub(super) fn router() -> Router<App> {
    Router::new().route("/account/password", get(show).post(change))
}

#[derive(Template)]
#[template(path = "account/password.html")]
struct PasswordPage<'a> {
    frame: Frame,
    email: &'a str,
    form: FilledForm,
}

const FIELDS: &[Field] = &[
    Field::password("current", "Current password")
        .autocomplete("current-password")
        .required("Enter your current password."),
    fields::NEW_PASSWORD,
];

async fn show(visitor: AccountVisitor) -> PageResult {
    let has_password = current_user(&visitor).await?.password_hash.is_some();
    password_page(&visitor, has_password, Faults::default())
}

fn password_page(visitor: &AccountVisitor, has_password: bool, faults: Faults) -> PageResult {
    let frame = visitor.frame(t!("Password"), Section::Password).flash(flash(&visitor.guest));
    let form = FilledForm::empty(FIELDS).with_faults(faults).only_if(has_password, "current");
    render(form.status(), &PasswordPage { frame, email: &visitor.visit.email, form })
}

/// The result of a password change.
enum PasswordChange {
    /// The current password is wrong, or was changed in the meantime.
    WrongPassword,
    /// The current password is correct, but the new one is not acceptable.
    Rejected,
    /// The password was changed. The browser gets this session token.
    Changed(Token),
}

async fn change(AccountForm { visitor, form }: AccountForm) -> PageResult {
    let (app, guest) = (visitor.app(), &visitor.guest);
    let user = current_user(&visitor).await?;
    let has_password = user.password_hash.is_some();
    if !has_password {
        visitor.require_recent_authentication("/account/password")?;
    }
    let attempt = attempt(guest, Factor::Password, &user.email).await?;
    let wrong_password = || {
        audit_failure(guest, Some(&user), &attempt, "password change");
        let mut faults = Faults::default();
        faults.add("current", t!("This is not your current password."));
        password_page(&visitor, has_password, faults)
    };
    let proof = if has_password {
        let current = form.get("current").unwrap_or_default();
        let proof = password_proof(app, Some(&user), current).await?;
        let Some(proof) = proof else { return wrong_password() };
        Some(proof)
    } else {
        None
    };
    let (id, session) = (user.id, visitor.visit.session);
    let (hash, faults) = match hash_password(app, &user, &form).await? {
        Ok(hash) => (Some(hash), Faults::default()),
        Err(faults) => (None, faults),
    };
    let change = move |tx: &Tx<'_>| {
        let authenticated = match proof {
            Some(proof) => proof.is_still_valid(tx)?,
            // A user who has set a password in the meantime must enter it.
            None => user::find(tx, id)?.password_hash.is_none(),
        };
        if !authenticated {
            return Ok(PasswordChange::WrongPassword);
        }
        throttle::record_success(tx, attempt)?;
        let Some(hash) = hash else { return Ok(PasswordChange::Rejected) };
        authentication::set_new_password(tx, id, &hash, Some(session))?;
        session::reauthenticate(tx, session).map(PasswordChange::Changed)
    };
    let result = visitor.write_user("account", change).await?;
    if matches!(result, PasswordChange::WrongPassword) {
        return wrong_password();
    }
    uncount_attempt(guest);
    let PasswordChange::Changed(token) = result else {
        return password_page(&visitor, has_password, faults);
    };
    audit(guest, user.id, "user.password_changed", json!({})).await?;
    send_password_changed_email(app, &user);
    Ok(set_session_cookie(see_other("/account/password?done=password"), &token))
}
