//! The development tasks of this repository, as commands of `cargo xtask`.
//!
//! Rust, Node and Python must be installed. The commands install everything else that is missing, and say so.
//! All processes that they start end with them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool prints")]

mod bench;
mod ci;
mod client;
mod dist;
mod guard;
mod i18n;
mod install;
mod job;
mod migration;
mod openapi;
mod postgres;
mod scratch;
mod server;
mod suite;
mod test_counts;
mod web;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [ARGS]      run all tests on SQLite and PostgreSQL, then the web checks;
                   with ARGS, only the test runner runs, with these arguments
  test --only AREA run only the tests of one module, such as dues or webhooks
  web [FILES]      run the web checks, or only these files of tests/web
  screenshots      take the pictures of the README, in docs/images
  ci               check formatting, lints, tests and generated files; must pass before a merge
  gen [--check]    write openapi.json and the generated files of the TypeScript client; with --check, only check that
                   they are up to date
  docs             write the documentation of the TypeScript client
  i18n [--check]   extract all texts into locale/touchline.pot and add new ones to locale/*.po; with --check, only
                   check that the template is up to date and every catalogue complete
  i18n --list [PATH]
                   list texts below PATH that are not marked for translation yet
  migration NAME   create the next file in migrations/
  bench [ARGS]     run the benchmarks
  dist [--check] [--binary PROGRAM]
                   create the packages of a release; with --check, install and test them in a new Debian;
                   with --binary, package this program instead of building one";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, args)) = arguments.split_first() else { return usage() };
    let result = match (command.as_str(), args) {
        ("test", args) => suite::run(args),
        ("web", files) => suite::web(files),
        ("screenshots", []) => suite::web(&["screenshots.mjs".to_owned()]),
        ("ci", []) => ci::run(),
        ("gen", []) => openapi::write().and_then(|()| client::write()),
        ("gen", [flag]) if flag == "--check" => openapi::check().and_then(|()| client::check()),
        ("docs", []) => client::document(),
        ("i18n", []) => i18n::update(),
        ("i18n", [flag]) if flag == "--check" => i18n::check(),
        ("i18n", [flag, path @ ..]) if flag == "--list" => i18n::list(path),
        ("migration", [_, ..]) => migration::create(args),
        ("bench", args) => bench::run(args),
        ("dist", args) => dist::run(args),
        _ => return usage(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
