//! The settings. One table declares the name, default and description of each; flags, environment variables and the
//! configuration file follow from it.
//!
//! A flag takes precedence over `TOUCHLINE_*`, which takes precedence over the file, which takes precedence over the
//! default. All errors are reported, not only the first. Only this file reads the environment.

mod kinds;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ipnet::IpNet;
use lettre::message::Mailbox;

use kinds::Setting;
pub use kinds::{
    BaseUrl, DatabaseUrl, FileLocation, LogFilter, Quotas, Schedule, Secret, SmtpUrl, Timeout,
    read_net, smtp_builder,
};

/// The declaration of a setting.
#[derive(Debug)]
pub struct SettingInfo {
    /// Its name in the file. Flags use dashes, environment variables capitals.
    pub name: &'static str,
    pub doc: &'static [&'static str],
    pub default: &'static str,
    /// Whether the value may also come from the file named by `TOUCHLINE_…_FILE`.
    pub secret: bool,
}

impl SettingInfo {
    /// The name of the environment variable.
    pub fn variable(&self) -> String {
        format!("TOUCHLINE_{}", self.name.to_uppercase())
    }

    /// The name of the flag, without the dashes in front.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:literal $($secret:ident)?;)+) => {
        /// The settings of the service.
        #[derive(Debug, Clone)]
        pub struct Config {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        /// Every setting, in the order of the sample file.
        pub const SETTINGS: &[SettingInfo] = &[$(SettingInfo {
            name: stringify!($name),
            doc: &[$($doc),+],
            default: $default,
            secret: settings!(@secret $($secret)?),
        }),+];

        impl Config {
            /// Reads every setting from `source`, or takes its default.
            fn build(source: &Source) -> Result<Self, Vec<String>> {
                let mut faults = source.faults.clone();
                let mut infos = SETTINGS.iter();
                $(let $name = source.read::<$type>(infos.next().expect("one each"), &mut faults);)+
                match ($($name,)+) {
                    ($(Some($name),)+) if faults.is_empty() => Ok(Self { $($name),+ }),
                    _ => Err(faults),
                }
            }

            /// All settings with their values. Secrets are hidden.
            pub fn display_values(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($name), display_value(stringify!($name), self.$name.show())),)+]
            }
        }
    };
    (@secret secret) => { true };
    (@secret) => { false };
}

