//! Pages for signing in.
