//! `If-Match` and `If-None-Match`.

use http::HeaderMap;
use http::header::{IF_MATCH, IF_NONE_MATCH};

use crate::error::{Code, Error, Result};
use crate::expected::Expected;

/// What the caller expects to change.
pub fn if_match(headers: &HeaderMap) -> Result<Expected> {
    let Some(tags) = tags(headers, IF_MATCH)? else { return Ok(Expected::Anything) };
    if tags.contains(&Tag::Any) {
        return Ok(Expected::Something);
    }
    // A weak tag never matches here (RFC 9110), nor does one we never gave out.
    let versions = tags.iter().filter_map(|tag| match tag {
        Tag::Strong(text) => version_of(text),
        _ => None,
    });
    Ok(Expected::Versions(versions.collect()))
}

/// Whether the caller already has what would be sent.
pub fn none_match(headers: &HeaderMap, version: i64) -> Result<bool> {
    has(headers, |tag| version_of(tag) == Some(version))
}

/// Whether the caller already has what would be sent, by a tag that is not a version.
pub fn has_tag(headers: &HeaderMap, own: &str) -> Result<bool> {
    has(headers, |tag| tag == own)
}

fn has(headers: &HeaderMap, own: impl Fn(&str) -> bool) -> Result<bool> {
    let tags = tags(headers, IF_NONE_MATCH)?.unwrap_or_default();
    Ok(tags.iter().any(|tag| match tag {
        Tag::Any => true,
        Tag::Strong(text) | Tag::Weak(text) => own(text),
    }))
}

#[derive(Debug, PartialEq)]
enum Tag {
    Any,
    Strong(String),
    Weak(String),
}

/// The entity tags of a header, which may stand in several lines.
fn tags(headers: &HeaderMap, name: http::HeaderName) -> Result<Option<Vec<Tag>>> {
    let mut tags = Vec::new();
    for line in headers.get_all(&name) {
        let malformed = || {
            let detail = format!("The header {name} holds no entity tags such as \"3\".");
            Error::new(Code::InvalidRequest, detail)
        };
        let mut rest = Some(line.to_str().map_err(|_| malformed())?);
        while let Some(text) = rest {
            let (tag, after) = first(text.trim_start()).ok_or_else(malformed)?;
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

/// The tag that a text begins with, and what comes after it. A comma may stand inside a tag.
fn first(text: &str) -> Option<(Tag, &str)> {
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

/// The version that a tag stands for, if it is written as we write it.
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
        assert_eq!(if_match(&HeaderMap::new()).unwrap(), Expected::Anything);
        assert_eq!(if_match(&with(IF_MATCH, "*")).unwrap(), Expected::Something);
        let several = if_match(&with(IF_MATCH, "\"1\", W/\"2\",\"x\" , \"3,4\",\"+5\"")).unwrap();
        assert_eq!(several, Expected::Versions(vec![1]));
        for malformed in ["3", "\"3", "", "\"1\" \"2\"", "\"1\",", "\"1 2\""] {
            assert!(if_match(&with(IF_MATCH, malformed)).is_err(), "{malformed}");
        }
    }

    #[test]
    fn if_none_match_compares_weakly() {
        assert!(none_match(&with(IF_NONE_MATCH, "\"1\", W/\"7\""), 7).unwrap());
        assert!(!none_match(&with(IF_NONE_MATCH, "\"1\""), 7).unwrap());
        assert!(!none_match(&HeaderMap::new(), 7).unwrap());
    }
}
