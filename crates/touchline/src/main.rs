//! The program `touchline`: everything it does is a command of [`touchline::cli`].

/// Requests allocate on one thread and free on another, which the system's allocator does slowly. SQLite
/// uses this one too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    touchline::cli::run()
}
