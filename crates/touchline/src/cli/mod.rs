//! The command-line interface: all commands, their output and errors.

mod accounts;
mod data;
mod oauth_apps;
mod serve;
mod users;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use kit::string_enum::StringEnum;
use kit::{Clock, Rng};
use serde::Serialize;
use serde_json::{Value, json};
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
    /// The TOML configuration file (default: touchline.toml in the working directory, if it exists)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: TopCommand,
}

#[derive(Debug, Subcommand)]
enum TopCommand {
    /// Run the service
    Serve(serve::Serve),
    /// Migrate the database schema
    Migrate(data::Migrate),
    /// Load or remove demo data
    #[command(subcommand)]
    Seed(data::Seed),
    /// Create, list, change and delete accounts
    #[command(subcommand)]
    Account(accounts::AccountCommand),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Key(accounts::KeyCommand),
    /// Create and list users, change their roles and reset their passwords
    #[command(subcommand)]
    User(users::UserCommand),
    /// Print a new link for setting up the first club
    SetUpLink,
    /// Register and manage OAuth apps
    #[command(subcommand)]
    OauthApp(oauth_apps::AppCommand),
    /// Check the installation and print what to do about problems
    Doctor,
    /// Create and verify backups
    #[command(subcommand)]
    Backup(data::BackupCommand),
    /// Restore a backup into an empty database
    Restore(data::Restore),
    /// Show and check the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the OpenAPI document
    Openapi,
    /// Check whether a running service is ready
    Healthcheck,
    /// Print shell completions
    Completions(Completions),
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print a sample configuration file with all settings
    Template,
    /// Print the current settings, without secrets
    Show,
    /// Check whether the settings are valid
    Check,
}

#[derive(Debug, Args)]
struct Completions {
    shell: clap_complete::Shell,
}

/// The error of a command: one line per problem, and the exit code.
#[derive(Debug)]
struct CommandError {
    lines: Vec<String>,
    code: u8,
}

macro_rules! single_line_errors {
    ($($error:ty),+) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                Self { lines: vec![error.to_string()], code: 1 }
            }
        }
    )+};
}
single_line_errors!(&str, String, std::io::Error, serde_json::Error, clap::Error, store::Error);

/// The lines are the faults of an error if it has any, else its cause, else its detail.
impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        let lines = if error.faults.is_empty() {
            vec![error.cause.map_or_else(|| error.detail.english(), |cause| cause.to_string())]
        } else {
            error.faults.iter().map(|fault| fault.detail.english()).collect()
        };
        Self { lines, code: 1 }
    }
}

/// One line for each item of a list.
fn lines<T>(items: &[T], line: impl Fn(&T) -> String) -> String {
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Parses a value of an enum in the arguments.
fn parse_enum<W: StringEnum>(text: &str) -> Result<W, String> {
    W::parse(text).ok_or_else(|| format!("use one of: {}", W::choices()))
}

/// An object with a secret value as JSON.
fn with_secret<T: Serialize>(object: &T, field: &str, value: &str) -> serde_json::Result<Value> {
    let mut json = serde_json::to_value(object)?;
    json[field] = value.into();
    Ok(json)
}

type CommandResult = Result<(), CommandError>;

/// What every command needs: the settings and the output format.
struct CommandContext {
    json: bool,
    config: Config,
}

impl CommandContext {
    /// Prints the result, as JSON or as text.
    fn print<T: Serialize>(&self, object: &T, text: impl FnOnce() -> String) -> CommandResult {
        let text = if self.json { serde_json::to_string(object)? } else { text() };
        Ok(writeln!(std::io::stdout(), "{text}")?)
    }

    fn options(&self) -> store::Options {
        store::Options {
            url: self.config.database_url(),
            ca_file: self.config.postgres_authority.clone(),
            connections: self.config.postgres_connections.get(),
            queue_limit: self.config.queue.get(),
            clock: Clock::system(),
            rng: Arc::new(Rng::system()),
        }
    }

    /// Opens the database as it is. Creates the directory of the default SQLite database.
    fn open(&self) -> Result<Db, CommandError> {
        if self.config.database.is_none() {
            private_folder(&self.config.data)?;
        }
        Ok(Db::open(self.options())?)
    }

    /// Opens the database and migrates its schema.
    async fn open_migrated(&self) -> Result<Db, CommandError> {
        let db = self.open()?;
        db.migrate(crate::migrations::MIGRATIONS).await?;
        Ok(db)
    }
}

/// Creates a directory that only its owner can access.
fn private_folder(path: &Path) -> CommandResult {
    use std::os::unix::fs::DirBuilderExt;
    if path.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        CommandError::from(format!("cannot create the directory {}: {error}", path.display()))
    })
}