settings! {
    /// The address to listen on. Port 0 picks a free port.
    listen: SocketAddr = "127.0.0.1:8080";
    /// The directory for the database, backups and keys.
    data: PathBuf = "./touchline-data";
    /// `sqlite:PATH` or `postgres://USER:PASSWORD@HOST/DATABASE`. Empty: `touchline.db` in the data directory.
    database: Option<DatabaseUrl> = "" secret;
    /// Where uploaded files are stored: `local` (the directory `files` in the data directory) or
    /// `s3://BUCKET/PREFIX`.
    files: FileLocation = "local";
    /// The URL of the S3 service, such as `https://s3.example.org`. Empty: that of Amazon.
    files_endpoint: Option<BaseUrl> = "";
    /// The region of the S3 bucket.
    files_region: String = "us-east-1";
    /// The ID of the access key for the S3 bucket.
    files_access_key: Option<Secret> = "" secret;
    /// The secret access key for the S3 bucket.
    files_secret_key: Option<Secret> = "" secret;
    /// The public URL of the service, such as `https://club.example.org`.
    base_url: Option<BaseUrl> = "";
    /// Requests per minute and account, by tier.
    rate_limits: Quotas = "free=60,club=600,league=6000";
    /// Failed attempts with an API key, access token or calendar link, per minute and address (an IPv6 /64
    /// counts as one).
    auth_failures: NonZeroU32 = "1200";
    /// Failed sign-ins per minute and address (an IPv6 /64 counts as one). Half of them may come at once.
    sign_in_rate: NonZeroU32 = "10";
    /// A long random text that encrypts authenticator secrets. Store it apart from the database: a copy of the
    /// database alone then reveals no authenticator codes.
    secret: Option<Secret> = "" secret;
    /// Networks of proxies whose `X-Forwarded-For` is trusted, separated by commas.
    trusted_proxies: Vec<IpNet> = "";
    /// How long an `Idempotency-Key` is stored.
    idempotency_ttl: Duration = "24h";
    /// Lifetime of an OAuth authorization code.
    oauth_code_ttl: Duration = "60s";
    /// Lifetime of an OAuth access token.
    oauth_access_ttl: Duration = "1h";
    /// Lifetime of an unused OAuth refresh token. The authorization ends after 90 days in any case.
    oauth_refresh_ttl: Duration = "30d";
    /// How long a refresh token that was just replaced still returns its successor.
    oauth_refresh_grace: Duration = "60s";
    /// OAuth token requests per minute, app and address. Server apps may make 20 times as many.
    oauth_requests: NonZeroU32 = "60";
    /// A separate address for `/metrics` without a token. It must not be public.
    metrics_listen: Option<SocketAddr> = "";
    /// The bearer token for `/metrics` on the main address.
    metrics_token: Option<Secret> = "" secret;
    /// The log level: `error`, `warn`, `info`, `debug`, or a filter such as `touchline=debug`.
    log: LogFilter = "info";
    /// Maximum number of open connections.
    max_connections: NonZeroUsize = "10000";
    /// Maximum number of open connections per address, except for trusted proxies.
    max_connections_per_address: NonZeroUsize = "1000";
    /// A PEM file with the certificate authority of the PostgreSQL server (with `sslmode=require` in its URL).
    postgres_authority: Option<PathBuf> = "";
    /// Number of connections to the PostgreSQL server. Half of them write.
    postgres_connections: NonZeroUsize = "8";
    /// Maximum number of jobs that wait for the database. When it is exceeded, requests get 503.
    queue: NonZeroUsize = "4096";
    /// The mail server: `smtp://USER:PASSWORD@HOST:587?tls=required`, `smtps://USER:PASSWORD@HOST`, or
    /// `smtp://HOST:25` without encryption. Empty: no email is sent. Needs `base_url`.
    smtp_url: Option<SmtpUrl> = "" secret;
    /// A PEM file with the certificate authority of the mail server, in addition to the public ones.
    smtp_authority: Option<PathBuf> = "";
    /// The sender of emails, such as `Harbour FC <office@club.example.org>`. Empty: `touchline` at the host of
    /// `base_url`.
    mail_from: Option<Mailbox> = "";
    /// How long to wait before each new attempt to send an email.
    mail_retries: Vec<Duration> = "1m,5m,30m,2h,6h,12h,24h";
    /// How long to wait before each webhook delivery attempt, plus or minus 20 percent. The first must be 0s.
    webhook_schedule: Schedule = "0s,5s,5m,30m,2h,5h,10h,14h,20h,24h";
    /// Timeout of a webhook delivery attempt, at most 20s.
    webhook_timeout: Timeout = "15s";
    /// A webhook is disabled when all deliveries have failed for this long.
    webhook_disable_after: Duration = "5d";
    /// Maximum number of concurrent webhook deliveries.
    webhook_deliveries: NonZeroUsize = "512";
    /// Private networks that webhooks may reach, separated by commas. For tests and trusted networks only:
    /// everyone who may add a webhook can then send requests into them.
    webhook_allow_cidrs: Vec<IpNet> = "";
    /// A PEM file with the certificate authority of webhook receivers, in addition to the public ones.
    webhook_authority: Option<PathBuf> = "";
    /// The secret key of a Stripe account (`sk_live_…`), to take card payments for orders and dues. Empty: no
    /// card payments; payments are recorded manually.
    stripe_secret_key: Option<Secret> = "" secret;
    /// The signing secret (`whsec_…`) of the Stripe webhook that sends to `/stripe/webhook` of this service.
    stripe_webhook_secret: Option<Secret> = "" secret;
    /// The URL of Stripe's API.
    stripe_url: BaseUrl = "https://api.stripe.com";
    /// How long notifications and their deliveries are stored.
    notification_retention: Duration = "30d";
}

/// The value of a setting as it is printed. Explains the default of an empty `database`.
fn display_value(name: &str, value: String) -> String {
    if name == "database" && value.is_empty() {
        "(touchline.db in the data directory)".into()
    } else {
        value
    }
}

/// Where settings come from.
#[derive(Debug, Default)]
pub struct Source {
    /// Errors of the file itself.
    faults: Vec<String>,
    pub flags: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
}

