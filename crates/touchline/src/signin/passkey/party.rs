//! The relying party: what a browser is asked to prove with a passkey, and whether it did.
//!
//! Pure computation, too slow for a job of the database. The challenges are drawn by `webauthn_rp`
//! itself, which takes none from outside.

use kit::secret::sha256;
use serde_json::Value;
use webauthn_rp::bin::{Decode, Encode};
use webauthn_rp::request::auth::AuthenticationVerificationOptions;
use webauthn_rp::request::register::{
    CredProtect, Nickname, PublicKeyCredentialUserEntity, RegistrationVerificationOptions,
    UserHandle, Username,
};
use webauthn_rp::request::{AsciiDomain, PublicKeyCredentialDescriptor, RpId, TimedCeremony as _};
use webauthn_rp::response::register::{CompressedPubKey, DynamicState, StaticState};
use webauthn_rp::response::{AuthTransports, CredentialId, SentChallenge};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthentication, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions, Registration,
    RegistrationServerState,
};

use super::{Credential, Passkey};
use crate::config::BaseUrl;
use crate::error::{Code, Error, Result};
use crate::ids::UserId;

/// A user's id as authenticators keep it.
const HANDLE: usize = 16;

type PublicKey = CompressedPubKey<[u8; 32], [u8; 32], [u8; 48], Vec<u8>>;

/// This service, as passkeys know it: by the name of its host.
#[derive(Debug)]
pub struct Party {
    id: RpId,
    origin: String,
}

/// A question to a browser.
#[derive(Debug)]
pub struct Question {
    /// What the browser is told, in the words of the standard.
    pub options: Value,
    /// What the answer is compared with.
    pub state: Vec<u8>,
    /// By what the question is found again when it is answered.
    pub challenge: Challenge,
}

/// What makes a question different from every other.
#[derive(Debug, Clone, Copy)]
pub struct Challenge(u128);

impl Challenge {
    /// The challenge in one browser: a question is answered where it was asked, and nowhere else.
    pub fn hash(self, browser: &str) -> [u8; 32] {
        sha256(&[&self.0.to_le_bytes(), browser.as_bytes()].concat())
    }
}

impl From<SentChallenge> for Challenge {
    fn from(sent: SentChallenge) -> Self {
        Self(sent.0)
    }
}

/// A new passkey, as a browser tells of it.
#[derive(Debug)]
pub struct NewKey(Registration);

/// A proof with a passkey, as a browser tells of it.
#[derive(Debug)]
pub struct Proof(DiscoverableAuthentication<HANDLE>);

impl NewKey {
    /// Reads what `PublicKeyCredential.toJSON` makes.
    pub fn read(json: &str) -> Result<Self> {
        Registration::from_json_relaxed(json.as_bytes()).map(Self).map_err(|_| unreadable())
    }

    /// Which question it answers.
    pub fn challenge(&self) -> Result<Challenge> {
        self.0.challenge_relaxed().map(Into::into).map_err(|_| unreadable())
    }
}

impl Proof {
    /// Reads what `PublicKeyCredential.toJSON` makes.
    pub fn read(json: &str) -> Result<Self> {
        // `webauthn_rp` 0.3 takes a proof without a user for one, and panics when it looks for them.
        let plain: Value = serde_json::from_str(json).map_err(|_| unreadable())?;
        if !plain["response"]["userHandle"].is_string() {
            return Err(unreadable());
        }
        let read = DiscoverableAuthentication::from_json_relaxed(json.as_bytes());
        read.map(Self).map_err(|_| unreadable())
    }

    /// Which question it answers.
    pub fn challenge(&self) -> Result<Challenge> {
        self.0.challenge_relaxed().map(Into::into).map_err(|_| unreadable())
    }

    /// Which passkey it was made with.
    pub fn credential_id(&self) -> &[u8] {
        self.0.raw_id().into_inner()
    }
}

