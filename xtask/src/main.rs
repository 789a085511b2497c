//! The chores of this repository, as verbs of `cargo xtask`.
//!
//! Nothing has to be installed beforehand but Rust, Node and Python: what else is missing, the
//! verbs install and say so. Nothing they start outlives them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks there")]

mod bench;
mod ci;
mod guard;
mod install;
mod job;
mod migration;
mod openapi;
mod postgres;
mod scratch;
mod server;
mod suite;
mod tally;
mod web;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask VERB

  test [ARGS]      run every test on SQLite and PostgreSQL, then the checks from outside;
                   ARGS go to the test runner, which then runs alone
  web [FILES]      only the checks from outside, or only these of tests/web
  ci               formatting, lints, tests, generated files: what must pass before a change goes in
  gen [--check]    write openapi.json, or only say whether it is up to date
  migration NAME   start the next file in migrations/
  bench [ARGS]     measure the service";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((verb, args)) = words.split_first() else { return usage() };
    let outcome = match (verb.as_str(), args) {
        ("test", args) => suite::run(args),
        ("web", files) => suite::web(files),
        ("ci", []) => ci::run(),
        ("gen", []) => openapi::write(),
        ("gen", [flag]) if flag == "--check" => openapi::check(),
        ("migration", [_, ..]) => migration::create(args),
        ("bench", args) => bench::run(args),
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
