//! TLS configuration for outgoing connections.
//!
//! The server's certificate must be signed by a public certificate authority, or by the one that the operator
//! configured. For PostgreSQL, `sslmode=require` in the URL turns TLS on; without it the connection is not encrypted,
//! which is fine on the same machine or in a private network.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Error, Result};

/// Builds a client configuration that trusts the public certificate authorities and the one in the given PEM file.
pub fn client_config(ca_file: Option<&Path>) -> std::result::Result<ClientConfig, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = ca_file {
        let with_path = |reason: String| format!("{}: {reason}", path.display());
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| with_path(error.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| with_path(error.to_string()))?;
            roots.add(certificate).map_err(|error| with_path(error.to_string()))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// Builds the same configuration for the PostgreSQL driver.
pub(crate) fn postgres_connector(ca_file: Option<&Path>) -> Result<MakeRustlsConnect> {
    client_config(ca_file).map(MakeRustlsConnect::new).map_err(Error::Unavailable)
}
