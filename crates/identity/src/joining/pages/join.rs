//! `/join/{token}`: the pages behind an invitation link, where a user signs up, says who they are, and joins.
//!
//! Unknown, expired, used and revoked links give the same answer. Names of players are shown only to signed-in users,
//! with the initial of the last name.
//!
//! Signing up does not reveal whether an account with the address exists: in both cases the next page asks the user to
//! sign in. The exception is the invited address: a user who signs up with it is signed in at once.

use std::borrow::Cow;
use std::time::Duration;

use kit::secret::{Token, TokenKind};

use super::link;
use crate::accounts::session::{self, Method, SessionLookup};
use crate::accounts::user::{self, Role};
use crate::joining::claim::{self, Choice, NewClaim};
use crate::joining::invitation::{self, AddressCheck, InvitationLink, Relation};
use crate::joining::pending_invitations;
use crate::prelude::*;
use crate::signin::authentication::{self, SignIn};
use crate::signin::pages::fields;
use crate::web::form::{Field, FilledForm};
use crate::web::page;
use crate::web::prelude::*;
use crate::web::throttle::RateLimit;
use crate::web::visitor::{Guest, GuestForm, PageError, set_session_cookie, url_encode};

/// Rate limit of sign-ups per network address. Without it, anyone with a link could probe addresses or create accounts
/// without limit.
const SIGN_UP_LIMIT: RateLimit =
    RateLimit { name: "sign up", burst: 20, interval: Duration::from_secs(60) };

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/join/{token}", get(show))
        .route("/join/{token}/account", post(sign_up))
        .route("/join/{token}/accept", post(accept))
        .route("/join/{token}/claim", post(create_claim))
}

/// The data that all pages of a link share.
struct Step {
    invitation: InvitationLink,
    token: String,
    /// The signature of a mailed link, as it was sent by the browser.
    mail_signature: String,
    /// Whether the link is from the invitation email. See [`link::is_mailed_link`].
    is_mailed: bool,
    relation: Option<Relation>,
    /// Whether the user has just signed up.
    signed_up: bool,
}

impl Step {
    /// Reads the invitation of a link, and the parameters in the query or the form.
    async fn load(guest: &Guest, token: &str, form: &Form) -> Result<Self> {
        let parsed =
            Token::parse(TokenKind::Invitation, token).ok_or_else(invitation::link_expired)?;
        let read = move |db: &Reader<'_>| invitation::find_by_token(db, &parsed);
        let invitation = guest.read("invitation", read).await?;
        let invitation = invitation.ok_or_else(invitation::link_expired)?;
        let mail_signature: String = form.text("m").chars().take(100).collect();
        Ok(Self {
            is_mailed: link::is_mailed_link(&guest.app, &invitation.token_hash, &mail_signature),
            relation: Relation::parse(form.text("as")).filter(|_| invitation.team_id.is_some()),
            signed_up: !form.text("made").is_empty(),
            token: token.to_owned(),
            invitation,
            mail_signature,
        })
    }

    /// The path of this step, to return to after signing in.
    fn path(&self) -> String {
        self.build_path(false)
    }

    fn build_path(&self, signed_up: bool) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.mail_signature.is_empty() {
            query.append_pair("m", &self.mail_signature);
        }
        if let Some(relation) = self.relation {
            query.append_pair("as", relation.as_str());
        }
        if signed_up {
            query.append_pair("made", "1");
        }
        let query = query.finish();
        let separator = if query.is_empty() { "" } else { "?" };
        format!("/join/{}{separator}{query}", self.token)
    }

    fn frame(&self, guest: &Guest, title: impl Into<Cow<'static, str>>) -> Frame {
        Frame { club: Some(self.invitation.club.clone()), ..guest.frame(title) }
    }

    /// The title of the pages where the user accepts the invitation.
    fn join_frame(&self, guest: &Guest) -> Frame {
        self.frame(guest, t!("Join {club}", club = self.invitation.club))
    }

    /// The transaction scope of requests with this link.
    fn scope(&self, guest: &Guest, actor: impl ToString) -> Scope {
        guest.scope_in(self.invitation.account_id, actor)
    }

    /// The path of the sign-in page that returns to this step.
    fn sign_in_path(&self) -> String {
        format!("/sign-in?next={}", url_encode(&self.path()))
    }
}

#[derive(Template)]
#[template(path = "joining/choose_relation.html")]
struct ChooseRelation<'a> {
    frame: Frame,
    step: &'a Step,
}

#[derive(Template)]
#[template(path = "joining/sign_up.html")]
struct SignUp<'a> {
    frame: Frame,
    step: &'a Step,
    form: FilledForm,
}

const SIGN_UP: &[Field] = &[
    Field::hidden("m").page_only(),
    Field::hidden("as").page_only(),
    fields::NAME,
    fields::EMAIL.hint("You sign in with this address."),
    fields::FIRST_PASSWORD,
];
/// The form to sign in after signing up.
const SIGN_IN: &[Field] = &[fields::NEXT, fields::EMAIL, fields::PASSWORD];

