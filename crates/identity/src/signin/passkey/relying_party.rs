//! The `WebAuthn` relying party: creates the options of a ceremony and verifies the browser's response.
//!
//! Pure computation, too slow for a database transaction. `webauthn_rp` generates the challenges itself; it does
//! not accept them from outside.

use kit::secret::sha256;
use webauthn_rp::bin::{Decode, Encode};
use webauthn_rp::request::auth::AuthenticationVerificationOptions;
use webauthn_rp::request::register::{
    CredProtect, Nickname, PublicKeyCredentialUserEntity, RegistrationVerificationOptions,
    UserHandle, Username,
};
use webauthn_rp::request::{AsciiDomain, PublicKeyCredentialDescriptor, RpId, TimedCeremony as _};
use webauthn_rp::response::register::{CompressedPubKey, DynamicState, StaticState};
use webauthn_rp::response::{AuthTransports, CredentialId};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthentication, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions, Registration,
    RegistrationServerState,
};

use super::{Passkey, VerifiedCredential};
use crate::config::BaseUrl;
use crate::prelude::*;

/// Length of a user handle, in bytes. It is the id of the user.
const USER_HANDLE_LENGTH: usize = 16;

type PublicKey = CompressedPubKey<[u8; 32], [u8; 32], [u8; 48], Vec<u8>>;

/// This service as a relying party, identified by its host name.
#[derive(Debug)]
pub struct RelyingParty {
    id: RpId,
    origin: String,
}

/// A ceremony that was started.
#[derive(Debug)]
pub struct StartedCeremony {
    /// The options for the browser, as `WebAuthn` defines them.
    pub options: Value,
    /// The state that the response is verified against.
    pub state: Vec<u8>,
    /// Identifies the ceremony when the response arrives.
    pub challenge: Challenge,
}

/// The random challenge of a ceremony.
#[derive(Debug, Clone, Copy)]
pub struct Challenge(u128);

impl Challenge {
    /// The key under which the ceremony is stored. It includes the browser's CSRF token, so that a ceremony can
    /// only be finished in the browser that started it.
    pub fn hash(self, csrf_token: &str) -> [u8; 32] {
        sha256(&[&self.0.to_le_bytes(), csrf_token.as_bytes()].concat())
    }
}

/// The browser's response to a registration ceremony.
#[derive(Debug)]
pub struct RegistrationResponse(Registration);

/// The browser's response to an authentication ceremony.
#[derive(Debug)]
pub struct AuthenticationResponse(DiscoverableAuthentication<USER_HANDLE_LENGTH>);

impl RegistrationResponse {
    /// Parses the output of `PublicKeyCredential.toJSON`.
    pub fn parse(json: &str) -> Result<Self> {
        Registration::from_json_relaxed(json.as_bytes()).map(Self).map_err(|_| invalid_response())
    }

    /// The challenge it responds to.
    pub fn challenge(&self) -> Result<Challenge> {
        self.0.challenge_relaxed().map(|sent| Challenge(sent.0)).map_err(|_| invalid_response())
    }
}

impl AuthenticationResponse {
    /// Parses the output of `PublicKeyCredential.toJSON`.
    pub fn parse(json: &str) -> Result<Self> {
        // `webauthn_rp` 0.3 accepts a response without a user handle, and panics when it reads the handle.
        let value: Value = serde_json::from_str(json).map_err(|_| invalid_response())?;
        if !value["response"]["userHandle"].is_string() {
            return Err(invalid_response());
        }
        let parsed = DiscoverableAuthentication::from_json_relaxed(json.as_bytes());
        parsed.map(Self).map_err(|_| invalid_response())
    }

    /// The challenge it responds to.
    pub fn challenge(&self) -> Result<Challenge> {
        self.0.challenge_relaxed().map(|sent| Challenge(sent.0)).map_err(|_| invalid_response())
    }

