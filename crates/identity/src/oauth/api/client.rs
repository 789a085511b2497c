//! Client authentication (RFC 6749 section 2.3).

use std::num::NonZeroU32;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::{ClientRequest, ErrorResponse};
use crate::error::Result as Outcome;
use crate::oauth::app::{self, App as Client};
use crate::oauth::error::{ErrorCode, OAuthError, OAuthResult};
use crate::oauth::parameters::form_decode;
use crate::oauth::secret;
use crate::prelude::*;
use crate::web::throttle::RateLimit;

/// The limit on failed authentications of an existing client from one IP address.
const FAILED_AUTHENTICATIONS: RateLimit =
    RateLimit { name: "oauth client", burst: 10, interval: Duration::from_secs(6) };
/// The limit on requests with unknown client ids from one IP address.
const UNKNOWN_CLIENTS: RateLimit =
    RateLimit { name: "unknown oauth client", ..FAILED_AUTHENTICATIONS };
/// How many times higher the request limit of confidential clients is. They send requests for all their users.
const CONFIDENTIAL_FACTOR: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// An authenticated client.
pub(super) struct AuthenticatedClient {
    pub(super) client: Client,
    /// The secret it used, and whether to record its use.
    secret: Option<(ClientSecretId, bool)>,
}

/// The client credentials of a request, not verified yet.
struct ClientCredentials {
    id: String,
    secret: Option<String>,
    /// Whether they come from the `Authorization` header.
    basic: bool,
}

const INVALID_CLIENT: OAuthError =
    OAuthError::new(ErrorCode::InvalidClient, "Client authentication failed.");

/// Authenticates the client of a request.
pub(super) async fn authenticate(
    request: &ClientRequest,
) -> Result<AuthenticatedClient, ErrorResponse> {
    let credentials = parse_credentials(request)?;
    let invalid_client = || ErrorResponse { challenge: credentials.basic, ..INVALID_CLIENT.into() };
    let (throttle, address) = (&request.app.throttle, request.context.address());
    let id = credentials.id.clone();
    let find = move |db: &Reader<'_>| app::find_client(db, &id);
    let Some(client) = request.app.db.read_inline(Scope::system("client"), find).await? else {
        // Callers can make up client ids, so all unknown ones share the limit of the IP address.
        throttle.check(UNKNOWN_CLIENTS, address)?;
        return Err(invalid_client());
    };
    let limit_key = (address, credentials.id.as_str());
    throttle.peek(FAILED_AUTHENTICATIONS, limit_key)?;
    let account = client.account_id;
    let Some(known) = verify(request, &credentials, client).await? else {
        // Log once, when this failure exhausts the limit.
        if throttle.check(FAILED_AUTHENTICATIONS, limit_key).is_ok()
            && throttle.peek(FAILED_AUTHENTICATIONS, limit_key).is_err()
        {
            audit_throttled(request, &credentials, account);
        }
        return Err(invalid_client());
    };
    let quota = request.app.config.oauth_requests;
    let confidential = known.client.kind.is_confidential();
    let quota = if confidential { quota.saturating_mul(CONFIDENTIAL_FACTOR) } else { quota };
    throttle.check(RateLimit::per_minute("oauth tokens", quota), limit_key)?;
    Ok(known)
}

/// Verifies the credentials; `None` if they are wrong.
async fn verify(
    request: &ClientRequest,
    credentials: &ClientCredentials,
    client: Client,
) -> Outcome<Option<AuthenticatedClient>> {
    let value = match (credentials.secret.clone(), client.kind.is_confidential()) {
        (Some(value), true) => value,
        (None, false) => return Ok(Some(AuthenticatedClient { client, secret: None })),
        _ => return Ok(None),
    };
    let id = client.id;
    let scope = Scope::account(client.account_id, id.to_string());
    let verified =
        request.app.db.read_inline(scope, move |db| secret::verify(db, id, &value)).await?;
    Ok(verified.map(|secret| {
        let record_use = secret.should_record_use(request.app.clock.now());
        AuthenticatedClient { client, secret: Some((secret.id, record_use)) }
    }))
}

