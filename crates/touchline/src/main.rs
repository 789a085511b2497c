//! The `touchline` program. Its commands are in [`touchline::cli`].

/// Requests allocate on one thread and free on another, which is slow with the system allocator. SQLite
/// uses this allocator too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    touchline::cli::run()
}
