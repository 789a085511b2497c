//! TLS certificates for tests, valid and invalid.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A test certificate authority.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A new authority, which nothing trusts yet.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes its certificate as PEM and returns the path.
    pub fn save(&self, folder: &Path) -> PathBuf {
        let path = folder.join("authority.pem");
        std::fs::write(&path, self.0.pem()).unwrap();
        path
    }

    /// A server configuration with a certificate for this name, valid until the end of the year `until`.
    pub fn server(&self, name: &str, until: i32) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(until, 12, 31);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        config(certificate.der().clone(), &key)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// A server configuration with a self-signed certificate.
pub fn self_signed(name: &str) -> ServerConfig {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    config(params.self_signed(&key).unwrap().der().clone(), &key)
}

fn config(certificate: CertificateDer<'static>, key: &KeyPair) -> ServerConfig {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    config.with_single_cert(vec![certificate], key).unwrap()
}