/// Writes an audit log entry that a client is throttled.
fn audit_throttled(request: &ClientRequest, credentials: &ClientCredentials, account: AccountId) {
    let (app, id) = (request.app.clone(), credentials.id.clone());
    let details = serde_json::json!({ "address": request.context.address().to_string() });
    let scope = Scope::account(account, "system").for_request(request.context.id());
    request.app.spawn(async move {
        let audit = move |tx: &Tx<'_>| tx.audit("oauth_client.throttled", &id, &details);
        if let Err(error) = app.db.write(scope, audit).await {
            tracing::warn!(cause = ?error.cause, "could not write a throttled OAuth client to the audit log");
        }
    });
}

impl AuthenticatedClient {
    /// The database scope of requests by this client.
    pub(super) fn scope(&self, request: &ClientRequest) -> Scope {
        let Client { account_id, id, .. } = &self.client;
        Scope::account(*account_id, id.to_string()).for_request(request.context.id())
    }

    /// Writes for this client, if its credentials are still valid in the transaction.
    pub(super) async fn write<T: Send + 'static>(
        self,
        request: &ClientRequest,
        work: impl FnOnce(&Tx<'_>, &Client) -> Outcome<OAuthResult<T>> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let scope = self.scope(request);
        let checked = move |tx: &Tx<'_>| match self.recheck(tx)? {
            Ok(()) => work(tx, &self.client),
            Err(error) => Ok::<_, Error>(Err(error)),
        };
        Ok(request.app.db.write(scope, checked).await??)
    }

    /// Checks inside the transaction that the app is still enabled and its secret was not revoked. Records the use of
    /// the secret if needed.
    fn recheck(&self, tx: &Tx<'_>) -> Outcome<OAuthResult<()>> {
        if app::find(tx, self.client.id)?.disabled_at.is_some() {
            return Ok(Err(INVALID_CLIENT));
        }
        let Some((id, record_use)) = self.secret else { return Ok(Ok(())) };
        if !secret::list_active(tx, self.client.id)?.iter().any(|secret| secret.id == id) {
            return Ok(Err(INVALID_CLIENT));
        }
        if record_use {
            secret::record_use(tx, id)?;
        }
        Ok(Ok(()))
    }
}

/// Reads the client credentials from the header or the body. Sending them in both is an error.
fn parse_credentials(request: &ClientRequest) -> OAuthResult<ClientCredentials> {
    let client_id = request.parameters.text("client_id")?;
    let secret = request.parameters.text("client_secret")?;
    let Some((id, password)) = parse_basic_auth(&request.headers)? else {
        let (id, secret) = (client_id.ok_or(INVALID_CLIENT)?.to_owned(), secret.map(str::to_owned));
        return Ok(ClientCredentials { id, secret, basic: false });
    };
    if secret.is_some() || client_id.is_some_and(|client_id| client_id != id) {
        let description = "Send the client credentials in the header or in the body, not in both.";
        return Err(OAuthError::invalid_request(description));
    }
    let secret = Some(password).filter(|text| !text.is_empty());
    Ok(ClientCredentials { id, secret, basic: true })
}

/// The user name and password of the `Authorization` header, each form-decoded (RFC 6749 section 2.3.1).
fn parse_basic_auth(headers: &HeaderMap) -> OAuthResult<Option<(String, String)>> {
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let malformed = OAuthError::invalid_request("The Authorization header is malformed.");
    if lines.next().is_some() {
        return Err(malformed);
    }
    let (scheme, text) = line.to_str().ok().and_then(|l| l.split_once(' ')).ok_or(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        let description = "The Authorization header must use the Basic scheme.";
        return Err(OAuthError::invalid_request(description));
    }
    let bytes = STANDARD.decode(text.trim()).map_err(|_| malformed)?;
    let colon = bytes.iter().position(|b| *b == b':').ok_or(malformed)?;
    let part = |bytes: &[u8]| String::from_utf8(form_decode(bytes)).map_err(|_| malformed);
    Ok(Some((part(&bytes[..colon])?, part(&bytes[colon + 1..])?)))
}
