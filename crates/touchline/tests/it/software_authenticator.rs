//! A software authenticator for tests of passkeys: a key pair and a counter.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::Rng;
use kit::secret::sha256;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use testkit::{Value, json};

pub(crate) const ORIGIN: &str = "http://localhost:8080";
pub(crate) const PRESENT: u8 = 0x01;
pub(crate) const VERIFIED: u8 = 0x04;
pub(crate) const KEY_INCLUDED: u8 = 0x40;

/// A software authenticator with one passkey. Tests can falsify every part of its responses.
pub(crate) struct SoftwareAuthenticator {
    pub(crate) pair: EcdsaKeyPair,
    pub(crate) id: [u8; 32],
    pub(crate) handle: Value,
    pub(crate) counter: u32,
    pub(crate) origin: &'static str,
    pub(crate) host: &'static str,
    pub(crate) flags: u8,
}

impl SoftwareAuthenticator {
    pub(crate) fn new() -> Self {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let secret = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self {
            pair: EcdsaKeyPair::from_pkcs8(kind, secret.as_ref(), &random).unwrap(),
            id: Rng::system().bytes(),
            handle: Value::Null,
            counter: 7,
            origin: ORIGIN,
            host: "localhost",
            flags: PRESENT | VERIFIED,
        }
    }

    pub(crate) fn client_data(&self, kind: &str, options: &Value) -> String {
        let (challenge, origin) = (&options["challenge"], self.origin);
        json!({ "type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false })
            .to_string()
    }

    pub(crate) fn authenticator_data(&self, flags: u8) -> Vec<u8> {
        let mut data = sha256(self.host.as_bytes()).to_vec();
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        data
    }

    /// Creates the requested passkey.
    pub(crate) fn create_credential(&mut self, options: &Value) -> String {
        self.handle = options["user"]["id"].clone();
        let mut data = self.authenticator_data(self.flags | KEY_INCLUDED);
        data.extend([0; 16]);
        data.extend([0, 32]);
        data.extend(self.id);
        // An ES256 public key as CBOR: key type, algorithm, curve and point.
        let point = &self.pair.public_key().as_ref()[1..];
        data.extend([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32]);
        data.extend(&point[..32]);
        data.extend([0x22, 0x58, 32]);
        data.extend(&point[32..]);
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58".to_vec();
        object.push(u8::try_from(data.len()).unwrap());
        object.extend(data);
        self.credential(json!({
            "clientDataJSON": text(self.client_data("webauthn.create", options).as_bytes()),
            "attestationObject": text(&object),
            "transports": ["internal"],
        }))
    }

    /// Signs a challenge with the passkey.
    pub(crate) fn prove(&mut self, options: &Value) -> String {
        self.counter += 1;
        let client = self.client_data("webauthn.get", options);
        let data = self.authenticator_data(self.flags);
        let signed = [data.as_slice(), &sha256(client.as_bytes())].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &signed).unwrap();
        self.credential(json!({
            "clientDataJSON": text(client.as_bytes()),
            "authenticatorData": text(&data),
            "signature": text(signature.as_ref()),
            "userHandle": self.handle,
        }))
    }

    pub(crate) fn credential(&self, response: Value) -> String {
        let id = text(&self.id);
        json!({
            "id": id, "rawId": id, "type": "public-key", "clientExtensionResults": {},
            "authenticatorAttachment": "platform", "response": response,
        })
        .to_string()
    }
}

/// Bytes as base64url text.
pub(crate) fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
