//! The program `touchline`: everything it does is a command of [`touchline::cli`].

fn main() -> std::process::ExitCode {
    touchline::cli::run()
}