/// Whom a new passkey is for, as the browser shows them.
#[derive(Debug, Clone)]
pub struct Owner {
    pub id: UserId,
    pub email: String,
    pub name: String,
}

impl Party {
    /// The service at this address. A bare IP address has no passkeys: the standard wants a name.
    pub fn of(home: &BaseUrl) -> Option<Self> {
        let host = home.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if bare.parse::<std::net::IpAddr>().is_ok() {
            return None;
        }
        let id = RpId::Domain(AsciiDomain::try_from(host).ok()?);
        Some(Self { id, origin: home.origin() })
    }

    /// Asks for a new passkey beside those that the user has.
    pub fn ask_for_new(&self, owner: &Owner, known: &[Passkey]) -> Result<Question> {
        let handle = handle(owner.id);
        let transports = AuthTransports::decode(0).map_err(|e| kept_badly(&e))?;
        let mut has = Vec::with_capacity(known.len());
        for passkey in known {
            let id = CredentialId::<Vec<u8>>::decode(passkey.credential_id.clone());
            let id = id.map_err(|e| kept_badly(&e))?;
            has.push(PublicKeyCredentialDescriptor { id, transports });
        }
        // Browsers show both names when they offer the passkey. Not every name may stand there.
        let name = Username::try_from(owner.email.as_str());
        let name = name.or_else(|_| Username::try_from("member")).map_err(|e| kept_badly(&e))?;
        let display_name = Nickname::try_from(owner.name.as_str()).ok();
        let user = PublicKeyCredentialUserEntity { name, id: &handle, display_name };
        let mut asked = PublicKeyCredentialCreationOptions::passkey(&self.id, user, has);
        // Devices that do not know this protection could make none. We ask who holds the passkey anyway.
        asked.extensions.cred_protect = CredProtect::None;
        let (server, client) = asked.start_ceremony().map_err(|e| kept_badly(&e))?;
        Ok(Question {
            options: written(&client)?,
            state: server.encode().map_err(|e| kept_badly(&e))?,
            challenge: server.sent_challenge().into(),
        })
    }

    /// Takes a new passkey if it answers what was asked.
    pub fn accept(&self, state: &[u8], key: &NewKey) -> Result<Credential> {
        let asked = RegistrationServerState::<HANDLE>::decode(state).map_err(|e| kept_badly(&e))?;
        let rules = RegistrationVerificationOptions::<'_, '_, &str, &str> {
            allowed_origins: &[self.origin.as_str()],
            // Password managers tell more than they were asked for.
            error_on_unsolicited_extensions: false,
            ..Default::default()
        };
        let made = asked.verify(&self.id, &key.0, &rules).map_err(|e| refused(&e))?;
        let credential_id = made.id().into_inner().to_vec();
        Ok(Credential {
            credential_id,
            static_state: encoded(&made.static_state()),
            dynamic_state: encoded(&made.dynamic_state()).to_vec(),
            metadata: made.metadata().into_json(),
        })
    }

    /// Asks whoever is there to prove who they are, with any passkey of this service.
    pub fn ask_for_proof(&self) -> Result<Question> {
        let asked = DiscoverableCredentialRequestOptions::passkey(&self.id);
        let (server, client) = asked.start_ceremony().map_err(|e| kept_badly(&e))?;
        Ok(Question {
            options: written(&client)?,
            state: server.encode().map_err(|e| kept_badly(&e))?,
            challenge: server.sent_challenge().into(),
        })
    }

