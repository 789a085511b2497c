//! The conditional request headers `If-Match` and `If-None-Match`.

use http::HeaderMap;
use http::header::{IF_MATCH, IF_NONE_MATCH};

use crate::prelude::*;

/// Reads `If-Match`: the versions that the caller wants to change.
pub fn if_match(headers: &HeaderMap) -> Result<IfMatch> {
    let Some(tags) = tags(headers, IF_MATCH)? else { return Ok(IfMatch::Absent) };
    if tags.contains(&Tag::Any) {
        return Ok(IfMatch::Any);
    }
    // A weak tag never matches here (RFC 9110), nor does one that is not a version.
    let versions = tags.iter().filter_map(|tag| match tag {
        Tag::Strong(text) => version_of(text),
        _ => None,
    });
    Ok(IfMatch::Versions(versions.collect()))
}

/// Whether `If-None-Match` contains this version, so that the caller already has it.
pub fn has_version(headers: &HeaderMap, version: i64) -> Result<bool> {
    any_tag(headers, |tag| version_of(tag) == Some(version))
}

/// Whether `If-None-Match` contains this entity tag, for responses whose tag is not a version.
pub fn has_tag(headers: &HeaderMap, current: &str) -> Result<bool> {
    any_tag(headers, |tag| tag == current)
}

fn any_tag(headers: &HeaderMap, matches: impl Fn(&str) -> bool) -> Result<bool> {
    let tags = tags(headers, IF_NONE_MATCH)?.unwrap_or_default();
    Ok(tags.iter().any(|tag| match tag {
        Tag::Any => true,
        Tag::Strong(text) | Tag::Weak(text) => matches(text),
    }))
}

#[derive(Debug, PartialEq)]
enum Tag {
    Any,
    Strong(String),
    Weak(String),
}

/// The entity tags of a header, which may be sent on several lines.
fn tags(headers: &HeaderMap, name: http::HeaderName) -> Result<Option<Vec<Tag>>> {
    let mut tags = Vec::new();
    for line in headers.get_all(&name) {
        let malformed = || {
            let detail = format!("The header {name} must contain entity tags such as \"3\".");
            Error::new(Code::InvalidRequest, detail)
        };
        let mut rest = Some(line.to_str().map_err(|_| malformed())?);
        while let Some(text) = rest {
            let (tag, after) = split_tag(text.trim_start()).ok_or_else(malformed)?;
            tags.push(tag);
            let after = after.trim_start();
            rest = after.strip_prefix(',');
            if rest.is_none() && !after.is_empty() {
                return Err(malformed());
            }
        }
    }
    Ok((!tags.is_empty()).then_some(tags))
}

/// Splits off the first tag. A tag may contain a comma, so the list cannot be split at commas.
fn split_tag(text: &str) -> Option<(Tag, &str)> {
    if let Some(rest) = text.strip_prefix('*') {
        return Some((Tag::Any, rest));
    }
    let (weak, quoted) = text.strip_prefix("W/").map_or((false, text), |rest| (true, rest));
    let (inside, rest) = quoted.strip_prefix('"')?.split_once('"')?;
    if !inside.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let inside = inside.to_owned();
    Some((if weak { Tag::Weak(inside) } else { Tag::Strong(inside) }, rest))
}

/// The version in a tag. `None` if the tag is not in the form that we send.
fn version_of(tag: &str) -> Option<i64> {
    tag.parse().ok().filter(|version: &i64| version.to_string() == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn if_match_takes_strong_tags_only() {
        assert_eq!(if_match(&HeaderMap::new()).unwrap(), IfMatch::Absent);
        assert_eq!(if_match(&with(IF_MATCH, "*")).unwrap(), IfMatch::Any);
        let several = if_match(&with(IF_MATCH, "\"1\", W/\"2\",\"x\" , \"3,4\",\"+5\"")).unwrap();
        assert_eq!(several, IfMatch::Versions(vec![1]));
        for malformed in ["3", "\"3", "", "\"1\" \"2\"", "\"1\",", "\"1 2\""] {
            assert!(if_match(&with(IF_MATCH, malformed)).is_err(), "{malformed}");
        }
    }

    #[test]
    fn if_none_match_compares_weakly() {
        assert!(has_version(&with(IF_NONE_MATCH, "\"1\", W/\"7\""), 7).unwrap());
        assert!(!has_version(&with(IF_NONE_MATCH, "\"1\""), 7).unwrap());
        assert!(!has_version(&HeaderMap::new(), 7).unwrap());
    }
}
