//! The command line: every command, and how its outcome is told.

mod accounts;
mod data;
mod oauth_apps;
mod serve;
mod users;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use kit::{Clock, Dice};
use serde::Serialize;
use store::Db;

use crate::config::{self, Config, SETTINGS, Source};
use crate::error::Error;

/// Teams, schedules, rosters and an API for sports clubs.
#[derive(Debug, Parser)]
#[command(
    name = "touchline",
    version,
    about,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    /// Print exactly one JSON object on standard output
    #[arg(long, global = true)]
    json: bool,
    /// A TOML file with settings (touchline.toml in the working folder if it is there)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the service
    Serve(serve::Serve),
    /// Bring the schema up to date
    Migrate(data::Migrate),
    /// Load or remove sample data
    #[command(subcommand)]
    Seed(data::Seed),
    /// Make, list and change accounts
    #[command(subcommand)]
    Account(accounts::AccountVerb),
    /// Make, list and revoke API keys
    #[command(subcommand)]
    Key(accounts::KeyVerb),
    /// Make, list and promote people who sign in, and let them choose new passwords
    #[command(subcommand)]
    User(users::UserVerb),
    /// Print a new link to set up the first club
    SetUpLink,
    /// Register apps that act for people
    #[command(subcommand)]
    OauthApp(oauth_apps::AppVerb),
    /// Look for faults and say what to do about them
    Doctor,
    /// Make and check backups
    #[command(subcommand)]
    Backup(data::BackupVerb),
    /// Put a backup into an empty database
    Restore(data::Restore),
    /// Look at the settings
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Print the OpenAPI document
    Openapi,
    /// Ask a running service whether it is ready
    Healthcheck,
    /// Print completions for a shell
    Completions(Completions),
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Print a sample file with every setting
    Template,
    /// Print the settings in force, without secrets
    Show,
    /// Say whether the settings are valid
    Check,
}

#[derive(Debug, Args)]
struct Completions {
    shell: clap_complete::Shell,
}

/// Why a command did not do what was asked: one line each.
#[derive(Debug)]
struct Refusal {
    lines: Vec<String>,
    code: u8,
}

impl<T: Display> From<T> for Refusal {
    fn from(line: T) -> Self {
        Self { lines: vec![line.to_string()], code: 1 }
    }
}

/// What a person is told of an error: its faults if it has some, else its cause, else its detail.
fn refused(error: Error) -> Refusal {
    let lines = if error.faults.is_empty() {
        vec![error.cause.unwrap_or_else(|| error.detail.into_owned())]
    } else {
        error.faults.iter().map(|fault| fault.detail.clone()).collect()
    };
    Refusal { lines, code: 1 }
}

type Outcome = Result<(), Refusal>;

/// Where a command's outcome goes.
struct Desk {
    json: bool,
    config: Config,
}

impl Desk {
    /// Says the outcome, as JSON or in words.
    fn say<T: Serialize>(&self, object: &T, words: impl FnOnce() -> String) -> Outcome {
        let text = if self.json { serde_json::to_string(object)? } else { words() };
        Ok(writeln!(std::io::stdout(), "{text}")?)
    }

    fn options(&self) -> store::Options {
        store::Options {
            url: self.config.database_url(),
            authority: self.config.postgres_authority.clone(),
            connections: self.config.postgres_connections.get(),
            queue: self.config.queue.get(),
            clock: Clock::system(),
            dice: Arc::new(Dice::system()),
        }
    }

    /// The database as it is; the folder of an embedded one is made if need be.
    fn open(&self) -> Result<Db, Refusal> {
        if self.config.database.is_none() {
            private_folder(&self.config.data)?;
        }
        Ok(Db::open(self.options())?)
    }

    /// The database with its schema up to date.
    async fn open_migrated(&self) -> Result<Db, Refusal> {
        let db = self.open()?;
        db.migrate(crate::migrations::STEPS).await?;
        Ok(db)
    }
}

/// Makes a folder that only its owner can enter.
fn private_folder(path: &Path) -> Outcome {
    use std::os::unix::fs::DirBuilderExt;
    if path.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        Refusal::from(format!("cannot make the data folder {}: {error}", path.display()))
    })
}

