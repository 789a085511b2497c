//! Encrypted connections to other machines, whatever is asked of them.
//!
//! Whoever is connected to must prove who it is: by a public authority, or by the one whose certificate the
//! operator names. To PostgreSQL, `sslmode=require` in the address asks for it; without, the connection is
//! plain, which is right for the same machine or a private network.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Error, Result};

/// The means to encrypt, trusting public authorities and the given one.
pub fn trusting(authority: Option<&Path>) -> std::result::Result<ClientConfig, String> {
    let mut trusted = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = authority {
        let told = |why: String| format!("{}: {why}", path.display());
        let certificates = CertificateDer::pem_file_iter(path).map_err(|e| told(e.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| told(error.to_string()))?;
            trusted.add(certificate).map_err(|error| told(error.to_string()))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(config)
}

/// The same for PostgreSQL's driver.
pub(crate) fn connector(authority: Option<&Path>) -> Result<MakeRustlsConnect> {
    trusting(authority).map(MakeRustlsConnect::new).map_err(Error::Unavailable)
}
