//! `touchline migrate`, `seed`, `doctor`, `backup` and `restore`.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CommandContext, CommandError, CommandResult, lines, with_secret};
use crate::accounts::account::Account;
use crate::backup::signature::{Origin, PublicKey, SigningKey};
use crate::backup::{self, Manifest};
use crate::demo;
use crate::doctor::{self, CheckStatus};
use crate::error::Code;
use crate::file_store::FileStore;
use crate::migrations::MIGRATIONS;
use crate::web::app::App;

#[derive(Debug, Args)]
pub(super) struct Migrate {
    /// Only print which migrations are applied
    #[arg(long)]
    status: bool,
}

impl Migrate {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        let db = ctx.open()?;
        let newly_applied = if self.status { Vec::new() } else { db.migrate(MIGRATIONS).await? };
        let applied = db.applied_migrations().await?;
        let steps: Vec<_> = MIGRATIONS
            .iter()
            .map(|step| {
                let at =
                    applied.iter().find(|done| done.name == step.name).map(|done| done.applied_at);
                json!({ "name": step.name, "applied_at": at })
            })
            .collect();
        ctx.print(&json!({ "applied": newly_applied, "steps": steps }), || {
            lines(&steps, |step| {
                let name = step["name"].as_str().unwrap_or_default();
                let at = step["applied_at"].as_str();
                at.map_or(format!("{name}  pending"), |at| format!("{name}  applied {at}"))
            })
        })
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Seed {
    /// The demo club
    Demo {
        /// Delete the demo club and all its data
        #[arg(long)]
        remove: bool,
    },
}

impl Seed {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        let Self::Demo { remove } = self;
        if remove {
            let db = ctx.open_migrated().await?;
            demo::remove(&db, &ctx.config.data).await.map_err(|error| match error.code {
                Code::NotFound => "there is no demo club to delete".into(),
                _ => CommandError::from(error),
            })?;
            return ctx.print(&json!({ "removed": demo::ACCOUNT }), || {
                "Deleted the demo club.".to_owned()
            });
        }
        let (account, _) = load_demo_club(ctx).await?;
        let db = ctx.open_migrated().await?;
        let (key, value) = demo::key(&db, &ctx.config.data).await?;
        let key_json = with_secret(&key, "value", value.reveal())?;
        let object = json!({ "demo": { "account": account, "key": key_json } });
        ctx.print(&object, || {
            format!("The demo club is ready. Its API key:\n\n  {}", value.reveal())
        })
    }
}

