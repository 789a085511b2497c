//! The mail server: how it is reached, and what its answers mean for a letter.

use std::fs;
use std::time::Duration;

use lettre::transport::smtp::AsyncSmtpTransportBuilder as Builder;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{AsyncSmtpTransport, Error};
use lettre::{AsyncTransport, Message, Tokio1Executor};
use url::Url;

use crate::config::{BaseUrl, Config, SmtpUrl};

/// What has become of an attempt.
#[derive(Debug)]
pub enum Outcome {
    /// The server took the letter.
    Sent,
    /// It may go better later.
    Later(String),
    /// It will never go.
    Never(String),
}

/// A mail server.
#[derive(Clone)]
pub struct Server(AsyncSmtpTransport<Tokio1Executor>);

impl Server {
    /// The server of the settings, if there is one.
    pub fn new(config: &Config) -> Result<Option<Self>, String> {
        let Some(url) = config.smtp_url.as_ref().map(SmtpUrl::reveal) else { return Ok(None) };
        let mut builder = builder(url)?;
        if let Some(path) = &config.smtp_authority {
            let told = |error: String| format!("smtp_authority: {}: {error}", path.display());
            let pem = fs::read(path).map_err(|error| told(error.to_string()))?;
            let authority = Certificate::from_pem(&pem).map_err(|error| told(error.to_string()))?;
            builder = builder.tls(encryption(url, authority).map_err(|e| told(e.to_string()))?);
        }
        let host = config.base_url.as_ref().map(BaseUrl::host).unwrap_or_default();
        // A name tells a server more about us than the address of some inner network.
        if kit::contact::is_email(&format!("postmaster@{host}")) {
            builder = builder.hello_name(ClientId::Domain(host));
        }
        Ok(Some(Self(builder.build())))
    }

    /// Hands a letter over, within this time for the whole exchange.
    pub async fn send(&self, message: Message, patience: Duration) -> Outcome {
        let ascii = message.envelope().to().iter().all(|to| to.to_string().is_ascii());
        match tokio::time::timeout(patience, self.0.send(message)).await {
            Ok(Ok(_)) => Outcome::Sent,
            Ok(Err(error)) if is_final(&error, ascii) => Outcome::Never(error.to_string()),
            Ok(Err(error)) => Outcome::Later(error.to_string()),
            Err(_) => Outcome::Later("The mail server took too long.".to_owned()),
        }
    }

    /// Connects and signs in, and sends nothing.
    pub async fn greet(&self, patience: Duration) -> Result<(), String> {
        match tokio::time::timeout(patience, self.0.test_connection()).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err("it does not answer as a mail server".to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it takes too long".to_owned()),
        }
    }
}

/// Whether trying again is in vain. A refused password is our fault, not the letter's: it waits until
/// the settings are mended.
fn is_final(error: &Error, ascii: bool) -> bool {
    const PASSWORD: [&str; 4] = ["530", "534", "535", "538"];
    let refused = error.is_permanent()
        && error.status().is_none_or(|code| !PASSWORD.contains(&code.to_string().as_str()));
    // A server that takes no letters to an address like this one will not learn it soon.
    refused || (error.is_client() && !ascii)
}

/// How a server is reached, if the address says it in a way that cannot be misunderstood.
pub fn builder(url: &str) -> Result<Builder, String> {
    let address = Url::parse(url).map_err(|_| "this is not an address".to_owned())?;
    if !address.username().is_empty() && address.password().is_none() {
        return Err("a user needs a password".to_owned());
    }
    if !matches!(address.query(), None | Some("tls=required" | "tls=opportunistic")) {
        return Err("after ? only tls=required or tls=opportunistic can stand".to_owned());
    }
    AsyncSmtpTransport::<Tokio1Executor>::from_url(url)
        .map_err(|_| "this is not the address of a mail server".to_owned())
}

/// Whether a password goes over a network that anybody may listen to.
pub fn tells_password(url: &SmtpUrl) -> bool {
    let address = Url::parse(url.reveal());
    address.is_ok_and(|address| {
        let near = matches!(address.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let open = address.scheme() == "smtp" && address.query() != Some("tls=required");
        address.password().is_some() && open && !near
    })
}

/// Encryption as the address asks for it, with one more authority to believe.
fn encryption(url: &str, authority: Certificate) -> Result<Tls, Error> {
    let address = Url::parse(url).ok();
    let host = address.as_ref().and_then(Url::host_str).unwrap_or_default();
    let parameters = TlsParameters::builder(host.to_owned()).add_root_certificate(authority);
    let parameters = parameters.build()?;
    let asked = address.as_ref().map(|address| (address.scheme(), address.query()));
    Ok(match asked {
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
    fn a_password_in_the_open_is_noticed() {
        let told = |url: &str| {
            let mut source = Source::default();
            source.flags.insert("smtp_url".to_owned(), url.to_owned());
            source.flags.insert("base_url".to_owned(), "https://club.example.org".to_owned());
            tells_password(&Config::load(&source).unwrap().smtp_url.unwrap())
        };
        assert!(told("smtp://ana:hush@mail.example.org"));
        assert!(told("smtp://ana:hush@mail.example.org?tls=opportunistic"));
        for safe in [
            "smtp://ana:hush@mail.example.org?tls=required",
            "smtps://ana:hush@mail.example.org",
            "smtp://ana:hush@127.0.0.1:2525",
            "smtp://mail.example.org",
        ] {
            assert!(!told(safe), "{safe}");
        }
    }
}
