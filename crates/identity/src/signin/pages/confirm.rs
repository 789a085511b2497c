//! `/confirm`: asks the user to authenticate again before a sensitive action.

use super::account::current_user;
use super::sign_in::password_proof;
use super::{AccountForm, AccountVisitor, attempt, audit_failure, fields, uncount_attempt};
use crate::accounts::session;
use crate::accounts::user::{self, User};
use crate::prelude::*;
use crate::secrets::SealKey;
use crate::signin::authentication::PasswordProof;
use crate::signin::throttle::{self, Factor};
use crate::signin::two_step;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;
use crate::web::visitor::{safe_redirect_path, set_session_cookie};

pub(super) fn router() -> Router<App> {
    Router::new().route("/confirm", get(show_form).post(submit))
}

#[derive(Template)]
#[template(path = "signin/confirm.html")]
struct ConfirmPage<'a> {
    frame: Frame,
    email: &'a str,
    next: &'a str,
    /// The password, or a code if the user has no password.
    form: FilledForm,
    has_password: bool,
}

const FIELDS: &[Field] = &[
    fields::NEXT,
    fields::PASSWORD.focused(),
    fields::CODE
        .label("Code from your authenticator app")
        .attributes("inputmode=numeric")
        .focused(),
];

async fn show_form(visitor: AccountVisitor) -> PageResult {
    let user = current_user(&visitor).await?;
    let query = visitor.guest.query().unwrap_or_default();
    confirm_page(&visitor, &user, safe_redirect_path(query.text("next")), "")
}

fn confirm_page(
    visitor: &AccountVisitor,
    user: &User,
    next: &str,
    error: &'static str,
) -> PageResult {
    let frame = visitor.guest.frame(t!("Confirm it’s you"));
    let has_password = user.password_hash.is_some();
    let field = if has_password { "password" } else { "code" };
    let form = FilledForm::empty(FIELDS).with("next", next).with_error(field, error);
    let form = form.only_if(has_password, "password").only_if(!has_password, "code");
    let page = ConfirmPage { frame, email: &user.email, next, form, has_password };
    render(page.form.status(), &page)
}

/// How the user authenticates: with a password that was already verified, or a code that is still to be verified.
enum IdentityProof {
    Password(PasswordProof),
    Code(SealKey, String),
}

impl IdentityProof {
    fn verify(self, tx: &Tx<'_>, user: UserId) -> Result<bool> {
        match self {
            Self::Password(proof) => proof.is_still_valid(tx),
            // A user who has set a password in the meantime must use it.
            Self::Code(..) if user::find(tx, user)?.password_hash.is_some() => Ok(false),
            Self::Code(key, code) => two_step::consume_code(tx, &key, user, &code),
        }
    }
}

async fn submit(AccountForm { visitor, form }: AccountForm) -> PageResult {
    let next = safe_redirect_path(form.text("next"));
    let (app, guest) = (visitor.app(), &visitor.guest);
    let user = current_user(&visitor).await?;
    let factor = if user.password_hash.is_some() { Factor::Password } else { Factor::Code };
    let attempt = attempt(guest, factor, &user.email).await?;
    let (id, session) = (user.id, visitor.visit.session);
    let proof = if factor == Factor::Password {
        let password = form.get("password").unwrap_or_default();
        password_proof(app, Some(&user), password).await?.map(IdentityProof::Password)
    } else {
        Some(IdentityProof::Code(app.secrets.key("totp"), form.text("code").to_owned()))
    };
    let renew = move |tx: &Tx<'_>| {
        if !proof.map_or(Ok(false), |proof| proof.verify(tx, id))? {
            return Ok(None);
        }
        throttle::record_success(tx, attempt)?;
        session::reauthenticate(tx, session).map(Some)
    };
    let Some(token) = visitor.write_user("confirm", renew).await? else {
        audit_failure(guest, Some(&user), &attempt, "confirm");
        return confirm_page(&visitor, &user, next, t!("The password or code is incorrect."));
    };
    uncount_attempt(guest);
    Ok(set_session_cookie(see_other(next), &token))
}
