//! The value types of settings: how each is parsed and printed.

use std::fmt;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use kit::string_enum::StringEnum;
use kit::time::parse_duration;
use lettre::message::Mailbox;
use lettre::transport::smtp::AsyncSmtpTransportBuilder as Builder;
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use url::Url;

use crate::tier::Tier;

/// A text that is never printed or logged.
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

/// Requests per minute for each tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas([u32; Tier::ALL.len()]);

impl Quotas {
    /// Requests per minute for this tier.
    pub fn of(&self, tier: Tier) -> u32 {
        self.0[tier as usize]
    }
}

/// A type of setting.
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
    SocketAddr, "an IP address with a port, such as 127.0.0.1:8080";
    NonZeroUsize, "a whole number above zero";
    NonZeroU32, "a whole number above zero";
    String, "a text";
    Mailbox, "an email address such as Harbour FC <office@club.example.org>";
}

/// The base URL of a service, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// The base URL of a local service without encryption.
    pub fn local(host: &str, port: u16) -> Self {
        Self(format!("http://{host}:{port}"))
    }

    /// Its origin: scheme, host and port.
    pub fn origin(&self) -> String {
        let origin = Url::parse(&self.0).map(|url| url.origin().ascii_serialization());
        origin.unwrap_or_default()
    }

    /// The URL without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its host name.
    pub fn host(&self) -> String {
        let host = Url::parse(&self.0).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.unwrap_or_default()
    }
}

impl Setting for BaseUrl {
    fn read(text: &str) -> Result<Self, String> {
        let after = ["https://", "http://"].iter().find_map(|start| text.strip_prefix(start));
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        let valid = Url::parse(text).is_ok_and(|url| url.has_host());
        if after.is_some_and(|rest| !rest.is_empty()) && plain && valid {
            return Ok(Self(text.trim_end_matches('/').to_owned()));
        }
        Err(format!("{text:?} is not a URL such as https://club.example.org"))
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

/// A log filter in the syntax of `tracing`.
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
        let filter = tracing_subscriber::EnvFilter::try_new(text);
        filter.map(|_| Self(text.to_owned())).map_err(|error| error.to_string())
    }
    fn show(&self) -> String {
        self.0.clone()
    }
}

/// The URL of a database, which may contain a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseUrl(Secret);

impl DatabaseUrl {
    /// The URL including its password.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl Setting for DatabaseUrl {
    fn read(text: &str) -> Result<Self, String> {
        let file =
            text.strip_prefix("sqlite:").is_some_and(|path| !path.is_empty() && path != ":memory:");
        let server = text.starts_with("postgres://") || text.starts_with("postgresql://");
        let hint = "use sqlite:PATH or postgres://USER@HOST/DATABASE";
        if file || server { Ok(Self(Secret(text.to_owned()))) } else { Err(hint.to_owned()) }
    }
    fn show(&self) -> String {
        self.0.show()
    }
}

/// Where uploaded files are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileLocation {
    /// In the data directory.
    Local,
    /// In an S3 bucket, below a prefix that may be empty.
    Bucket { name: String, prefix: String },
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Bucket { name, prefix } if prefix.is_empty() => write!(f, "s3://{name}"),
            Self::Bucket { name, prefix } => write!(f, "s3://{name}/{prefix}"),
        }
    }
}

