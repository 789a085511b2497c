//! How fast the service is.

/// Measures the service.
pub(crate) fn run(_args: &[String]) -> Result<(), String> {
    Err("the benchmark is not part of this build yet".into())
}
