//! What the jobs of one transaction leave for each other.
//!
//! Jobs that are committed together see each other's changes. A value that a job has just written need
//! not be read again by the next: it is noted here, by account, and forgotten if the job is undone.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;

type Notes = HashMap<(u128, TypeId), Box<dyn Any>>;

/// The notes of one transaction.
#[derive(Default)]
pub(crate) struct Memory {
    kept: RefCell<Notes>,
    /// Those of the job that is running.
    fresh: RefCell<Notes>,
}

impl Memory {
    pub(crate) fn recall<T: Any + Clone>(&self, account: u128) -> Option<T> {
        let key = (account, TypeId::of::<T>());
        let found = |notes: &RefCell<Notes>| notes.borrow().get(&key)?.downcast_ref::<T>().cloned();
        found(&self.fresh).or_else(|| found(&self.kept))
    }

    pub(crate) fn note<T: Any>(&self, account: u128, value: T) {
        self.fresh.borrow_mut().insert((account, TypeId::of::<T>()), Box::new(value));
    }

    /// The job is kept, and its notes with it.
    pub(crate) fn keep(&self) {
        self.kept.borrow_mut().extend(self.fresh.borrow_mut().drain());
    }

    /// The job is undone, and its notes with it.
    pub(crate) fn undo(&self) {
        self.fresh.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_live_as_long_as_what_they_are_about() {
        let memory = Memory::default();
        memory.note(1, 10i32);
        assert_eq!((memory.recall(1), memory.recall::<i32>(2)), (Some(10i32), None));
        memory.keep();
        memory.note(1, 11i32);
        assert_eq!(memory.recall(1), Some(11i32));
        memory.undo();
        assert_eq!((memory.recall(1), memory.recall::<u8>(1)), (Some(10i32), None));
    }
}
