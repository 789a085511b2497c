//! The settings: one table says name, default and meaning; flags, environment and file all follow it.
//!
//! A flag wins over `TOUCHLINE_*`, which wins over the file, which wins over the default. Every fault
//! is reported, not only the first. Only this file reads the environment.

mod kinds;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use lettre::message::Mailbox;

use kinds::Setting;
pub use kinds::{
    BaseUrl, DatabaseUrl, LogFilter, Quotas, Schedule, Secret, SmtpUrl, Timeout, read_net,
};

/// What is known of a setting beside its value.
#[derive(Debug)]
pub struct Info {
    /// Its name in the file; flags have dashes, variables capitals.
    pub name: &'static str,
    pub doc: &'static [&'static str],
    pub default: &'static str,
    /// Whether it may also be read from the file that `TOUCHLINE_…_FILE` names.
    pub secret: bool,
}

impl Info {
    /// The environment variable.
    pub fn variable(&self) -> String {
        format!("TOUCHLINE_{}", self.name.to_uppercase())
    }

    /// The flag.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:literal $($secret:ident)?;)+) => {
        /// The settings of a process.
        #[derive(Debug, Clone)]
        pub struct Config {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        /// Every setting, in the order of the sample file.
        pub const SETTINGS: &[Info] = &[$(Info {
            name: stringify!($name),
            doc: &[$($doc),+],
            default: $default,
            secret: settings!(@secret $($secret)?),
        }),+];

        impl Config {
    /// Where people reach the service: the address that was set, or the one it listens on.
    pub fn home(&self) -> BaseUrl {
        let own = || {
            let host = match self.listen.ip() {
                ip if ip.is_unspecified() => "localhost".to_owned(),
                std::net::IpAddr::V4(ip) => ip.to_string(),
                std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            };
            BaseUrl::local(&host, self.listen.port())
        };
        self.base_url.clone().unwrap_or_else(own)
    }

            /// Reads every setting from where `source` finds it, or its default.
            fn build(source: &Source) -> Result<Self, Vec<String>> {
                let mut faults = source.faults.clone();
                let mut infos = SETTINGS.iter();
                $(let $name = source.read::<$type>(infos.next().expect("one each"), &mut faults);)+
                match ($($name,)+) {
                    ($(Some($name),)+) if faults.is_empty() => Ok(Self { $($name),+ }),
                    _ => Err(faults),
                }
            }

            /// Every setting with its value, secrets hidden.
            pub fn shown(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($name), masked(stringify!($name), self.$name.show())),)+]
            }
        }
    };
    (@secret secret) => { true };
    (@secret) => { false };
}

