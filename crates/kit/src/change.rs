//! The change of one field in a PATCH request.

/// The change of one field: leave it, clear it or set it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// The field was not sent.
    #[default]
    Keep,
    /// The field was sent as `null`.
    Clear,
    /// The field was sent with a value.
    Set(T),
}

impl<T> Change<T> {
    /// Returns the new value of an optional field.
    pub fn apply(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }

    /// Returns the new value of a field that always has one; clearing it sets `default`.
    pub fn apply_or(self, before: T, default: T) -> T {
        match self {
            Self::Keep => before,
            Self::Clear => default,
            Self::Set(value) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Change;

    #[test]
    fn a_change_keeps_clears_or_sets_the_value() {
        assert_eq!(Change::Keep.apply(Some(1)), Some(1));
        assert_eq!(Change::Clear.apply(Some(1)), None);
        assert_eq!(Change::Set(2).apply(None), Some(2));
        assert_eq!(Change::Clear.apply_or(1, 0), 0);
    }
}