    /// The credential id of the passkey.
    pub fn credential_id(&self) -> &[u8] {
        self.0.raw_id().into_inner()
    }
}

impl RelyingParty {
    /// The relying party of this service. `None` for an IP address, because `WebAuthn` requires a host name.
    pub fn from_base_url(base_url: &BaseUrl) -> Option<Self> {
        let host = base_url.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if bare.parse::<std::net::IpAddr>().is_ok() {
            return None;
        }
        let id = RpId::Domain(AsciiDomain::try_from(host).ok()?);
        Some(Self { id, origin: base_url.origin() })
    }

    /// Starts the registration of a new passkey for a user, whose email address and name the browser displays.
    /// `existing` are excluded, so that a device does not register twice.
    pub fn start_registration(
        &self,
        user: UserId,
        (email, name): (&str, &str),
        existing: &[Passkey],
    ) -> Result<StartedCeremony> {
        let handle = user_handle(user);
        let transports = AuthTransports::decode(0).map_err(invalid_data)?;
        let descriptor = |passkey: &Passkey| {
            let id = CredentialId::decode(passkey.credential_id.clone()).map_err(invalid_data)?;
            Ok(PublicKeyCredentialDescriptor { id, transports })
        };
        let exclude = existing.iter().map(descriptor).collect::<Result<Vec<_>>>()?;
        // Browsers show both names when they offer the passkey. WebAuthn does not allow every name here.
        let display_name = Nickname::try_from(name).ok();
        let name = Username::try_from(email).or_else(|_| Username::try_from("member"));
        let name = name.map_err(invalid_data)?;
        let user = PublicKeyCredentialUserEntity { name, id: &handle, display_name };
        let mut options = PublicKeyCredentialCreationOptions::passkey(&self.id, user, exclude);
        // Devices without the credProtect extension could not create a passkey if we required it. User
        // verification is required in any case.
        options.extensions.cred_protect = CredProtect::None;
        let (server, client) = options.start_ceremony().map_err(invalid_data)?;
        Ok(StartedCeremony {
            options: serde_json::to_value(&client).map_err(invalid_data)?,
            state: server.encode().map_err(invalid_data)?,
            challenge: Challenge(server.sent_challenge().0),
        })
    }

    /// Verifies the response to a registration and returns the new passkey.
    pub fn finish_registration(
        &self,
        state: &[u8],
        response: &RegistrationResponse,
    ) -> Result<VerifiedCredential> {
        let ceremony =
            RegistrationServerState::<USER_HANDLE_LENGTH>::decode(state).map_err(invalid_data)?;
        let rules = RegistrationVerificationOptions::<'_, '_, &str, &str> {
            allowed_origins: &[self.origin.as_str()],
            // Password managers send extensions that were not requested.
            error_on_unsolicited_extensions: false,
            ..Default::default()
        };
        let registered =
            ceremony.verify(&self.id, &response.0, &rules).map_err(verification_failed)?;
        Ok(VerifiedCredential {
            credential_id: registered.id().into_inner().to_vec(),
            static_state: encode(&registered.static_state()),
            dynamic_state: encode(&registered.dynamic_state()).to_vec(),
            metadata: registered.metadata().into_json(),
        })
    }

    /// Starts an authentication with any passkey of this service (a discoverable credential).
    pub fn start_authentication(&self) -> Result<StartedCeremony> {
        let options = DiscoverableCredentialRequestOptions::passkey(&self.id);
        let (server, client) = options.start_ceremony().map_err(invalid_data)?;
        Ok(StartedCeremony {
            options: serde_json::to_value(&client).map_err(invalid_data)?,
            state: server.encode().map_err(invalid_data)?,
            challenge: Challenge(server.sent_challenge().0),
        })
    }