    /// Whether the proof answers what was asked, with this passkey and with its owner at the device. Hands
    /// out what is to be kept of the passkey from now on, such as how often it was used.
    pub fn check(&self, state: &[u8], proof: &Proof, passkey: &Passkey) -> Result<Vec<u8>> {
        let asked = DiscoverableAuthenticationServerState::decode(state);
        let asked = asked.map_err(|e| kept_badly(&e))?;
        let handle = handle(passkey.user_id);
        let mut known = AuthenticatedCredential::<'_, '_, HANDLE, PublicKey>::new(
            CredentialId::<&[u8]>::decode(&passkey.credential_id).map_err(|e| kept_badly(&e))?,
            &handle,
            StaticState::decode(&passkey.static_state).map_err(|e| kept_badly(&e))?,
            kept_dynamic(&passkey.dynamic_state)?,
        )
        .map_err(|e| kept_badly(&e))?;
        let rules = AuthenticationVerificationOptions::<'_, '_, &str, &str> {
            allowed_origins: &[self.origin.as_str()],
            error_on_unsolicited_extensions: false,
            ..Default::default()
        };
        asked.verify(&self.id, &proof.0, &mut known, &rules).map_err(|e| refused(&e))?;
        Ok(encoded(&known.dynamic_state()).to_vec())
    }
}

fn handle(user: UserId) -> UserHandle<HANDLE> {
    let Ok(handle) = UserHandle::decode(user.bits().to_be_bytes());
    handle
}

fn kept_dynamic(bytes: &[u8]) -> Result<DynamicState> {
    let bytes = bytes.try_into().map_err(|e| kept_badly(&e))?;
    DynamicState::decode(bytes).map_err(|e| kept_badly(&e))
}

fn encoded<T: Encode<Err = std::convert::Infallible>>(value: &T) -> T::Output<'_> {
    let Ok(bytes) = value.encode();
    bytes
}

fn written(options: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(options).map_err(|e| kept_badly(&e))
}

/// What we keep or make ourselves cannot be read: our fault, not the browser's.
fn kept_badly(cause: &dyn std::fmt::Display) -> Error {
    Error::internal(format!("a passkey: {cause}"))
}

fn refused(why: &dyn std::fmt::Display) -> Error {
    // It names no secret, only the rule that was broken.
    tracing::info!(%why, "a passkey was refused");
    Error::new(Code::InvalidCredentials, "This passkey could not be confirmed. Try again.")
}

fn unreadable() -> Error {
    Error::new(Code::InvalidRequest, "Your browser's answer about the passkey cannot be read.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_need_a_name() {
        for (host, known) in [
            ("localhost", true),
            ("club.example.org", true),
            ("127.0.0.1", false),
            ("[::1]", false),
        ] {
            assert_eq!(Party::of(&BaseUrl::local(host, 8080)).is_some(), known, "{host}");
        }
    }

    #[test]
    fn whoever_is_there_is_asked_to_prove_it() {
        let party = Party::of(&BaseUrl::local("localhost", 8080)).unwrap();
        let (one, other) = (party.ask_for_proof().unwrap(), party.ask_for_proof().unwrap());
        assert_eq!(one.options["userVerification"], "required");
        assert_eq!(one.options["rpId"], "localhost");
        assert_ne!(one.options["challenge"], other.options["challenge"]);
        assert_ne!(one.challenge.hash("a"), other.challenge.hash("a"));
        assert_ne!(one.challenge.hash("a"), one.challenge.hash("b"));
    }

    #[test]
    fn any_name_can_have_a_passkey() {
        let party = Party::of(&BaseUrl::local("localhost", 8080)).unwrap();
        for (email, name) in
            [("ana@example.org", "Ana"), ("\"a b\"@x.org", "\u{202e}<b>"), ("a+b@x.org", "")]
        {
            let owner = Owner { id: UserId::LEAST, email: email.into(), name: name.into() };
            let asked = party.ask_for_new(&owner, &[]).unwrap().options;
            assert_eq!(asked["attestation"], "none");
            assert!(!asked.to_string().contains("redentialProtectionPolicy"), "{asked}");
            assert_eq!(asked["authenticatorSelection"]["residentKey"], "required");
            assert_eq!(asked["authenticatorSelection"]["userVerification"], "required");
        }
    }
}
