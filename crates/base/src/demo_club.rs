//! The demo club while it is created. Each module adds its part.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;

use crate::error::{Error, Result};

/// What the modules have created so far, for later modules.
#[derive(Debug, Default)]
pub struct DemoClub {
    objects: HashMap<TypeId, Box<dyn Any + Send>>,
}

impl DemoClub {
    /// Keeps a value for later modules.
    pub fn insert<T: Send + 'static>(&mut self, value: T) {
        self.objects.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// The value that an earlier module has kept.
    pub fn get<T: Send + 'static>(&self) -> Result<&T> {
        let object = self.objects.get(&TypeId::of::<T>());
        let missing = || Error::internal(format!("{} is missing", type_name::<T>()));
        object.and_then(|object| object.downcast_ref()).ok_or_else(missing)
    }
}
