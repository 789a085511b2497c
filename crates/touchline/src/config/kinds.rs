//! The kinds of value a setting can have: how each is read, and how it is shown.

use std::fmt;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use kit::time::parse_duration;
use kit::word::Word;
use lettre::message::Mailbox;
use url::Url;

use crate::accounts::account::Tier;
use crate::post::smtp;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Requests a minute for each tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas([u32; Tier::ALL.len()]);

impl Quotas {
    /// Requests a minute for this tier.
    pub fn of(&self, tier: Tier) -> u32 {
        self.0[tier as usize]
    }
}

/// A type that a setting can have.
pub(super) trait Setting: Sized {
    fn read(text: &str) -> Result<Self, String>;
    fn show(&self) -> String;
}

macro_rules! plain_setting {
    ($($type:ty, $wanted:literal);+ $(;)?) => {$(
        impl Setting for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("{text:?} is not {}", $wanted))
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+};
}
plain_setting! {
    SocketAddr, "an address with a port, such as 127.0.0.1:8080";
    NonZeroUsize, "a whole number above zero";
    NonZeroU32, "a whole number above zero";
}

/// The address under which people reach the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// The address of a service that is reached without encryption, on this machine or near it.
    pub fn local(host: &str, port: u16) -> Self {
        Self(format!("http://{host}:{port}"))
    }

    /// Its scheme, host and port: what a browser calls its origin.
    pub fn origin(&self) -> String {
        let origin = Url::parse(&self.0).map(|url| url.origin().ascii_serialization());
        origin.unwrap_or_default()
    }

    /// The address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the machine in it.
    pub fn host(&self) -> String {
        let host = Url::parse(&self.0).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.unwrap_or_default()
    }
}

impl Setting for BaseUrl {
    fn read(text: &str) -> Result<Self, String> {
        let web = ["https://", "http://"]
            .iter()
            .any(|start| text.len() > start.len() && text.starts_with(start));
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        let whole = Url::parse(text).is_ok_and(|url| url.has_host());
        let wrong = || format!("{text:?} is not an address such as https://club.example.org");
        if web && plain && whole {
            Ok(Self(text.trim_end_matches('/').to_owned()))
        } else {
            Err(wrong())
        }
    }
    fn show(&self) -> String {
        self.0.clone()
    }
}

impl std::str::FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Setting::read(text)
    }
}

/// What to log, as the log understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for LogFilter {
    fn read(text: &str) -> Result<Self, String> {
        let known = tracing_subscriber::EnvFilter::try_new(text);
        known.map(|_| Self(text.to_owned())).map_err(|error| error.to_string())
    }
    fn show(&self) -> String {
        self.0.clone()
    }
}

/// The address of a database, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseUrl(Secret);

impl DatabaseUrl {
    /// The address with its password.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl Setting for DatabaseUrl {
    fn read(text: &str) -> Result<Self, String> {
        let file =
            text.strip_prefix("sqlite:").is_some_and(|path| !path.is_empty() && path != ":memory:");
        let server = text.starts_with("postgres://") || text.starts_with("postgresql://");
        let wrong = "use sqlite:PATH or postgres://USER@HOST/DATABASE";
        if file || server { Ok(Self(Secret(text.to_owned()))) } else { Err(wrong.to_owned()) }
    }
    fn show(&self) -> String {
        self.0.show()
    }
}

/// The address of a mail server, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpUrl(Secret);

impl SmtpUrl {
    /// The address, password and all.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl Setting for SmtpUrl {
    fn read(text: &str) -> Result<Self, String> {
        // The address is not told: it may hold a password.
        let wrong = "use smtp://USER:PASSWORD@HOST:587?tls=required, smtps://USER:PASSWORD@HOST or smtp://HOST:25";
        smtp::builder(text)
            .map(|_| Self(Secret(text.to_owned())))
            .map_err(|why| format!("{why}; {wrong}"))
    }
    fn show(&self) -> String {
        self.0.show()
    }
}

impl Setting for Mailbox {
    fn read(text: &str) -> Result<Self, String> {
        let wrong =
            |_| format!("{text:?} is not an address such as Harbour FC <office@club.example.org>");
        text.parse().map_err(wrong)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for Vec<Duration> {
    fn read(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(Duration::read).collect()
    }
    fn show(&self) -> String {
        self.iter().map(Setting::show).collect::<Vec<_>>().join(",")
    }
}

/// When something is tried: at once, and then again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule(Vec<Duration>);

impl Schedule {
    /// How long to wait before each new attempt, after the first.
    pub fn retries(&self) -> &[Duration] {
        self.0.get(1..).unwrap_or_default()
    }
}

impl Setting for Schedule {
    fn read(text: &str) -> Result<Self, String> {
        let times = Vec::<Duration>::read(text)?;
        match times.first() {
            Some(&Duration::ZERO) => Ok(Self(times)),
            _ => Err("the first attempt comes at once: begin with 0s, such as 0s,5s,5m".to_owned()),
        }
    }
    fn show(&self) -> String {
        self.0.show()
    }
}

/// How long an attempt to deliver may take. A node that dies is taken for dead only after that, so it is not long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub Duration);

impl Setting for Timeout {
    fn read(text: &str) -> Result<Self, String> {
        let time = Duration::read(text)?;
        let fine = (Duration::from_millis(100)..=Duration::from_secs(20)).contains(&time);
        if fine { Ok(Self(time)) } else { Err("use 100ms to 20s".to_owned()) }
    }
    fn show(&self) -> String {
        self.0.show()
    }
}

impl Setting for PathBuf {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("a path must not be empty".to_owned()) } else { Ok(text.into()) }
    }
    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Setting for Duration {
    fn read(text: &str) -> Result<Self, String> {
        parse_duration(text)
            .map_err(|_| format!("{text:?} is not a time such as 60s, 5m, 24h or 30d"))
    }
    fn show(&self) -> String {
        format!("{}s", self.as_secs())
    }
}

impl Setting for Secret {
    fn read(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
    fn show(&self) -> String {
        "(hidden)".to_owned()
    }
}

impl<T: Setting> Setting for Option<T> {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() { Ok(None) } else { T::read(text).map(Some) }
    }
    fn show(&self) -> String {
        self.as_ref().map(Setting::show).unwrap_or_default()
    }
}

impl Setting for Vec<IpNet> {
    fn read(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(read_net).collect()
    }
    fn show(&self) -> String {
        self.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

/// Reads a network; an address alone is a network of one.
pub fn read_net(text: &str) -> Result<IpNet, String> {
    let alone = || text.parse::<std::net::IpAddr>().ok().map(IpNet::from);
    let net = text.parse().ok().or_else(alone);
    net.ok_or_else(|| format!("{text:?} is not a network such as 10.0.0.0/8"))
}

impl Setting for Quotas {
    fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a list such as free=60,club=600,league=6000");
        let mut quotas = DEFAULT_QUOTAS;
        for pair in text.split(',') {
            let (tier, quota) = pair.split_once('=').ok_or_else(wrong)?;
            let tier = Tier::parse(tier.trim()).ok_or_else(wrong)?;
            let quota = quota.trim().parse().ok().filter(|quota| *quota > 0);
            quotas[tier as usize] = quota.ok_or_else(wrong)?;
        }
        Ok(Self(quotas))
    }
    fn show(&self) -> String {
        let pair = |(tier, word): &(Tier, &str)| format!("{word}={}", self.of(*tier));
        Tier::ALL.iter().map(pair).collect::<Vec<_>>().join(",")
    }
}

const DEFAULT_QUOTAS: [u32; Tier::ALL.len()] = [60, 600, 6000];
