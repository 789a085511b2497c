//! How a team looks on pages: its color, and a crest in that color.
//!
//! The Content-Security-Policy forbids style attributes, so a page names the colors that it needs in the URL of a
//! stylesheet ([`sheet_href`]), which has one class for each color. The sheet depends on nothing but its URL.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};

use super::assets::{accepts_gzip, gzip_fast};
use super::path::PathParams;
use crate::error::{Error, Result};
use crate::ids::TeamId;
use crate::web::app::App;

/// The maximum number of colors in a stylesheet. Further teams on a page are shown without color.
const MAX_COLORS: usize = 64;
/// The contrast that text needs (WCAG 2.2, level AA).
const MIN_CONTRAST: f64 = 4.5;
/// The colors of teams that have none, chosen by the team's id.
const DEFAULT_COLORS: [&str; 8] =
    ["b3122f", "0b6b78", "1d2f6f", "2f6b3a", "5b3a86", "b4540a", "16324f", "8a1c5b"];
/// The patterns of crests, as names of icons.
const PATTERNS: [&str; 4] = ["crest-sash", "crest-stripes", "crest-hoops", "crest-chief"];

/// A color with red, green and blue from 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Color([u8; 3]);

/// The color of every club.
pub const CLUB_COLOR: Color = Color([0x16, 0x32, 0x4f]);
const WHITE: Color = Color([255; 3]);
const BLACK: Color = Color([0x16, 0x18, 0x1a]);

impl Color {
    /// Parses `rrggbb`, with or without `#`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        let is_color = digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_color)?;
        let [_, red, green, blue] = value.to_be_bytes();
        Some(Self([red, green, blue]))
    }

    fn hex(self) -> String {
        let [red, green, blue] = self.0;
        format!("{red:02x}{green:02x}{blue:02x}")
    }

    /// The relative luminance as WCAG defines it.
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// The contrast to another color, from 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        a.max(b) / a.min(b)
    }

    /// Mixes in a share of another color, in percent.
    fn mix(self, other: Self, percent: u32) -> Self {
        let mix = |(a, b): (u8, u8)| {
            let sum = u32::from(a) * (100 - percent) + u32::from(b) * percent;
            u8::try_from(sum / 100).unwrap_or(u8::MAX)
        };
        let [a, b] = [self.0, other.0];
        Self([mix((a[0], b[0])), mix((a[1], b[1])), mix((a[2], b[2]))])
    }

    /// The background of a team, and the color of text on it. The background is the team's color, made a little darker
    /// if neither white nor black text has enough contrast on it and on the lighter stripes of a band.
    pub fn background_and_text(self) -> (Self, Self) {
        let mut background = self;
        loop {
            for text in [WHITE, BLACK] {
                let stripe = background.mix(text, 6);
                if stripe.contrast(text).min(background.contrast(text)) >= MIN_CONTRAST {
                    return (background, text);
                }
            }
            background = background.mix(BLACK, 4);
        }
    }
}

/// How a team looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamLook {
    pub color: Color,
    pattern: &'static str,
    initials: String,
    /// The URL of the uploaded logo, which replaces the crest.
    pub logo: Option<String>,
}

impl TeamLook {
    /// The look of a team. A team without a color gets one by its id.
    pub fn new(id: TeamId, name: &str, color: Option<&str>) -> Self {
        let number = usize::try_from(id.bits() % 8).unwrap_or_default();
        let default = || Color::parse(DEFAULT_COLORS[number]).unwrap_or(BLACK);
        Self {
            color: color.and_then(Color::parse).unwrap_or_else(default),
            pattern: PATTERNS[usize::try_from(id.bits() / 8 % 4).unwrap_or_default()],
            initials: initials(name, 1),
            logo: None,
        }
    }

    /// The look of a club, which has no color of its own.
    pub fn of_club(name: &str) -> Self {
        Self { color: CLUB_COLOR, pattern: "crest-chief", initials: initials(name, 2), logo: None }
    }

    /// The look with the uploaded logo at this URL, if there is one.
    pub fn with_logo(self, logo: Option<String>) -> Self {
        Self { logo, ..self }
    }

