//! What a partial change says about one member: nothing, clear it, or set it.

/// The three things a PATCH can say about a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// The member was not sent.
    #[default]
    Keep,
    /// The member was sent as `null`.
    Clear,
    /// The member was sent with a value.
    Set(T),
}

impl<T> Change<T> {
    /// The value after the change, for a member that may be empty.
    pub fn apply(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }

    /// The value after the change, for a member that always has one; clearing gives `default`.
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
    fn keeps_clears_and_sets() {
        assert_eq!(Change::Keep.apply(Some(1)), Some(1));
        assert_eq!(Change::Clear.apply(Some(1)), None);
        assert_eq!(Change::Set(2).apply(None), Some(2));
        assert_eq!(Change::Clear.apply_or(1, 0), 0);
    }
}
