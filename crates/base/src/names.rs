//! Display names of ids, for pages such as the audit log. All names of a page are looked up together. Each module declares
//! the names of its objects.

use std::collections::HashMap;
use std::sync::OnceLock;

use kit::{Id, Kind};
use store::{Reader, bind};

use crate::error::Result;

/// The maximum number of characters of a name. Longer names are truncated.
const MAX_CHARS: usize = 80;

/// The names of some ids. Ids of other kinds are ignored.
type Load = fn(&Reader<'_>, &[&str]) -> Result<Vec<(String, String)>>;

/// How the objects of one kind are named.
#[derive(Debug, Clone, Copy)]
pub struct ObjectNames {
    /// The prefix of their ids.
    pub prefix: &'static str,
    /// The label of an object without a name, in English.
    pub label: &'static str,
    /// Looks up their names; `None` if they have none.
    pub load: Option<Load>,
}

/// The names of a module's objects: the kind of their ids, the label of an object without a name, the statement that reads
/// ids and names, and a function that formats a name.
#[macro_export]
macro_rules! object_names {
    (@load $kind:ty) => { None };
    (@load $kind:ty, $sql:literal) => {
        Some(|db, ids| $crate::names::read::<$kind>(db, ids, $sql))
    };
    (@load $kind:ty, $sql:literal, $format:expr) => {
        Some(|db, ids| {
            let mut names = $crate::names::read::<$kind>(db, ids, $sql)?;
            for (_, name) in &mut names {
                *name = $format(name);
            }
            Ok(names)
        })
    };
    ($($kind:ty: $label:expr $(, $rest:expr)*;)+) => {
        &[$($crate::names::ObjectNames {
            prefix: <$kind as ::kit::Kind>::PREFIX,
            label: $label,
            load: $crate::object_names!(@load $kind $(, $rest)*),
        },)+]
    };
}

static REGISTERED: OnceLock<Vec<&'static ObjectNames>> = OnceLock::new();

/// Registers the names of all modules when the process starts. Later calls change nothing.
pub fn register(names: impl Iterator<Item = &'static ObjectNames>) {
    REGISTERED.get_or_init(|| names.collect());
}

fn registered() -> impl Iterator<Item = &'static ObjectNames> {
    REGISTERED.get().into_iter().flatten().copied()
}

/// Reads the names of the ids of one kind.
pub fn read<K: Kind + 'static>(
    db: &Reader<'_>,
    ids: &[&str],
    sql: &'static str,
) -> Result<Vec<(String, String)>> {
    let ids: Vec<Id<K>> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<(Id<K>, Option<String>)> = db.all(sql, bind! { ids })?;
    Ok(rows.into_iter().filter_map(|(id, name)| Some((id.to_string(), name?))).collect())
}

/// Display names by id.
#[derive(Debug, Default)]
pub struct Names(HashMap<String, String>);

impl Names {
    /// Looks up the names of these ids. People who have left the club have no name.
    pub fn load<'a>(db: &Reader<'_>, ids: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let ids: Vec<_> = ids.into_iter().collect();
        let mut names = HashMap::new();
        for load in registered().filter_map(|object| object.load) {
            let truncate = |name: String| name.chars().take(MAX_CHARS).collect();
            names.extend(load(db, &ids)?.into_iter().map(|(id, name)| (id, truncate(name))));
        }
        Ok(Self(names))
    }

    /// Returns the name of an id, if it has one.
    pub fn get(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }

    /// Returns the name of an id, or the id itself.
    pub fn get_or_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.get(id).unwrap_or(id)
    }
}

/// Whether a text looks like an id: a prefix, `_`, and 26 letters and digits.
pub fn is_id(text: &str) -> bool {
    let Some((prefix, rest)) = text.split_once('_') else { return false };
    let plain =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    !prefix.is_empty() && rest.len() == 26 && plain(prefix) && plain(rest)
}

/// Returns a label for an id that has no name, by its prefix. The label is in English.
pub fn kind_label(id: &str) -> Option<&'static str> {
    let (prefix, _) = id.split_once('_').filter(|_| is_id(id))?;
    registered().find(|object| object.prefix == prefix).map(|object| object.label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{OrderId, OrderKind};

    const NAMES: &[ObjectNames] = crate::object_names! {
        OrderKind: "Order";
    };

    #[test]
    fn ids_are_recognized() {
        register(NAMES.iter());
        let id = OrderId::from_bits(7 << 76).to_string();
        assert!(is_id(&id));
        assert_eq!(kind_label(&id), Some("Order"));
        for text in ["", "demo", "team_", "thing_7", "ord_ABC", "a sentence_with more"] {
            assert!(!is_id(text) && kind_label(text).is_none(), "{text}");
        }
    }
}