/// Runs all checks. Fails if one of them failed.
pub(super) async fn doctor(ctx: &CommandContext) -> CommandResult {
    let now = ctx.options().clock.now();
    let findings = match ctx.open() {
        Ok(db) => doctor::run_checks(&db, &ctx.config, now).await,
        Err(error) => {
            doctor::run_checks_without_database(&ctx.config, now, &error.lines.join("; "))
        }
    };
    ctx.print(&json!({ "findings": findings }), || {
        lines(&findings, |finding| {
            let mark = match finding.verdict {
                CheckStatus::Passed => "ok  ",
                CheckStatus::Warning => "WARN",
                CheckStatus::Failed => "FAIL",
            };
            format!("{mark}  {:9} {}", finding.check, finding.detail)
        })
    })?;
    let failed = findings.iter().filter(|finding| finding.verdict == CheckStatus::Failed).count();
    // JSON output is exactly one object, which already contains the findings.
    let noun = if failed == 1 { "check" } else { "checks" };
    let line = (!ctx.json).then(|| format!("{failed} {noun} failed"));
    if failed == 0 {
        Ok(())
    } else {
        Err(CommandError { lines: line.into_iter().collect(), code: 1 })
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum BackupCommand {
    /// Create a backup. The service may be running
    Create {
        /// The file to create (default: a new file in the directory backups of the data directory)
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        /// Sign the backup with this key file, which `backup key` creates
        #[arg(long, value_name = "KEYFILE")]
        sign: Option<PathBuf>,
    },
    /// Verify a backup by restoring it into a temporary database
    Verify {
        file: PathBuf,
        #[command(flatten)]
        check: SignatureCheck,
    },
    /// Create a key for signing backups, and the public key for verifying them
    Key {
        /// The file to create. The public key gets the same name with .pub appended
        file: PathBuf,
    },
}

/// The required signature of a backup.
#[derive(Debug, Args)]
pub(super) struct SignatureCheck {
    /// Accept only a backup that was signed with the key of this public key file
    #[arg(long, value_name = "KEYFILE", visible_alias = "verify-key")]
    key: Option<PathBuf>,
}

impl SignatureCheck {
    fn key(&self) -> Result<Option<PublicKey>, CommandError> {
        Ok(self.key.as_deref().map(PublicKey::read).transpose()?)
    }
}

/// Shows the progress on a terminal.
fn print_progress(table: &str, rows: u64) {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        // If the progress cannot be shown, the work goes on.
        let _ = write!(terminal, "\r{table}: {rows} rows ");
    }
}

fn backup_json(manifest: &Manifest, file: &std::path::Path, origin: Origin) -> serde_json::Value {
    json!({ "backup": {
        "file": file,
        "rows": manifest.rows(),
        "files": manifest.files(),
        "missing_files": manifest.missing_files(),
        "signature": origin,
    } })
}

/// The number of uploaded files, and how many could not be backed up. Empty without any.
fn describe_files(manifest: &Manifest) -> String {
    let missing = match manifest.missing_files().len() {
        0 => String::new(),
        count => format!(
            " {count} files are missing or damaged in the file store and not in the backup."
        ),
    };
    match manifest.files() {
        0 => missing,
        count => format!(" It contains {count} uploaded files.{missing}"),
    }
}

impl BackupCommand {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        match self {
            Self::Create { to, sign } => create(ctx, to, sign).await,
            Self::Verify { file, check } => {
                let key = check.key()?;
                let verified =
                    backup::verify(&file, key.as_ref(), ctx.options(), print_progress).await;
                let (manifest, origin) = verified?;
                ctx.print(&backup_json(&manifest, &file, origin), || {
                    let rows = manifest.rows();
                    let files = describe_files(&manifest);
                    format!("{} is valid: {rows} rows.{files}\n{}", file.display(), origin.notice())
                })
            }
            Self::Key { file } => {
                let public = SigningKey::generate(&ctx.options().rng)?.write(&file)?;
                ctx.print(&json!({ "key": { "file": file, "public_key": public } }), || {
                    format!(
                        "Created the signing key {} and the public key {}. Keep the signing key secret, and store a copy of \
                         the public key apart from the backups.",
                        file.display(),
                        public.display()
                    )
                })
            }
        }
    }
}

async fn create(ctx: &CommandContext, to: Option<PathBuf>, sign: Option<PathBuf>) -> CommandResult {
    let key = sign.as_deref().map(SigningKey::read).transpose()?;
    let now = ctx.options().clock.now();
    let (db, store) = (ctx.open_migrated().await?, FileStore::new(&ctx.config)?);
    let to = if let Some(to) = to {
        to
    } else {
        super::private_folder(&ctx.config.data.join("backups"))?;
        backup::default_path(&ctx.config.data, now)
    };
    let manifest = backup::create((&db, &store), &to, now, key.as_ref(), print_progress).await?;
    let origin = if key.is_some() { Origin::Verified } else { Origin::Unsigned };
    ctx.print(&backup_json(&manifest, &to, origin), || {
        let signed = if key.is_some() { " It is signed." } else { "" };
        let files = describe_files(&manifest);
        format!("Created {} with {} rows.{files}{signed}", to.display(), manifest.rows())
    })
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    file: PathBuf,
    #[command(flatten)]
    check: SignatureCheck,
}

impl Restore {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        let key = self.check.key()?;
        let (db, store) = (ctx.open()?, FileStore::new(&ctx.config)?);
        let into = (&db, Some(&store));
        let restored = backup::restore(into, &self.file, key.as_ref(), print_progress).await;
        let (manifest, origin) = restored?;
        ctx.print(&backup_json(&manifest, &self.file, origin), || {
            let files = describe_files(&manifest);
            format!("Restored {} rows.{files}\n{}", manifest.rows(), origin.notice())
        })
    }
}

/// Loads the demo club with its API key and its users. Returns whether it was created now.
pub(super) async fn load_demo_club(ctx: &CommandContext) -> Result<(Account, bool), CommandError> {
    super::private_folder(&ctx.config.data)?;
    let (db, options) = (ctx.open_migrated().await?, ctx.options());
    let app = App::new(ctx.config.clone(), db.clone(), options.clock, options.rng);
    let loaded = demo::load(&app.await?).await?;
    demo::key(&db, &ctx.config.data).await?;
    demo::ensure_users(&db, &ctx.config.data).await?;
    db.close();
    Ok(loaded)
}
