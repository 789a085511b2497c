//! The options of a database.

use std::path::PathBuf;
use std::sync::Arc;

use kit::{Clock, Rng};

/// How to open a database.
#[derive(Debug, Clone)]
pub struct Options {
    /// `sqlite:PATH` or `postgres://…`.
    pub url: String,
    /// A PEM file with a certificate authority to trust for PostgreSQL, in addition to the public ones.
    pub ca_file: Option<PathBuf>,
    /// The number of connections to PostgreSQL; half of them write. One more connection listens to other nodes.
    pub connections: usize,
    /// The number of reads and of writes that may wait before new ones fail with [`Error::Overloaded`].
    pub queue_limit: usize,
    /// The clock of the process.
    pub clock: Clock,
    /// The random number generator of the process.
    pub rng: Arc<Rng>,
}
