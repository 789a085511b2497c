//! The SMTP client: connection settings, and which errors are worth a retry.

use std::fs;
use std::time::Duration;

use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{AsyncSmtpTransport, Error};
use lettre::{AsyncTransport, Message, Tokio1Executor};
use url::Url;

use crate::config::{BaseUrl, Config, SmtpUrl, smtp_builder};

/// The outcome of one attempt to send an email.
#[derive(Debug)]
pub enum SendOutcome {
    /// The server accepted the email.
    Sent,
    /// A retry may succeed. Holds the reason.
    TemporaryFailure(String),
    /// A retry is pointless. Holds the reason.
    PermanentFailure(String),
}

/// A connection pool to the mail server.
#[derive(Clone)]
pub struct Server(AsyncSmtpTransport<Tokio1Executor>);

impl Server {
    /// The server of the configuration, if there is one.
    pub fn new(config: &Config) -> Result<Option<Self>, String> {
        let Some(url) = config.smtp_url.as_ref().map(SmtpUrl::reveal) else { return Ok(None) };
        let mut builder = smtp_builder(url)?;
        if let Some(path) = &config.smtp_authority {
            let describe = |error: String| format!("smtp_authority: {}: {error}", path.display());
            let pem = fs::read(path).map_err(|e| describe(e.to_string()))?;
            let authority = Certificate::from_pem(&pem).map_err(|e| describe(e.to_string()))?;
            builder =
                builder.tls(tls_settings(url, authority).map_err(|e| describe(e.to_string()))?);
        }
        let host = config.base_url.as_ref().map(BaseUrl::host).unwrap_or_default();
        // Send the public host name in EHLO instead of an internal IP address.
        if kit::contact::is_email(&format!("postmaster@{host}")) {
            builder = builder.hello_name(ClientId::Domain(host));
        }
        Ok(Some(Self(builder.build())))
    }

    /// Sends a message. `timeout` covers the whole exchange.
    pub async fn send(&self, message: Message, timeout: Duration) -> SendOutcome {
        let ascii = message.envelope().to().iter().all(|to| to.to_string().is_ascii());
        match tokio::time::timeout(timeout, self.0.send(message)).await {
            Ok(Ok(_)) => SendOutcome::Sent,
            Ok(Err(error)) if is_permanent_failure(&error, ascii) => {
                SendOutcome::PermanentFailure(error.to_string())
            }
            Ok(Err(error)) => SendOutcome::TemporaryFailure(error.to_string()),
            Err(_) => {
                SendOutcome::TemporaryFailure("The mail server did not respond in time.".to_owned())
            }
        }
    }

    /// Connects and authenticates, and sends nothing.
    pub async fn test_connection(&self, timeout: Duration) -> Result<(), String> {
        match tokio::time::timeout(timeout, self.0.test_connection()).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err("the server did not answer as a mail server".to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the server did not respond in time".to_owned()),
        }
    }
}

/// Whether a retry is pointless. Authentication errors are retried: they disappear when the operator corrects the
/// configuration.
fn is_permanent_failure(error: &Error, ascii: bool) -> bool {
    const AUTHENTICATION: [&str; 4] = ["530", "534", "535", "538"];
    let is_rejected = error.is_permanent()
        && error.status().is_none_or(|code| !AUTHENTICATION.contains(&code.to_string().as_str()));
    // A client error for a non-ASCII address: the server does not support SMTPUTF8.
    is_rejected || (error.is_client() && !ascii)
}

/// Whether the password is sent over a network without encryption being required.
pub fn sends_password_unencrypted(url: &SmtpUrl) -> bool {
    let parsed = Url::parse(url.reveal());
    parsed.is_ok_and(|url| {
        let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let is_unencrypted = url.scheme() == "smtp" && url.query() != Some("tls=required");
        url.password().is_some() && is_unencrypted && !is_local
    })
}

/// The TLS settings of an SMTP URL, with an additional trusted certificate authority.
fn tls_settings(url: &str, authority: Certificate) -> Result<Tls, Error> {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let parameters = TlsParameters::builder(host.to_owned()).add_root_certificate(authority);
    let parameters = parameters.build()?;
    Ok(match url.as_ref().map(|url| (url.scheme(), url.query())) {
        Some(("smtps", _)) => Tls::Wrapper(parameters),
        Some((_, Some("tls=required"))) => Tls::Required(parameters),
        Some((_, Some("tls=opportunistic"))) => Tls::Opportunistic(parameters),
        _ => Tls::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    #[test]
    fn unencrypted_passwords_are_detected() {
        let is_detected = |url: &str| {
            let mut source = Source::default();
            source.flags.insert("smtp_url".to_owned(), url.to_owned());
            source.flags.insert("base_url".to_owned(), "https://club.example.org".to_owned());
            sends_password_unencrypted(&Config::load(&source).unwrap().smtp_url.unwrap())
        };
        assert!(is_detected("smtp://ana:hush@mail.example.org"));
        assert!(is_detected("smtp://ana:hush@mail.example.org?tls=opportunistic"));
        for safe in [
            "smtp://ana:hush@mail.example.org?tls=required",
            "smtps://ana:hush@mail.example.org",
            "smtp://ana:hush@127.0.0.1:2525",
            "smtp://mail.example.org",
        ] {
            assert!(!is_detected(safe), "{safe}");
        }
    }
}