    /// Verifies the response to an authentication with this passkey, including user verification. Returns the
    /// passkey's new dynamic state.
    pub fn finish_authentication(
        &self,
        state: &[u8],
        response: &AuthenticationResponse,
        passkey: &Passkey,
    ) -> Result<Vec<u8>> {
        let ceremony =
            DiscoverableAuthenticationServerState::decode(state).map_err(invalid_data)?;
        let handle = user_handle(passkey.user_id);
        let dynamic_state = passkey.dynamic_state.as_slice().try_into().map_err(invalid_data)?;
        let mut credential = AuthenticatedCredential::<'_, '_, USER_HANDLE_LENGTH, PublicKey>::new(
            CredentialId::<&[u8]>::decode(&passkey.credential_id).map_err(invalid_data)?,
            &handle,
            StaticState::decode(&passkey.static_state).map_err(invalid_data)?,
            DynamicState::decode(dynamic_state).map_err(invalid_data)?,
        )
        .map_err(invalid_data)?;
        let rules = AuthenticationVerificationOptions::<'_, '_, &str, &str> {
            allowed_origins: &[self.origin.as_str()],
            error_on_unsolicited_extensions: false,
            ..Default::default()
        };
        ceremony
            .verify(&self.id, &response.0, &mut credential, &rules)
            .map_err(verification_failed)?;
        Ok(encode(&credential.dynamic_state()).to_vec())
    }
}

fn user_handle(user: UserId) -> UserHandle<USER_HANDLE_LENGTH> {
    let Ok(handle) = UserHandle::decode(user.bits().to_be_bytes());
    handle
}

fn encode<T: Encode<Err = std::convert::Infallible>>(value: &T) -> T::Output<'_> {
    let Ok(bytes) = value.encode();
    bytes
}

/// The error for stored or generated data that is invalid: a fault of the service, not of the browser.
fn invalid_data(cause: impl std::fmt::Display) -> Error {
    Error::internal(format!("invalid passkey data: {cause}"))
}

fn verification_failed(reason: impl std::fmt::Display) -> Error {
    // The reason contains no secret, only the rule that failed.
    tracing::info!(%reason, "passkey verification failed");
    Error::new(Code::InvalidCredentials, "The passkey could not be verified. Try again.")
}

fn invalid_response() -> Error {
    Error::new(Code::InvalidRequest, "Your browser sent an invalid passkey response. Try again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_require_a_host_name() {
        for (host, supported) in [
            ("localhost", true),
            ("club.example.org", true),
            ("127.0.0.1", false),
            ("[::1]", false),
        ] {
            assert_eq!(
                RelyingParty::from_base_url(&BaseUrl::local(host, 8080)).is_some(),
                supported,
                "{host}"
            );
        }
    }

    #[test]
    fn authentication_requires_user_verification_and_a_unique_challenge() {
        let party = RelyingParty::from_base_url(&BaseUrl::local("localhost", 8080)).unwrap();
        let (first, second) =
            (party.start_authentication().unwrap(), party.start_authentication().unwrap());
        assert_eq!(first.options["userVerification"], "required");
        assert_eq!(first.options["rpId"], "localhost");
        assert_ne!(first.options["challenge"], second.options["challenge"]);
        assert_ne!(first.challenge.hash("a"), second.challenge.hash("a"));
        assert_ne!(first.challenge.hash("a"), first.challenge.hash("b"));
    }

    #[test]
    fn users_with_any_name_can_register_a_passkey() {
        let party = RelyingParty::from_base_url(&BaseUrl::local("localhost", 8080)).unwrap();
        for (email, name) in
            [("ana@example.org", "Ana"), ("\"a b\"@x.org", "\u{202e}<b>"), ("a+b@x.org", "")]
        {
            let started = party.start_registration(UserId::MIN, (email, name), &[]);
            let options = started.unwrap().options;
            assert_eq!(options["attestation"], "none");
            assert!(!options.to_string().contains("redentialProtectionPolicy"), "{options}");
            assert_eq!(options["authenticatorSelection"]["residentKey"], "required");
            assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
        }
    }
}
