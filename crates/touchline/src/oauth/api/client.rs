//! Which app asks, and whether it is that app.

use std::num::NonZeroU32;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use store::{Reader, Scope, Tx};

use super::{Failure, Sent};
use crate::error::Result as Outcome;
use crate::ids::ClientSecretId;
use crate::oauth::app::{self, App as Client};
use crate::oauth::parameters::decoded;
use crate::oauth::refusal::{Refusal, Told, Word};
use crate::oauth::secret;
use crate::signals::Tell;
use crate::web::pace::Pace;

/// So often a minute an app at one address may fail to say who it is.
const FAILURES: Pace = Pace { what: "oauth client", burst: 10, every: Duration::from_secs(6) };
/// So many times as often as others an app may ask that has a secret: it asks for all of its users.
const SERVERS: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// An app that is who it says.
pub(super) struct Known {
    pub(super) client: Client,
    /// The secret it used, if that is still to be noted.
    used: Option<ClientSecretId>,
}

/// Who an app says it is.
struct Claim {
    id: String,
    secret: Option<String>,
    /// Whether it said so in the header.
    basic: bool,
}

const WRONG: Refusal = Refusal::new(Word::InvalidClient, "The client is not known, or not proven.");

/// The app that sent this.
pub(super) async fn known(sent: &Sent) -> Result<Known, Failure> {
    let claim = claimed(sent)?;
    let (paces, place) = (&sent.app.paces, (sent.context.address(), claim.id.as_str()));
    paces.peek(FAILURES, place)?;
    let found = look(sent, &claim).await?;
    let Some(known) = found else {
        // The last failure that is allowed for now.
        if paces.take(FAILURES, place).is_ok() && paces.peek(FAILURES, place).is_err() {
            note_throttled(sent, &claim);
        }
        return Err(Failure { challenge: claim.basic, ..WRONG.into() });
    };
    let quota = sent.app.config.oauth_requests;
    let confidential = known.client.kind.is_confidential();
    let quota = if confidential { quota.saturating_mul(SERVERS) } else { quota };
    paces.take(Pace::per_minute("oauth tokens", quota), place)?;
    Ok(known)
}

async fn look(sent: &Sent, claim: &Claim) -> Outcome<Option<Known>> {
    let id = claim.id.clone();
    let find = move |db: &Reader<'_>| app::find_client(db, &id);
    let db = &sent.app.db;
    let Some(client) = db.glance(Scope::system("client"), find).await? else { return Ok(None) };
    let Some(told) = claim.secret.clone() else {
        let public = !client.kind.is_confidential();
        return Ok(public.then_some(Known { client, used: None }));
    };
    if !client.kind.is_confidential() {
        return Ok(None);
    }
    let id = client.id;
    let scope = Scope::account(client.account_id, id.to_string());
    let verified = db.glance(scope, move |db| secret::verify(db, id, &told)).await?;
    Ok(verified.map(|secret| {
        let used = secret.is_due(sent.app.clock.now()).then_some(secret.id);
        Known { client, used }
    }))
}

/// Enters in the log that somebody guesses, once for every time they are stopped.
fn note_throttled(sent: &Sent, claim: &Claim) {
    let (app, id) = (sent.app.clone(), claim.id.clone());
    let request = sent.context.id().to_owned();
    let details = serde_json::json!({ "address": sent.context.address().to_string() });
    sent.app.spawn(async move {
        let find = move |db: &Reader<'_>| app::find_client(db, &id);
        let found = app.db.read(Scope::system("client"), find).await;
        let Ok(Some(client)) = found else { return };
        let scope = Scope::account(client.account_id, "system").for_request(request);
        let enter =
            move |tx: &Tx<'_>| tx.audit("oauth_client.throttled", &client.id.to_string(), &details);
        if let Err(error) = app.db.write(scope, enter).await {
            tracing::warn!(cause = ?error.cause, "could not note that an app was throttled");
        }
    });
}

impl Known {
    /// Whose job it is when this app asks for something.
    pub(super) fn scope(&self, sent: &Sent) -> Scope {
        let scope = Scope::account(self.client.account_id, self.client.id.to_string());
        scope.for_request(sent.context.id())
    }

    /// Notes that its secret is in use, if that is due.
    pub(super) fn note(&self, tx: &Tx<'_>) -> Outcome<()> {
        self.used.map_or(Ok(()), |id| secret::touch(tx, id))
    }
}

/// Who it says it is: in the header, or in the body, but not in both.
fn claimed(sent: &Sent) -> Told<Claim> {
    let named = sent.parameters.text("client_id")?;
    let secret = sent.parameters.text("client_secret")?;
    let Some((id, password)) = basic(&sent.headers)? else {
        let id = named.ok_or(WRONG)?.to_owned();
        return Ok(Claim { id, secret: secret.map(str::to_owned), basic: false });
    };
    if secret.is_some() || named.is_some_and(|named| named != id) {
        let description = "Name the client in the header or in the body, not in both.";
        return Err(Refusal::invalid_request(description));
    }
    Ok(Claim { id, secret: Some(password).filter(|text| !text.is_empty()), basic: true })
}

/// Name and password of the header, each encoded as in a form.
fn basic(headers: &HeaderMap) -> Told<Option<(String, String)>> {
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let malformed = Refusal::invalid_request("The Authorization header cannot be read.");
    if lines.next().is_some() {
        return Err(malformed);
    }
    let (scheme, text) = line.to_str().ok().and_then(|l| l.split_once(' ')).ok_or(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(Refusal::invalid_request("The Authorization header must be Basic."));
    }
    let bytes = STANDARD.decode(text.trim()).map_err(|_| malformed)?;
    let colon = bytes.iter().position(|b| *b == b':').ok_or(malformed)?;
    let part = |bytes: &[u8]| String::from_utf8(decoded(bytes)).map_err(|_| malformed);
    Ok(Some((part(&bytes[..colon])?, part(&bytes[colon + 1..])?)))
}
