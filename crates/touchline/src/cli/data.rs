//! `touchline migrate`, `seed`, `doctor`, `backup` and `restore`.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Desk, Outcome, Refusal, refused};
use crate::app::App;
use crate::backup::signature::{Origin, PublicKey, SigningKey};
use crate::backup::{self, Manifest};
use crate::demo;
use crate::doctor::{self, Verdict};
use crate::error::Code;
use crate::migrations::STEPS;

#[derive(Debug, Args)]
pub(super) struct Migrate {
    /// Only say which steps are applied
    #[arg(long)]
    status: bool,
}

impl Migrate {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        let db = desk.open()?;
        let fresh = if self.status { Vec::new() } else { db.migrate(STEPS).await? };
        let applied = db.applied().await?;
        let steps: Vec<_> = STEPS
            .iter()
            .map(|step| {
                let at =
                    applied.iter().find(|done| done.name == step.name).map(|done| done.applied_at);
                json!({ "name": step.name, "applied_at": at })
            })
            .collect();
        desk.say(&json!({ "applied": fresh, "steps": steps }), || {
            let line = |step: &serde_json::Value| {
                let name = step["name"].as_str().unwrap_or_default();
                step["applied_at"]
                    .as_str()
                    .map_or(format!("{name}  waiting"), |at| format!("{name}  applied {at}"))
            };
            steps.iter().map(line).collect::<Vec<_>>().join("\n")
        })
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Seed {
    /// The demo club
    Demo {
        /// Remove it again, with everything in it
        #[arg(long)]
        remove: bool,
    },
}

impl Seed {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        let Self::Demo { remove } = self;
        let db = desk.open_migrated().await?;
        if remove {
            demo::remove(&db, &desk.config.data).await.map_err(|error| match error.code {
                Code::NotFound => Refusal::from("there is no demo club"),
                _ => refused(error),
            })?;
            return desk
                .say(&json!({ "removed": demo::ACCOUNT }), || "Removed the demo club.".to_owned());
        }
        super::private_folder(&desk.config.data)?;
        let options = desk.options();
        let app = App::new(desk.config.clone(), db.clone(), options.clock, options.dice);
        let account = demo::load(&app.await.map_err(refused)?).await.map_err(refused)?;
        let (key, value) = demo::key(&db, &desk.config.data).await.map_err(refused)?;
        let mut shown = serde_json::to_value(&key)?;
        shown["value"] = value.reveal().into();
        let said = json!({ "demo": { "account": account, "key": shown } });
        desk.say(&said, || format!("The demo club is there. Its key:\n\n  {}", value.reveal()))
    }
}

/// Looks at everything; fails if something does not work.
pub(super) async fn doctor(desk: &Desk) -> Outcome {
    let now = desk.options().clock.now();
    let findings = match desk.open() {
        Ok(db) => doctor::examine(&db, &desk.config, now).await,
        Err(refusal) => doctor::examine_without(&desk.config, now, &refusal.lines.join("; ")),
    };
    desk.say(&json!({ "findings": findings }), || {
        let line = |finding: &doctor::Finding| {
            let mark = match finding.verdict {
                Verdict::Well => "well",
                Verdict::Look => "LOOK",
                Verdict::Ill => "ILL ",
            };
            format!("{mark}  {:9} {}", finding.check, finding.detail)
        };
        findings.iter().map(line).collect::<Vec<_>>().join("\n")
    })?;
    let ill = findings.iter().filter(|finding| finding.verdict == Verdict::Ill).count();
    // In JSON the findings say it all: one object, and no more.
    let told = (!desk.json).then(|| format!("{ill} checks failed"));
    if ill == 0 { Ok(()) } else { Err(Refusal { lines: told.into_iter().collect(), code: 1 }) }
}

#[derive(Debug, Subcommand)]
pub(super) enum BackupVerb {
    /// Make a backup while the service runs
    Create {
        /// The file to make (a new one in the data folder's backups if left out)
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        /// Sign the backup with this key, which `backup key` makes
        #[arg(long, value_name = "KEYFILE")]
        sign: Option<PathBuf>,
    },
    /// Put a backup into a temporary database and check it
    Verify {
        file: PathBuf,
        #[command(flatten)]
        check: SignatureCheck,
    },
    /// Make a key that signs backups, and beside it the public key that checks them
    Key {
        /// The file to make; the public key gets the same name and .pub
        file: PathBuf,
    },
}

/// Whose signature a backup must have.
#[derive(Debug, Args)]
pub(super) struct SignatureCheck {
    /// Take only a backup that was signed with the key of this public key
    #[arg(long, value_name = "KEYFILE", visible_alias = "verify-key")]
    key: Option<PathBuf>,
}

impl SignatureCheck {
    fn key(&self) -> Result<Option<PublicKey>, Refusal> {
        Ok(self.key.as_deref().map(PublicKey::read).transpose()?)
    }
}

/// Shows on a terminal how far long work has come.
fn progress(table: &str, rows: u64) {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        // Progress is a courtesy; if it cannot be shown, the work goes on.
        let _ = write!(terminal, "\r{table}: {rows} rows ");
    }
}

fn told(manifest: &Manifest, file: &std::path::Path, origin: Origin) -> serde_json::Value {
    json!({ "backup": { "file": file, "rows": manifest.rows(), "signature": origin } })
}

impl BackupVerb {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        match self {
            Self::Create { to, sign } => create(desk, to, sign).await,
            Self::Verify { file, check } => {
                let key = check.key()?;
                let verified = backup::verify(&file, key.as_ref(), desk.options(), progress).await;
                let (manifest, origin) = verified?;
                desk.say(&told(&manifest, &file, origin), || {
                    let rows = manifest.rows();
                    format!("{} is complete: {rows} rows.\n{}", file.display(), origin.notice())
                })
            }
            Self::Key { file } => {
                let public = SigningKey::generate(&desk.options().dice)?.write(&file)?;
                desk.say(&json!({ "key": { "file": file, "public_key": public } }), || {
                    format!(
                        "Made the signing key {} and the public key {}. Keep the signing key secret, and a copy of the \
                         public key apart from the backups.",
                        file.display(),
                        public.display()
                    )
                })
            }
        }
    }
}

async fn create(desk: &Desk, to: Option<PathBuf>, sign: Option<PathBuf>) -> Outcome {
    let key = sign.as_deref().map(SigningKey::read).transpose()?;
    let now = desk.options().clock.now();
    let db = desk.open_migrated().await?;
    let to = if let Some(to) = to {
        to
    } else {
        super::private_folder(&desk.config.data.join("backups"))?;
        backup::default_path(&desk.config.data, now)
    };
    let manifest = backup::create(&db, &to, now, key.as_ref(), progress).await?;
    let origin = if key.is_some() { Origin::Verified } else { Origin::Unsigned };
    desk.say(&told(&manifest, &to, origin), || {
        let signed = if key.is_some() { " It is signed." } else { "" };
        format!("Made {} with {} rows.{signed}", to.display(), manifest.rows())
    })
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    file: PathBuf,
    #[command(flatten)]
    check: SignatureCheck,
}

impl Restore {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        let key = self.check.key()?;
        let db = desk.open()?;
        let (manifest, origin) = backup::restore(&db, &self.file, key.as_ref(), progress).await?;
        desk.say(&told(&manifest, &self.file, origin), || {
            format!("Restored {} rows.\n{}", manifest.rows(), origin.notice())
        })
    }
}