settings! {
    /// The address to listen on. Port 0 picks a free one.
    listen: SocketAddr = "127.0.0.1:8080";
    /// The folder for the database, backups and keys.
    data: PathBuf = "./touchline-data";
    /// `sqlite:PATH` or `postgres://USER:PASSWORD@HOST/DATABASE`. Empty: `touchline.db` in the data folder.
    database: Option<DatabaseUrl> = "" secret;
    /// The address under which people reach the service, such as `https://club.example.org`.
    base_url: Option<BaseUrl> = "";
    /// Requests a minute for each tier of accounts.
    rate_limits: Quotas = "free=60,club=600,league=6000";
    /// Failed sign-ins a minute from one address (an IPv6 /64 counts as one).
    auth_failures: NonZeroU32 = "1200";
    /// Attempts of people to sign in that may fail, a minute and address (an IPv6 /64 counts as one); half of them at once.
    sign_in_rate: NonZeroU32 = "10";
    /// A long random text, kept apart from the database: with it a copy of the database alone opens no authenticator codes.
    secret: Option<Secret> = "" secret;
    /// Networks of proxies whose `X-Forwarded-For` is believed, separated by commas.
    trusted_proxies: Vec<IpNet> = "";
    /// How long an `Idempotency-Key` is remembered.
    idempotency_ttl: Duration = "24h";
    /// How long an app has to exchange the code it was given.
    oauth_code_ttl: Duration = "60s";
    /// How long an app's access token is good.
    oauth_access_ttl: Duration = "1h";
    /// How long an app's refresh token is good if it is not used. All of it ends after 90 days.
    oauth_refresh_ttl: Duration = "30d";
    /// For how long a refresh token that was just replaced gives the same successor again.
    oauth_refresh_grace: Duration = "60s";
    /// Requests for tokens a minute from one app at one address; apps on a server may make 20 times as many.
    oauth_requests: NonZeroU32 = "60";
    /// A listener of its own for `/metrics`, which should not be public.
    metrics_listen: Option<SocketAddr> = "";
    /// A token that opens `/metrics` on the main listener.
    metrics_token: Option<Secret> = "" secret;
    /// What to log: `error`, `warn`, `info`, `debug`, or a filter such as `touchline=debug`.
    log: LogFilter = "info";
    /// Open connections in all.
    max_connections: NonZeroUsize = "10000";
    /// Open connections from one address, trusted proxies excepted.
    max_connections_per_address: NonZeroUsize = "1000";
    /// A PEM file with the authority that vouches for a PostgreSQL server (`sslmode=require` in its address).
    postgres_authority: Option<PathBuf> = "";
    /// Connections to a PostgreSQL server; half of them write.
    postgres_connections: NonZeroUsize = "8";
    /// Jobs that may wait for the database before callers are answered 503.
    queue: NonZeroUsize = "4096";
    /// The server that takes our mail: `smtp://USER:PASSWORD@HOST:587?tls=required`, `smtps://USER:PASSWORD@HOST`, or
    /// `smtp://HOST:25` without encryption. Empty: letters are kept in the outbox and not sent. Needs `base_url`.
    smtp_url: Option<SmtpUrl> = "" secret;
    /// A PEM file with the authority that vouches for the mail server, beside the public ones.
    smtp_authority: Option<PathBuf> = "";
    /// Whom letters come from, such as `Harbour FC <office@club.example.org>`. Empty: `touchline` at the host of `base_url`.
    mail_from: Option<Mailbox> = "";
    /// How long to wait before each new attempt to send a letter.
    mail_retries: Vec<Duration> = "1m,5m,30m,2h,6h,12h,24h";
    /// How long to wait before each attempt to deliver to a webhook, a fifth more or less. The first comes at once.
    webhook_schedule: Schedule = "0s,5s,5m,30m,2h,5h,10h,14h,20h,24h";
    /// How long an attempt may take altogether, 20 s at most.
    webhook_timeout: Timeout = "15s";
    /// A webhook is turned off after so long of nothing but failures.
    webhook_patience: Duration = "5d";
    /// Deliveries to webhooks that are under way at once.
    webhook_deliveries: NonZeroUsize = "512";
    /// Private networks that webhooks may reach, separated by commas. For tests and trusted networks only: whoever
    /// may add a webhook can then send requests into them.
    webhook_allow_cidrs: Vec<IpNet> = "";
    /// A PEM file with the authority that vouches for receivers of webhooks, beside the public ones.
    webhook_authority: Option<PathBuf> = "";
    /// The secret key of a Stripe account (`sk_live_…`): with it, orders and dues can be paid by card. Empty: they
    /// are paid in other ways, and that is written down by hand.
    stripe_secret_key: Option<Secret> = "" secret;
    /// The signing secret (`whsec_…`) of the webhook that Stripe sends to `/stripe/webhook` of this service.
    stripe_webhook_secret: Option<Secret> = "" secret;
    /// Where Stripe's API is reached.
    stripe_url: BaseUrl = "https://api.stripe.com";
    /// How long notifications, and what became of their deliveries, are kept.
    news_kept: Duration = "30d";
}

/// A database's address shows everything but its password.
fn masked(name: &str, shown: String) -> String {
    if name == "database" && shown.is_empty() {
        "(touchline.db in the data folder)".into()
    } else {
        shown
    }
}

/// Where settings come from.
#[derive(Debug, Default)]
pub struct Source {
    /// What is wrong with the file itself.
    faults: Vec<String>,
    pub flags: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
}

/// Whether the arguments ask for JSON, however wrong the others are.
pub fn asks_for_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

impl Source {
    /// The flags that were given, the process's environment, and a file if there is one.
    pub fn new(flags: BTreeMap<String, String>, file: Option<&Path>) -> Self {
        let environment =
            std::env::vars().filter(|(name, _)| name.starts_with("TOUCHLINE_")).collect();
        let (file, faults) = file.map(read_file).unwrap_or_default();
        Self { faults, flags, file, environment }
    }

    fn read<T: Setting>(&self, info: &Info, faults: &mut Vec<String>) -> Option<T> {
        let variable = info.variable();
        let found = if let Some(text) = self.flags.get(info.name) {
            Ok((format!("--{}", info.flag()), text.clone()))
        } else if let Some(text) = self.environment.get(&variable) {
            Ok((variable, text.clone()))
        } else if let Some(path) =
            self.environment.get(&format!("{variable}_FILE")).filter(|_| info.secret)
        {
            let told = |error| format!("{variable}_FILE: {path}: {error}");
            let text = std::fs::read_to_string(path).map_err(told);
            text.map(|text| (format!("{variable}_FILE"), text.trim().to_owned()))
        } else if let Some(text) = self.file.get(info.name) {
            Ok((format!("{} in the file", info.name), text.clone()))
        } else {
            Ok((info.name.to_owned(), info.default.to_owned()))
        };
        let read = found
            .and_then(|(place, text)| T::read(&text).map_err(|fault| format!("{place}: {fault}")));
        read.map_err(|fault| faults.push(fault)).ok()
    }
}

/// The file's settings as text, and what is wrong with it; unknown names are faults.
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
        .map(|name| format!("{}: {name} is not a setting", path.display()))
        .collect();
    (table.into_iter().map(|(name, value)| (name, as_text(&value))).collect(), unknown)
}