/// Asks a user who has just signed up to sign in.
#[derive(Template)]
#[template(path = "joining/signed_up.html")]
struct SignedUpPage<'a> {
    frame: Frame,
    step: &'a Step,
    form: FilledForm,
}

#[derive(Template)]
#[template(path = "joining/accept.html")]
struct Accept<'a> {
    frame: Frame,
    step: &'a Step,
    visit: &'a SessionLookup,
    /// Why this user cannot accept the invitation, if they cannot.
    refusal: Option<String>,
    /// Whether a mail server is configured.
    mail: bool,
    faults: Faults,
}

impl Accept<'_> {
    /// Whether the user signed in with an address other than the invited one.
    fn is_other_address(&self) -> bool {
        !self.step.invitation.is_for(&self.visit.email)
    }
}

#[derive(Template)]
#[template(path = "joining/choose_person.html")]
struct ChoosePerson<'a> {
    frame: Frame,
    step: &'a Step,
    relation: Relation,
    legend: &'static str,
    visit: &'a SessionLookup,
    choices: Vec<Choice>,
    faults: Faults,
}

async fn show(guest: Guest, PathParams(token): PathParams<String>) -> PageResult {
    let step = Step::load(&guest, &token, &guest.query()?).await?;
    let page = match (&guest.visit, step.invitation.team_id, step.relation) {
        (None, ..) if step.signed_up => {
            let frame = step.frame(&guest, t!("Sign in to continue"));
            let form = FilledForm::empty(SIGN_IN).with("next", step.path());
            page::html(StatusCode::OK, &SignedUpPage { frame, step: &step, form })?
        }
        (_, Some(_), None) => {
            let frame = step.join_frame(&guest);
            page::html(StatusCode::OK, &ChooseRelation { frame, step: &step })?
        }
        (None, ..) => {
            let form = FilledForm::empty(SIGN_UP).with("email", step.invitation.email());
            sign_up_page(&guest, &step, form)?
        }
        (Some(visit), ..) if visit.pending => {
            let next = url_encode(&step.path());
            return Err(PageError::Redirect(format!("/sign-in/code?next={next}")));
        }
        (Some(visit), None, _) => accept_page(&guest, &step, visit, Faults::default()).await?,
        (Some(visit), Some(_), Some(relation)) => {
            choose_person_page(&guest, &step, (visit, relation), Faults::default()).await?
        }
    };
    Ok(guest.with_cookie(page))
}

fn form_status(faults: &Faults) -> StatusCode {
    if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }
}

fn sign_up_page(guest: &Guest, step: &Step, form: FilledForm) -> Result<Response> {
    let relation = step.relation.map(StringEnum::as_str);
    let form = form
        .with("m", &*step.mail_signature)
        .with("as", relation.unwrap_or_default())
        .only_if(!step.mail_signature.is_empty(), "m")
        .only_if(relation.is_some(), "as");
    page::html(form.status(), &SignUp { frame: step.join_frame(guest), step, form })
}

async fn accept_page(
    guest: &Guest,
    step: &Step,
    visit: &SessionLookup,
    faults: Faults,
) -> Result<Response> {
    let (id, user) = (step.invitation.id, visit.user);
    let (mailed, matches) = (step.is_mailed, step.invitation.is_for(&visit.email));
    let mail = guest.app.direct_mailer.has_server();
    let check = move |db: &Reader<'_>| {
        let verified = user::find(db, user)?.email_verified_at.is_some();
        let is_confirmed = verified || (mailed && matches);
        let address = AddressCheck { matches, is_confirmed, can_confirm: mail };
        invitation::check_address(db, &invitation::find(db, id)?, address)
    };
    let refusal = match guest.app.db.read(step.scope(guest, user), check).await {
        Err(error) if error.code == Code::InvalidState => Some(error.detail.to_string()),
        checked => checked.map(|()| None)?,
    };
    let frame = step.join_frame(guest);
    page::html(form_status(&faults), &Accept { frame, step, visit, refusal, mail, faults })
}

async fn choose_person_page(
    guest: &Guest,
    step: &Step,
    (visit, relation): (&SessionLookup, Relation),
    faults: Faults,
) -> Result<Response> {
    let team = step.invitation.team_id.ok_or_else(invitation::link_expired)?;
    let id = step.invitation.id;
    let read = move |db: &Reader<'_>| {
        invitation::check_creator(db, &invitation::find(db, id)?)?;
        claim::choices(db, team, relation)
    };
    let choices = guest.app.db.read(step.scope(guest, visit.user), read).await?;
    let title = match relation {
        Relation::Guardian => t!("Who is your child?"),
        Relation::SamePerson => t!("Which player are you?"),
        Relation::Coach => t!("Are you on the roster?"),
    };
    let frame = step.frame(guest, title);
    // Translators: followed by a list of names
    let legend = if relation == Relation::Guardian { t!("My child is") } else { t!("I am") };
    let code = form_status(&faults);
    page::html(code, &ChoosePerson { frame, step, relation, legend, visit, choices, faults })
}