/// The command line with a flag for every setting.
fn command() -> Command {
    let flag = |info: &'static crate::config::Info| {
        Arg::new(info.name)
            .long(clap::builder::Str::from(info.flag()))
            .global(true)
            .value_name("VALUE")
            .help(info.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "))
            .help_heading("Settings")
    };
    Cli::command().args(SETTINGS.iter().map(flag))
}

/// Runs the command that was asked for.
pub fn run() -> ExitCode {
    let json = config::asks_for_json();
    let outcome = match command().try_get_matches() {
        Ok(matches) => start(&matches),
        Err(error) if json && error.exit_code() != 0 => Err(misread(&error)),
        // Help is no error, and people are told of theirs as they are used to.
        Err(error) => error.exit(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            if json && !refusal.lines.is_empty() {
                let object = serde_json::json!({ "error": { "messages": refusal.lines } });
                let _ = writeln!(std::io::stdout(), "{object}");
            }
            for line in refusal.lines {
                // Nobody is left to tell if standard error is gone.
                let _ = writeln!(std::io::stderr(), "touchline: {line}");
            }
            ExitCode::from(refusal.code)
        }
    }
}

/// What is wrong with the arguments.
fn misread(error: &clap::Error) -> Refusal {
    let text = error.to_string();
    let lines = text.lines().map(|line| line.trim().trim_start_matches("error: ").to_owned());
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    Refusal { lines: lines.collect(), code: 2 }
}

fn start(matches: &ArgMatches) -> Outcome {
    let cli = Cli::from_arg_matches(matches)?;
    let given = |info: &crate::config::Info| {
        let value = innermost(matches).get_one::<String>(info.name)?;
        Some((info.name.to_owned(), value.clone()))
    };
    let flags: BTreeMap<_, _> = SETTINGS.iter().filter_map(given).collect();
    let beside = PathBuf::from("touchline.toml");
    let file = cli.config.clone().or_else(|| beside.is_file().then_some(beside));
    let config = Config::load(&Source::new(flags, file.as_deref()));
    let config = config.map_err(|lines| Refusal { lines, code: 2 })?;
    let desk = Desk { json: cli.json, config };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(dispatch(cli.verb, &desk))
}

/// Flags may stand behind the last command; that is where their values then are.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| innermost(inner))
}

async fn dispatch(verb: Verb, desk: &Desk) -> Outcome {
    match verb {
        Verb::Serve(serve) => serve.run(desk).await,
        Verb::Migrate(migrate) => migrate.run(desk).await,
        Verb::Seed(seed) => seed.run(desk).await,
        Verb::Account(verb) => verb.run(desk).await,
        Verb::Key(verb) => verb.run(desk).await,
        Verb::User(verb) => verb.run(desk).await,
        Verb::SetUpLink => users::set_up_link(desk).await,
        Verb::OauthApp(verb) => verb.run(desk).await,
        Verb::Doctor => data::doctor(desk).await,
        Verb::Backup(verb) => verb.run(desk).await,
        Verb::Restore(restore) => restore.run(desk).await,
        Verb::Config(verb) => settings(desk, &verb),
        Verb::Openapi => Ok(std::io::stdout().write_all(crate::document().as_bytes())?),
        Verb::Healthcheck => serve::healthcheck(desk).await,
        Verb::Completions(Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), "touchline", &mut script);
            let script = String::from_utf8_lossy(&script);
            desk.say(&serde_json::json!({ "completions": script }), || script.trim_end().to_owned())
        }
    }
}

fn settings(desk: &Desk, verb: &ConfigVerb) -> Outcome {
    let shown: BTreeMap<_, _> = desk.config.shown().into_iter().collect();
    let lines = |pairs: Vec<(&str, String)>| {
        pairs
            .iter()
            .map(|(name, value)| format!("{name} = {value:?}"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    match verb {
        ConfigVerb::Template => {
            let template = Config::template();
            desk.say(&serde_json::json!({ "template": template }), || {
                template.trim_end().to_owned()
            })
        }
        ConfigVerb::Show => {
            desk.say(&serde_json::json!({ "config": shown }), || lines(desk.config.shown()))
        }
        ConfigVerb::Check => {
            desk.say(&serde_json::json!({ "valid": true }), || "The settings are valid.".to_owned())
        }
    }
}
