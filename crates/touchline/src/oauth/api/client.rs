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
use crate::ids::{AccountId, ClientSecretId};
use crate::oauth::app::{self, App as Client};
use crate::oauth::parameters::decoded;
use crate::oauth::refusal::{Refusal, Told, Word};
use crate::oauth::secret;
use crate::signals::Tell;
use crate::web::pace::Pace;

/// How often a known client at one address may fail to authenticate.
const FAILURES: Pace = Pace { what: "oauth client", burst: 10, every: Duration::from_secs(6) };
/// How often one address may name clients that do not exist.
const UNKNOWN: Pace = Pace { what: "unknown oauth client", ..FAILURES };
/// So many times as often as others an app may ask that has a secret: it asks for all of its users.
const SERVERS: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// An app that is who it says.
pub(super) struct Known {
    pub(super) client: Client,
    /// The secret it used, and whether its use is still to be noted.
    secret: Option<(ClientSecretId, bool)>,
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
    let refused = || Failure { challenge: claim.basic, ..WRONG.into() };
    let (paces, address) = (&sent.app.paces, sent.context.address());
    let id = claim.id.clone();
    let find = move |db: &Reader<'_>| app::find_client(db, &id);
    let Some(client) = sent.app.db.glance(Scope::system("client"), find).await? else {
        // Anybody can make up a client id, so it names no place of its own: all unknown ones share the address's.
        paces.take(UNKNOWN, address)?;
        return Err(refused());
    };
    let place = (address, claim.id.as_str());
    paces.peek(FAILURES, place)?;
    let account = client.account_id;
    let Some(known) = proven(sent, &claim, client).await? else {
        // The last failure that is allowed for now.
        if paces.take(FAILURES, place).is_ok() && paces.peek(FAILURES, place).is_err() {
            note_throttled(sent, &claim, account);
        }
        return Err(refused());
    };
    let quota = sent.app.config.oauth_requests;
    let confidential = known.client.kind.is_confidential();
    let quota = if confidential { quota.saturating_mul(SERVERS) } else { quota };
    paces.take(Pace::per_minute("oauth tokens", quota), place)?;
    Ok(known)
}

/// The app, if the claim proves that it is the one that sent this.
async fn proven(sent: &Sent, claim: &Claim, client: Client) -> Outcome<Option<Known>> {
    let Some(told) = claim.secret.clone() else {
        let public = !client.kind.is_confidential();
        return Ok(public.then_some(Known { client, secret: None }));
    };
    if !client.kind.is_confidential() {
        return Ok(None);
    }
    let id = client.id;
    let scope = Scope::account(client.account_id, id.to_string());
    let verified = sent.app.db.glance(scope, move |db| secret::verify(db, id, &told)).await?;
    Ok(verified.map(|secret| {
        let due = secret.is_due(sent.app.clock.now());
        Known { client, secret: Some((secret.id, due)) }
    }))
}

/// Enters in the audit log that a client was throttled, once each time.
fn note_throttled(sent: &Sent, claim: &Claim, account: AccountId) {
    let (app, id) = (sent.app.clone(), claim.id.clone());
    let details = serde_json::json!({ "address": sent.context.address().to_string() });
    let scope = Scope::account(account, "system").for_request(sent.context.id());
    sent.app.spawn(async move {
        let enter = move |tx: &Tx<'_>| tx.audit("oauth_client.throttled", &id, &details);
        if let Err(error) = app.db.write(scope, enter).await {
            tracing::warn!(cause = ?error.cause, "could not write that a client was throttled");
        }
    });
}

impl Known {
    /// Whose job it is when this app asks for something.
    pub(super) fn scope(&self, sent: &Sent) -> Scope {
        let scope = Scope::account(self.client.account_id, self.client.id.to_string());
        scope.for_request(sent.context.id())
    }

    /// Checks inside the job that the app is still in service and its secret was not revoked, and notes the secret's use if
    /// that is due.
    pub(super) fn confirm(&self, tx: &Tx<'_>) -> Outcome<Told<()>> {
        if app::find(tx, self.client.id)?.disabled_at.is_some() {
            return Ok(Err(WRONG));
        }
        let Some((id, due)) = self.secret else { return Ok(Ok(())) };
        if !secret::live(tx, self.client.id)?.iter().any(|secret| secret.id == id) {
            return Ok(Err(WRONG));
        }
        if due {
            secret::touch(tx, id)?;
        }
        Ok(Ok(()))
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