/// Whether the arguments contain `--json`, even if other arguments are invalid.
pub fn has_json_flag() -> bool {
    std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// Starts the program again with the same arguments, in place of this process. Returns only if that fails.
pub fn restart_process() -> std::io::Error {
    match std::env::current_exe() {
        Ok(program) => Command::new(program).args(std::env::args_os().skip(1)).exec(),
        Err(error) => error,
    }
}

impl Source {
    /// Collects flags, environment variables and the file, if there is one.
    pub fn new(flags: BTreeMap<String, String>, file: Option<&Path>) -> Self {
        let environment =
            std::env::vars().filter(|(name, _)| name.starts_with("TOUCHLINE_")).collect();
        let (file, faults) = file.map(read_file).unwrap_or_default();
        Self { faults, flags, file, environment }
    }

    fn read<T: Setting>(&self, info: &SettingInfo, faults: &mut Vec<String>) -> Option<T> {
        let variable = info.variable();
        let source = if let Some(text) = self.flags.get(info.name) {
            Ok((format!("--{}", info.flag()), text.clone()))
        } else if let Some(text) = self.environment.get(&variable) {
            Ok((variable, text.clone()))
        } else if let Some(path) =
            self.environment.get(&format!("{variable}_FILE")).filter(|_| info.secret)
        {
            let with_path = |error| format!("{variable}_FILE: {path}: {error}");
            let text = std::fs::read_to_string(path).map_err(with_path);
            text.map(|text| (format!("{variable}_FILE"), text.trim().to_owned()))
        } else if let Some(text) = self.file.get(info.name) {
            Ok((format!("{} in the configuration file", info.name), text.clone()))
        } else {
            Ok((info.name.to_owned(), info.default.to_owned()))
        };
        let value = source.and_then(|(origin, text)| {
            T::read(&text).map_err(|fault| format!("{origin}: {fault}"))
        });
        value.map_err(|fault| faults.push(fault)).ok()
    }
}

/// The file's settings as text, and its errors. Unknown names are errors.
fn read_file(path: &Path) -> (BTreeMap<String, String>, Vec<String>) {
    let fault = |error: String| (BTreeMap::new(), vec![format!("{}: {error}", path.display())]);
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return fault(error.to_string()),
    };
    let table: toml::Table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return fault(error.message().to_owned()),
    };
    let unknown = table
        .keys()
        .filter(|name| SETTINGS.iter().all(|info| info.name != *name))
        .map(|name| format!("{}: unknown setting {name}", path.display()))
        .collect();
    (table.into_iter().map(|(name, value)| (name, as_text(&value))).collect(), unknown)
}

fn as_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(items) => items.iter().map(as_text).collect::<Vec<_>>().join(","),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(yes) => yes.to_string(),
        // No setting accepts these. The text appears in the error message.
        other => format!("{other:?}"),
    }
}

impl Config {
    /// The settings, or all their errors.
    pub fn load(source: &Source) -> Result<Self, Vec<String>> {
        let config = Self::build(source)?;
        let mail = if config.smtp_url.is_some() { config.email_sender().map(drop) } else { Ok(()) };
        let faults: Vec<_> = mail.err().into_iter().chain(config.files_fault()).collect();
        if faults.is_empty() { Ok(config) } else { Err(faults) }
    }

    /// What is missing to store files in an S3 bucket.
    fn files_fault(&self) -> Option<String> {
        let is_s3 = self.files != FileLocation::Local;
        let has_keys = self.files_access_key.is_some() && self.files_secret_key.is_some();
        let fault = "files: set files_access_key and files_secret_key to use an S3 bucket";
        (is_s3 && !has_keys).then(|| fault.to_owned())
    }

    /// The sender of emails. Emails contain links, so `base_url` must be set.
    pub fn email_sender(&self) -> Result<Mailbox, String> {
        let base = self.base_url.as_ref();
        let base = base.ok_or("base_url: set it, because emails contain links to the service")?;
        let default = || Mailbox::read(&format!("touchline@{}", base.host()));
        let invalid =
            |_| "mail_from: set it, because base_url has no host name for a sender".to_owned();
        self.mail_from.clone().map_or_else(|| default().map_err(invalid), Ok)
    }

    /// The settings without flags, environment or file.
    pub fn defaults() -> Self {
        Self::build(&Source::default()).expect("the defaults are valid")
    }

    /// The URL of the public pages and the API: `base_url`, or the address the server listens on.
    pub fn effective_base_url(&self) -> BaseUrl {
        let local = || {
            let host = match self.listen.ip() {
                ip if ip.is_unspecified() => "localhost".to_owned(),
                std::net::IpAddr::V4(ip) => ip.to_string(),
                std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            };
            BaseUrl::local(&host, self.listen.port())
        };
        self.base_url.clone().unwrap_or_else(local)
    }

    /// The URL of the database.
    pub fn database_url(&self) -> String {
        match &self.database {
            Some(url) => url.reveal().to_owned(),
            None => format!("sqlite:{}", self.data.join("touchline.db").display()),
        }
    }