fn as_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(items) => items.iter().map(as_text).collect::<Vec<_>>().join(","),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(yes) => yes.to_string(),
        // No setting takes these; the text makes the fault say what stands there.
        other => format!("{other:?}"),
    }
}

impl Config {
    /// The settings, or everything that is wrong with them.
    pub fn load(source: &Source) -> Result<Self, Vec<String>> {
        let config = Self::build(source)?;
        let mail = if config.smtp_url.is_some() { config.sender().map(drop) } else { Ok(()) };
        mail.map_err(|fault| vec![fault]).map(|()| config)
    }

    /// Whom letters come from. They carry links, so there must be an address to link to.
    pub fn sender(&self) -> Result<Mailbox, String> {
        let base = self.base_url.as_ref();
        let base = base.ok_or("base_url: mail needs it, for the links in letters")?;
        let own = || Mailbox::read(&format!("touchline@{}", base.host()));
        let unfit = |_| "mail_from: set it, as no address can be made from base_url".to_owned();
        self.mail_from.clone().map_or_else(|| own().map_err(unfit), Ok)
    }

    /// The settings without flags, environment or file.
    pub fn defaults() -> Self {
        Self::build(&Source::default()).expect("the defaults are valid")
    }

    /// The address of the database.
    pub fn database_url(&self) -> String {
        match &self.database {
            Some(url) => url.reveal().to_owned(),
            None => format!("sqlite:{}", self.data.join("touchline.db").display()),
        }
    }

    /// A sample file: every setting with its meaning and default, commented out.
    pub fn template() -> String {
        let mut lines =
            vec!["# Settings of touchline. Remove the # before those you change.".to_owned()];
        for info in SETTINGS {
            lines.push(String::new());
            lines.extend(info.doc.iter().map(|line| format!("#{line}")));
            let variable = info.variable();
            let file = if info.secret { format!(" or {variable}_FILE") } else { String::new() };
            lines.push(format!("# Flag --{}, variable {variable}{file}.", info.flag()));
            lines.push(format!("#{} = {:?}", info.name, info.default));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::account::Tier;

    fn source(flags: &[(&str, &str)], environment: &[(&str, &str)]) -> Source {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        Source { flags: map(flags), environment: map(environment), ..Source::default() }
    }

    #[test]
    fn a_flag_wins_over_the_environment() {
        let flag = [("listen", "127.0.0.1:1")];
        let variable = [("TOUCHLINE_LISTEN", "127.0.0.1:2"), ("TOUCHLINE_IDEMPOTENCY_TTL", "2h")];
        let config = Config::load(&source(&flag, &variable)).unwrap();
        assert_eq!(config.listen.port(), 1);
        assert_eq!(config.idempotency_ttl, Duration::from_secs(7200));
        assert_eq!(config.rate_limits.of(Tier::Club), 600);
    }

    #[test]
    fn every_fault_is_reported() {
        let wrong = [
            ("TOUCHLINE_LISTEN", "nowhere"),
            ("TOUCHLINE_RATE_LIMITS", "free=0"),
            ("TOUCHLINE_TRUSTED_PROXIES", "10.0.0.0/8,x"),
        ];
        let faults = Config::load(&source(&[], &wrong)).unwrap_err();
        assert_eq!(faults.len(), 3, "{faults:?}");
    }

    #[test]
    fn letters_come_from_the_host_of_the_base_url() {
        let sender = |pairs: &[(&str, &str)]| {
            let mut flags = vec![("smtp_url", "smtp://127.0.0.1:2525")];
            flags.extend(pairs);
            let config = Config::load(&source(&flags, &[]));
            config.map(|config| config.sender().unwrap().to_string())
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
    fn a_mail_server_is_checked_and_its_password_never_told() {
        let told = |url: &str| {
            let flags = [("smtp_url", url), ("base_url", "https://club.example.org")];
            Config::load(&source(&flags, &[]))
                .map(|config| format!("{config:?}{:?}", config.shown()))
        };
        for good in
            ["smtp://ana:hush@mail.example.org:587?tls=required", "smtps://a%40b.c:hush@x.org"]
        {
            assert!(!told(good).unwrap().contains("hush"));
        }
        for wrong in [
            "mail.example.org:587",
            "http://mail.example.org",
            "smtp://ana@mail.example.org",
            "smtp://ana:hush@mail.example.org?tls=requierd",
            "smtp://ana:hush@mail.example.org?ssl=true",
            "smtp://ana:hush@",
        ] {
            let faults = told(wrong).unwrap_err();
            assert!(faults[0].contains("--smtp-url") && !faults[0].contains("hush"), "{faults:?}");
        }
    }

    #[test]
    fn the_template_is_a_valid_file_and_names_every_setting() {
        let template = Config::template().replace("\n#", "\n");
        let settings = template.lines().filter(|line| line.contains(" = "));
        assert_eq!(settings.count(), SETTINGS.len());
        let shown =
            format!("{:?}", Config::load(&source(&[("metrics_token", "hush")], &[])).unwrap());
        assert!(!shown.contains("hush"));
    }
}