/// The command line with a flag for every setting.
fn command() -> Command {
    let flag = |info: &'static crate::config::SettingInfo| {
        Arg::new(info.name)
            .long(clap::builder::Str::from(info.flag()))
            .global(true)
            .value_name("VALUE")
            .help(info.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "))
            .help_heading("Settings")
    };
    Cli::command().args(SETTINGS.iter().map(flag))
}

/// Runs the command of this process.
pub fn run() -> ExitCode {
    crate::register_modules();
    let json = config::has_json_flag();
    let outcome = match command().try_get_matches() {
        Ok(matches) => start(&matches),
        Err(error) if json && error.exit_code() != 0 => Err(usage_error(&error)),
        // `exit` prints help and usage errors in clap's own format.
        Err(error) => error.exit(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if json && !error.lines.is_empty() {
                let object = json!({ "error": { "messages": error.lines } });
                let _ = writeln!(std::io::stdout(), "{object}");
            }
            for line in error.lines {
                // There is nothing left to do if standard error is closed.
                let _ = writeln!(std::io::stderr(), "touchline: {line}");
            }
            ExitCode::from(error.code)
        }
    }
}

/// Converts an error in the arguments, for JSON output.
fn usage_error(error: &clap::Error) -> CommandError {
    let text = error.to_string();
    let lines = text.lines().map(|line| line.trim().trim_start_matches("error: ").to_owned());
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    CommandError { lines: lines.collect(), code: 2 }
}

fn start(matches: &ArgMatches) -> CommandResult {
    let cli = Cli::from_arg_matches(matches)?;
    let flag_value = |info: &crate::config::SettingInfo| {
        let value = innermost_matches(matches).get_one::<String>(info.name)?;
        Some((info.name.to_owned(), value.clone()))
    };
    let flags: BTreeMap<_, _> = SETTINGS.iter().filter_map(flag_value).collect();
    let default = PathBuf::from("touchline.toml");
    let file = cli.config.clone().or_else(|| default.is_file().then_some(default));
    let config = Config::load(&Source::new(flags, file.as_deref()));
    let config = config.map_err(|lines| CommandError { lines, code: 2 })?;
    let ctx = CommandContext { json: cli.json, config };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(dispatch(cli.command, &ctx))
}

/// The matches of the innermost subcommand, which also contain global flags.
fn innermost_matches(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| innermost_matches(inner))
}

async fn dispatch(subcommand: TopCommand, ctx: &CommandContext) -> CommandResult {
    match subcommand {
        TopCommand::Serve(serve) => serve.run(ctx).await,
        TopCommand::Migrate(migrate) => migrate.run(ctx).await,
        TopCommand::Seed(seed) => seed.run(ctx).await,
        TopCommand::Account(subcommand) => subcommand.run(ctx).await,
        TopCommand::Key(subcommand) => subcommand.run(ctx).await,
        TopCommand::User(subcommand) => subcommand.run(ctx).await,
        TopCommand::SetUpLink => users::set_up_link(ctx).await,
        TopCommand::OauthApp(subcommand) => subcommand.run(ctx).await,
        TopCommand::Doctor => data::doctor(ctx).await,
        TopCommand::Backup(subcommand) => subcommand.run(ctx).await,
        TopCommand::Restore(restore) => restore.run(ctx).await,
        TopCommand::Config(subcommand) => config_command(ctx, &subcommand),
        TopCommand::Openapi => Ok(std::io::stdout().write_all(crate::openapi_json().as_bytes())?),
        TopCommand::Healthcheck => serve::healthcheck(ctx).await,
        TopCommand::Completions(Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), "touchline", &mut script);
            let script = String::from_utf8_lossy(&script);
            ctx.print(&json!({ "completions": script }), || script.trim_end().to_owned())
        }
    }
}

fn config_command(ctx: &CommandContext, subcommand: &ConfigCommand) -> CommandResult {
    let values: BTreeMap<_, _> = ctx.config.display_values().into_iter().collect();
    match subcommand {
        ConfigCommand::Template => {
            let template = Config::template();
            ctx.print(&json!({ "template": template }), || template.trim_end().to_owned())
        }
        ConfigCommand::Show => ctx.print(&json!({ "config": values }), || {
            lines(&ctx.config.display_values(), |(name, value)| format!("{name} = {value:?}"))
        }),
        ConfigCommand::Check => {
            ctx.print(&json!({ "valid": true }), || "The settings are valid.".to_owned())
        }
    }
}