    /// A sample configuration file: every setting with its description and default, commented out.
    pub fn template() -> String {
        let mut lines =
            vec!["# Touchline settings. Remove the # in front of those you change.".to_owned()];
        for info in SETTINGS {
            lines.push(String::new());
            lines.extend(info.doc.iter().map(|line| format!("#{line}")));
            let variable = info.variable();
            let file = if info.secret { format!(" or {variable}_FILE") } else { String::new() };
            lines.push(format!("# Flag --{}, environment variable {variable}{file}.", info.flag()));
            lines.push(format!("#{} = {:?}", info.name, info.default));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::Tier;

    fn source(flags: &[(&str, &str)], environment: &[(&str, &str)]) -> Source {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        Source { flags: map(flags), environment: map(environment), ..Source::default() }
    }

    #[test]
    fn a_flag_takes_precedence_over_the_environment() {
        let flag = [("listen", "127.0.0.1:1")];
        let variable = [("TOUCHLINE_LISTEN", "127.0.0.1:2"), ("TOUCHLINE_IDEMPOTENCY_TTL", "2h")];
        let config = Config::load(&source(&flag, &variable)).unwrap();
        assert_eq!(config.listen.port(), 1);
        assert_eq!(config.idempotency_ttl, Duration::from_secs(7200));
        assert_eq!(config.rate_limits.of(Tier::Club), 600);
    }

    #[test]
    fn all_errors_are_reported() {
        let wrong = [
            ("TOUCHLINE_LISTEN", "nowhere"),
            ("TOUCHLINE_RATE_LIMITS", "free=0"),
            ("TOUCHLINE_TRUSTED_PROXIES", "10.0.0.0/8,x"),
        ];
        let faults = Config::load(&source(&[], &wrong)).unwrap_err();
        assert_eq!(faults.len(), 3, "{faults:?}");
    }

    #[test]
    fn the_default_sender_is_at_the_host_of_the_base_url() {
        let sender = |pairs: &[(&str, &str)]| {
            let mut flags = vec![("smtp_url", "smtp://127.0.0.1:2525")];
            flags.extend(pairs);
            let config = Config::load(&source(&flags, &[]));
            config.map(|config| config.email_sender().unwrap().to_string())
        };
        for base in ["https://club.example.org", "https://club.example.org:8443/touchline"] {
            assert_eq!(sender(&[("base_url", base)]).unwrap(), "touchline@club.example.org");
        }
        let named = [("base_url", "http://[::1]:8080"), ("mail_from", "Ana <ana@example.org>")];
        assert_eq!(sender(&named).unwrap(), "Ana <ana@example.org>");
        assert!(sender(&[]).unwrap_err()[0].contains("base_url"));
        let unfit = [("base_url", "https://club.example.org"), ("mail_from", "ana\r\nBcc: x@y.z")];
        assert!(sender(&unfit).unwrap_err()[0].contains("--mail-from"));
    }

    #[test]
    fn a_bucket_for_files_needs_a_key() {
        let load = |flags: &[(&str, &str)]| Config::load(&source(flags, &[]));
        let bucket = ("files", "s3://club-files/touchline/prod");
        assert!(load(&[bucket]).unwrap_err()[0].contains("files_secret_key"));
        let keys = [("files_access_key", "AKIA1"), ("files_secret_key", "hush")];
        let config = load(&[bucket, keys[0], keys[1]]).unwrap();
        assert!(!format!("{config:?}{:?}", config.display_values()).contains("hush"));
        for wrong in ["", "s3://", "s3:///x", "s3://Bucket", "s3://club/../x", "/srv/files"] {
            assert!(load(&[("files", wrong), keys[0], keys[1]]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_smtp_url_is_validated_and_its_password_is_never_shown() {
        let load = |url: &str| {
            let flags = [("smtp_url", url), ("base_url", "https://club.example.org")];
            Config::load(&source(&flags, &[]))
                .map(|config| format!("{config:?}{:?}", config.display_values()))
        };
        for good in
            ["smtp://ana:hush@mail.example.org:587?tls=required", "smtps://a%40b.c:hush@x.org"]
        {
            assert!(!load(good).unwrap().contains("hush"));
        }
        for wrong in [
            "mail.example.org:587",
            "http://mail.example.org",
            "smtp://ana@mail.example.org",
            "smtp://ana:hush@mail.example.org?tls=requierd",
            "smtp://ana:hush@mail.example.org?ssl=true",
            "smtp://ana:hush@",
        ] {
            let faults = load(wrong).unwrap_err();
            assert!(faults[0].contains("--smtp-url") && !faults[0].contains("hush"), "{faults:?}");
        }
    }

    #[test]
    fn the_template_contains_every_setting() {
        let template = Config::template().replace("\n#", "\n");
        let settings = template.lines().filter(|line| line.contains(" = "));
        assert_eq!(settings.count(), SETTINGS.len());
        let shown =
            format!("{:?}", Config::load(&source(&[("metrics_token", "hush")], &[])).unwrap());
        assert!(!shown.contains("hush"));
    }
}
