//! Calls from a module into a module that depends on it.
//!
//! A module may only use modules below it. If something that it does must have an effect in a module above, it declares
//! a [`Hook`], and the other module registers its function when the process starts.

use std::sync::OnceLock;

use crate::error::{Error, Result};

/// A function that another module provides.
pub struct Hook<F> {
    name: &'static str,
    function: OnceLock<F>,
}

impl<F: Copy> Hook<F> {
    /// A hook without a function. `name` appears in the error if none is registered.
    pub const fn new(name: &'static str) -> Self {
        Self { name, function: OnceLock::new() }
    }

    /// Registers the function. Later registrations are ignored.
    pub fn register(&self, function: F) {
        let _ = self.function.set(function);
    }

    /// The function. It is an error if none is registered, because its effect would be lost.
    pub fn get(&self) -> Result<F> {
        let missing = || Error::internal(format!("the hook {} is not registered", self.name));
        self.function.get().copied().ok_or_else(missing)
    }
}