impl Setting for FileLocation {
    fn read(text: &str) -> Result<Self, String> {
        if text == "local" {
            return Ok(Self::Local);
        }
        let is_plain = |part: &str, more: &[u8]| {
            let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || more.contains(&b);
            part.bytes().all(allowed)
        };
        let rest = text.strip_prefix("s3://").map(|rest| rest.trim_end_matches('/'));
        let (name, prefix) =
            rest.map_or(("", ""), |rest| rest.split_once('/').unwrap_or((rest, "")));
        let mut parts = prefix.split('/').filter(|_| !prefix.is_empty());
        let is_folder = |part: &str| {
            let part = part.to_ascii_lowercase();
            !part.trim_matches('.').is_empty() && is_plain(&part, b"-_.")
        };
        if name.len() < 3 || !is_plain(name, b"-.") || !parts.all(is_folder) {
            return Err(format!("{text:?} is neither local nor s3://BUCKET/PREFIX"));
        }
        Ok(Self::Bucket { name: name.to_owned(), prefix: prefix.to_owned() })
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// The URL of a mail server, which may contain a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpUrl(Secret);

impl SmtpUrl {
    /// The URL including its password.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl Setting for SmtpUrl {
    fn read(text: &str) -> Result<Self, String> {
        // The message does not repeat the URL, which may contain a password.
        let hint = "use smtp://USER:PASSWORD@HOST:587?tls=required, smtps://USER:PASSWORD@HOST or smtp://HOST:25";
        smtp_builder(text)
            .map(|_| Self(Secret(text.to_owned())))
            .map_err(|reason| format!("{reason}; {hint}"))
    }
    fn show(&self) -> String {
        self.0.show()
    }
}

/// The transport settings of an SMTP URL. Rejects URLs that are ambiguous.
pub fn smtp_builder(url: &str) -> Result<Builder, String> {
    let parsed = Url::parse(url).map_err(|_| "this is not a URL".to_owned())?;
    if !parsed.username().is_empty() && parsed.password().is_none() {
        return Err("the URL has a user name but no password".to_owned());
    }
    if !matches!(parsed.query(), None | Some("tls=required" | "tls=opportunistic")) {
        return Err("the query must be tls=required or tls=opportunistic".to_owned());
    }
    AsyncSmtpTransport::<Tokio1Executor>::from_url(url)
        .map_err(|_| "this is not the URL of a mail server".to_owned())
}

/// Several values, separated by commas.
impl<T: Setting> Setting for Vec<T> {
    fn read(text: &str) -> Result<Self, String> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(T::read).collect()
    }
    fn show(&self) -> String {
        self.iter().map(Setting::show).collect::<Vec<_>>().join(",")
    }
}

/// A retry schedule. The first attempt is immediate.
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
            _ => Err("the first attempt is immediate: begin with 0s, such as 0s,5s,5m".to_owned()),
        }
    }
    fn show(&self) -> String {
        self.0.show()
    }
}

/// The timeout of a delivery attempt. It is at most 20 seconds, because the attempts of a node that has died
/// are taken over only after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub Duration);

impl Setting for Timeout {
    fn read(text: &str) -> Result<Self, String> {
        let time = Duration::read(text)?;
        let valid = (Duration::from_millis(100)..=Duration::from_secs(20)).contains(&time);
        if valid { Ok(Self(time)) } else { Err("use a time between 100ms and 20s".to_owned()) }
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
            .map_err(|_| format!("{text:?} is not a duration such as 60s, 5m, 24h or 30d"))
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

impl Setting for IpNet {
    fn read(text: &str) -> Result<Self, String> {
        read_net(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// Parses a network in CIDR notation, or a single address.
pub fn read_net(text: &str) -> Result<IpNet, String> {
    let single = || text.parse::<std::net::IpAddr>().ok().map(IpNet::from);
    let net = text.parse().ok().or_else(single);
    net.ok_or_else(|| format!("{text:?} is not a network such as 10.0.0.0/8"))
}

impl Setting for Quotas {
    fn read(text: &str) -> Result<Self, String> {
        let invalid = || format!("{text:?} is not a list such as free=60,club=600,league=6000");
        let mut quotas = DEFAULT_QUOTAS;
        for pair in text.split(',') {
            let (tier, quota) = pair.split_once('=').ok_or_else(invalid)?;
            let tier = Tier::parse(tier.trim()).ok_or_else(invalid)?;
            let quota = quota.trim().parse().ok().filter(|quota| *quota > 0);
            quotas[tier as usize] = quota.ok_or_else(invalid)?;
        }
        Ok(Self(quotas))
    }
    fn show(&self) -> String {
        let pair = |(tier, word): &(Tier, &str)| format!("{word}={}", self.of(*tier));
        Tier::ALL.iter().map(pair).collect::<Vec<_>>().join(",")
    }
}

const DEFAULT_QUOTAS: [u32; Tier::ALL.len()] = [60, 600, 6000];