    /// The class for the color, to be used together with `tc`.
    pub fn class(&self) -> String {
        format!("c-{}", self.color.hex())
    }

    /// The icon with the pattern of the crest.
    pub fn pattern(&self) -> &'static str {
        self.pattern
    }

    /// The letters on the crest.
    pub fn initials(&self) -> &str {
        &self.initials
    }
}

/// The first letters of the words of a name, at most `max`.
pub fn initials(name: &str, max: usize) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric());
    let letters = words.filter_map(|word| word.chars().next()).take(max);
    letters.flat_map(char::to_uppercase).collect()
}

/// The URL of the stylesheet with these colors. Empty without colors.
pub fn sheet_href(colors: impl IntoIterator<Item = Color>) -> String {
    let colors: BTreeSet<_> = colors.into_iter().take(MAX_COLORS).collect();
    if colors.is_empty() {
        return String::new();
    }
    let names: Vec<_> = colors.into_iter().map(Color::hex).collect();
    format!("/assets/colors/{}.css", names.join("."))
}

/// `/assets/colors/{colors}.css`.
pub fn router() -> Router<App> {
    Router::new().route("/assets/colors/{file}", get(serve))
}

async fn serve(PathParams(file): PathParams<String>, headers: HeaderMap) -> Result<Response> {
    let names = file.strip_suffix(".css").ok_or_else(Error::not_found)?;
    let colors: Option<Vec<_>> = names.split('.').take(MAX_COLORS + 1).map(Color::parse).collect();
    let colors = colors.filter(|all| all.len() <= MAX_COLORS).ok_or_else(Error::not_found)?;
    let fixed = [
        (CONTENT_TYPE, "text/css; charset=utf-8"),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (VARY, "accept-encoding"),
    ];
    let sheet = sheet(&colors);
    if accepts_gzip(&headers) {
        let encoding = [(CONTENT_ENCODING, "gzip")];
        return Ok((fixed, encoding, gzip_fast(sheet.as_bytes())).into_response());
    }
    Ok((fixed, sheet).into_response())
}

fn sheet(colors: &[Color]) -> String {
    let mut css = String::from("@layer club{");
    for color in colors {
        let (background, text) = color.background_and_text();
        let (name, team, on) = (color.hex(), background.hex(), text.hex());
        let _ = write!(css, ".c-{name}{{--team:#{team};--team-2:#{on};--on:#{on}}}");
    }
    css + "}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_readable_on_every_color() {
        let steps = [0, 51, 102, 119, 128, 153, 204, 255];
        for red in steps {
            for green in steps {
                for blue in steps {
                    let (background, text) = Color([red, green, blue]).background_and_text();
                    assert!(background.contrast(text) >= MIN_CONTRAST, "{red} {green} {blue}");
                }
            }
        }
        let yellow = Color::parse("#ffd21f").unwrap();
        assert_eq!(yellow.background_and_text(), (yellow, BLACK));
        assert_eq!(WHITE.background_and_text().1, BLACK);
        assert_eq!(Color([0; 3]).background_and_text(), (Color([0; 3]), WHITE));
    }

    #[test]
    fn a_sheet_names_each_color_once_and_a_team_without_color_gets_one() {
        let red = TeamLook::new(TeamId::from_bits(9), "Hawks U12", Some("#B3122F"));
        assert_eq!((red.class().as_str(), red.initials()), ("c-b3122f", "H"));
        assert_eq!(sheet_href([red.color, red.color]), "/assets/colors/b3122f.css");
        assert_eq!(sheet_href([]), "");
        assert_eq!(
            sheet(&[red.color]),
            "@layer club{.c-b3122f{--team:#b3122f;--team-2:#ffffff;--on:#ffffff}}"
        );
        let plain = TeamLook::new(TeamId::from_bits(9), "🏉 <b>", Some("red"));
        assert_eq!((plain.class().as_str(), plain.initials()), ("c-0b6b78", "B"));
        assert_eq!(Color::parse("+12345"), None);
    }
}