/// Creates an account. The response does not reveal whether one existed already, unless the address is the invited
/// one. An existing account stays unchanged.
async fn sign_up(
    PathParams(token): PathParams<String>,
    GuestForm { guest, form }: GuestForm,
) -> PageResult {
    let step = Step::load(&guest, &token, &form).await?;
    if guest.visit.is_some() {
        return Ok(see_other(&step.path()));
    }
    guest.app.throttle.check(SIGN_UP_LIMIT, guest.context.address())?;
    let (name, email) = (form.text("name").to_owned(), form.text("email").to_owned());
    let password = form.get("password").unwrap_or_default();
    let hashed = guest.app.passwords.hash(password, &[&name, &email]).await;
    let mut form = FilledForm::submitted(SIGN_UP, &form);
    let Some(hash) = form.accept(hashed)? else {
        return Ok(sign_up_page(&guest, &step, form)?);
    };
    let (id, browser) = (step.invitation.id, guest.browser());
    let (mailed, signs_in) = (step.is_mailed, step.invitation.is_for(&email));
    let work = move |tx: &Tx<'_>| {
        let user = user::sign_up(tx, &email, &name, hash)?.id;
        if mailed && signs_in {
            // The user opened the link in the email to this address, which confirms it.
            user::verify_email(tx, user)?;
        }
        pending_invitations::record_sign_up(tx, id, user)?;
        if !signs_in {
            return Ok(None);
        }
        let entry = SignIn { user, method: Method::Password, browser, current_session: None };
        authentication::sign_in(tx, entry).map(|(_, token)| Some(token))
    };
    match guest.app.db.write(step.scope(&guest, id), work).await {
        Ok(Some(token)) => Ok(set_session_cookie(see_other(&step.path()), &token)),
        Ok(None) => Ok(see_other(&step.build_path(true))),
        Err(error) if error.code == Code::Taken => Ok(see_other(&step.build_path(true))),
        Err(error) if error.code == Code::ValidationFailed => {
            form.add_error(&error);
            Ok(sign_up_page(&guest, &step, form)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// The session of a user who has signed in completely. Others are redirected to the sign-in page.
fn require_signed_in(guest: &Guest, step: &Step) -> PageResult<SessionLookup> {
    match &guest.visit {
        Some(visit) if !visit.pending => Ok(visit.clone()),
        _ => Err(PageError::Redirect(step.sign_in_path())),
    }
}

/// Accepts a personal invitation.
async fn accept(
    PathParams(token): PathParams<String>,
    GuestForm { guest, form }: GuestForm,
) -> PageResult {
    let step = Step::load(&guest, &token, &form).await?;
    let visit = require_signed_in(&guest, &step)?;
    let (id, club) = (step.invitation.id, step.invitation.account_id);
    let (user, session) = (visit.user, visit.session);
    let address = (step.is_mailed, guest.app.direct_mailer.has_server());
    let work = move |tx: &Tx<'_>| {
        session::check_active(tx, session)?;
        let role = invitation::accept(tx, id, &user::find(tx, user)?, address)?;
        session::switch_club(tx, session, club)?;
        Ok(role)
    };
    match guest.app.db.write(step.scope(&guest, user), work).await {
        Ok(role) => Ok(redirect_joined(role)),
        Err(error) if is_form_error(&error) => {
            Ok(accept_page(&guest, &step, &visit, form_error(&error)).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Creates a claim.
async fn create_claim(
    PathParams(token): PathParams<String>,
    GuestForm { guest, form }: GuestForm,
) -> PageResult {
    let step = Step::load(&guest, &token, &form).await?;
    let visit = require_signed_in(&guest, &step)?;
    let relation = step.relation.ok_or_else(Error::not_found)?;
    let person = form.optional("person").map(str::parse).transpose();
    let person = person.map_err(|_| Error::not_found())?;
    let new = NewClaim { relation, person, note: form.optional("note").map(str::to_owned) };
    let (invitation, user, session) = (step.invitation.clone(), visit.user, visit.session);
    let work = move |tx: &Tx<'_>| {
        session::check_active(tx, session)?;
        claim::create(tx, &invitation, user, new)
    };
    match guest.app.db.write(step.scope(&guest, user), work).await {
        Ok(_) => Ok(see_other("/account/claims?done=asked")),
        Err(error) if is_form_error(&error) => {
            Ok(choose_person_page(&guest, &step, (&visit, relation), form_error(&error)).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Redirects a user who has just joined to their account or the admin area.
pub(super) fn redirect_joined(role: Role) -> Response {
    see_other(match role {
        Role::Member => "/account?done=joined",
        Role::Owner | Role::Admin => "/admin?done=joined",
    })
}

/// Whether the error is shown on the page of the form.
fn is_form_error(error: &Error) -> bool {
    matches!(error.code, Code::InvalidState | Code::Taken | Code::ValidationFailed)
}

/// The error as a message for the whole form.
fn form_error(error: &Error) -> Faults {
    let mut faults = Faults::default();
    let first = error.faults.first().map(|fault| fault.detail.clone());
    faults.add("", first.unwrap_or_else(|| error.detail.clone()));
    faults
}
