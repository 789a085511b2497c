//! Writes iCalendar content lines: folded at 75 octets, terminated by CRLF, with escaped texts.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use crate::time::{LocalTime, Timestamp, Zone};

/// The maximum number of octets of a line, without CRLF.
const WIDTH: usize = 75;

/// Builds the text of a calendar line by line.
pub(super) struct LineWriter {
    out: String,
    /// The number of octets in the current line.
    width: usize,
}

impl LineWriter {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { out: String::with_capacity(bytes), width: 0 }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Writes a line whose value needs no escaping: a number, a time or a keyword.
    pub(super) fn plain(&mut self, name: &str, value: impl Display) {
        self.begin(name);
        write!(self, "{value}").expect("writing to a string cannot fail");
        self.end();
    }

    /// Writes a time in UTC.
    pub(super) fn moment(&mut self, name: &str, moment: Timestamp) {
        self.plain(name, format_args!("{}Z", Zone::utc().local(moment).compact()));
    }

    /// Writes a local time with its zone.
    pub(super) fn local(&mut self, name: &str, local: LocalTime, zone: &Zone) {
        self.push(name);
        self.push(";TZID=");
        self.plain(zone.name(), local.compact());
    }

    /// Writes a line with an escaped text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.begin(name);
        self.push_escaped(text);
        self.end();
    }

    /// Writes a line with several escaped texts, or no line if there are none.
    pub(super) fn texts(&mut self, name: &str, texts: &[Cow<'_, str>]) {
        for (index, text) in texts.iter().enumerate() {
            if index == 0 {
                self.begin(name);
            } else {
                self.push(",");
            }
            self.push_escaped(text);
        }
        if !texts.is_empty() {
            self.end();
        }
    }

    /// Writes a line with a URL, which is not escaped. Control characters are removed, because they could end the line.
    pub(super) fn url(&mut self, name: &str, address: &str) {
        self.begin(name);
        for part in address.split(|c: char| c.is_control()) {
            self.push(part);
        }
        self.end();
    }

    /// Writes an escaped text. Control characters other than tab and line feed are not allowed in a calendar and are
    /// removed.
    fn push_escaped(&mut self, text: &str) {
        let mut rest = text;
        while let Some(index) = rest.bytes().position(may_need_escaping) {
            let (before, from) = rest.split_at(index);
            self.push(before);
            let mut after = from.chars();
            match after.next() {
                Some('\\') => self.push_unbroken("\\\\"),
                Some(';') => self.push_unbroken("\\;"),
                Some(',') => self.push_unbroken("\\,"),
                // Unicode line and paragraph separators, which some calendar programs treat as line breaks.
                Some('\n' | '\u{2028}' | '\u{2029}') => self.push_unbroken("\\n"),
                Some(c) if !c.is_control() => self.push_unbroken(c.encode_utf8(&mut [0; 4])),
                _ => {}
            }
            rest = after.as_str();
        }
        self.push(rest);
    }

    fn begin(&mut self, name: &str) {
        self.push(name);
        self.push(":");
    }

    fn end(&mut self) {
        self.out.push_str("\r\n");
        self.width = 0;
    }

    /// Appends text to the line and folds it where needed, never inside a character.
    fn push(&mut self, mut text: &str) {
        while self.width + text.len() > WIDTH {
            let (fits, rest) = text.split_at(text.floor_char_boundary(WIDTH - self.width));
            self.out.push_str(fits);
            self.fold();
            text = rest;
        }
        self.out.push_str(text);
        self.width += text.len();
    }

    /// Appends text without folding inside it. Used for escape sequences, because some calendar programs unescape
    /// before they unfold.
    fn push_unbroken(&mut self, text: &str) {
        if self.width + text.len() > WIDTH {
            self.fold();
        }
        self.push(text);
    }

    fn fold(&mut self) {
        self.out.push_str("\r\n ");
        self.width = 1;
    }
}

impl Write for LineWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text);
        Ok(())
    }
}

/// Whether a byte may start a character that must be escaped or removed. Checks bytes because that is faster than
/// decoding characters: `C2` starts the non-ASCII control characters and `E2` the separators, among others that need
/// nothing.
fn may_need_escaping(byte: u8) -> bool {
    matches!(byte, b'\\' | b';' | b',' | 0..=8 | 10..=31 | 127 | 0xc2 | 0xe2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut lines = LineWriter::with_capacity(0);
        lines.text("SUMMARY", text);
        lines.finish()
    }

    /// Unfolds and unescapes a line.
    fn read(line: &str) -> String {
        let line = line.strip_suffix("\r\n").unwrap().replace("\r\n ", "");
        let mut text = String::new();
        let mut rest = line.strip_prefix("SUMMARY:").unwrap().chars();
        while let Some(c) = rest.next() {
            text.push(match c {
                '\\' => match rest.next().unwrap() {
                    'n' => '\n',
                    escaped => escaped,
                },
                c => c,
            });
        }
        text
    }

    proptest! {
        #[test]
        fn a_text_survives_a_round_trip_through_folded_lines(text in "([\\PC\n\t\\\\;,]|[a-z]{9}){0,120}") {
            let line = written(&text);
            prop_assert!(line.split("\r\n").all(|line| line.len() <= 75 && !line.contains(['\r', '\n'])), "{line}");
            prop_assert_eq!(read(&line), text.replace(['\u{2028}', '\u{2029}'], "\n"));
        }
    }

    #[test]
    fn lines_are_folded_between_characters() {
        // `SUMMARY:` has 8 octets, so 67 remain.
        assert_eq!(written(&"a".repeat(67)), format!("SUMMARY:{}\r\n", "a".repeat(67)));
        assert_eq!(written(&"a".repeat(68)), format!("SUMMARY:{}\r\n a\r\n", "a".repeat(67)));
        for character in ["é", "日", "🏉"] {
            for short in 0..character.len() {
                let before = "a".repeat(67 - short);
                let folded = format!("SUMMARY:{before}\r\n {character}b\r\n");
                assert_eq!(written(&format!("{before}{character}b")), folded);
            }
            let fits = format!("{}{character}", "a".repeat(67 - character.len()));
            assert_eq!(written(&fits), format!("SUMMARY:{fits}\r\n"));
        }
        // The second line has room for 74 octets and its space.
        let lines = written(&"a".repeat(67 + 74 + 1));
        assert_eq!(lines.split("\r\n").map(str::len).collect::<Vec<_>>(), [75, 75, 2, 0]);
        // Lines are not folded inside an escape sequence.
        assert_eq!(
            written(&format!("{};", "a".repeat(66))),
            format!("SUMMARY:{}\r\n \\;\r\n", "a".repeat(66))
        );
    }

    #[test]
    fn texts_cannot_break_out_of_their_line_or_value() {
        assert_eq!(
            written("a\\b;c,d\r\ne\u{0}\u{1b}\u{85}f\tg"),
            "SUMMARY:a\\\\b\\;c\\,d\\nef\tg\r\n"
        );
        assert_eq!(written("5 € – 20°\u{2028}x"), "SUMMARY:5 € – 20°\\nx\r\n");
        assert_eq!(written("x\r\nEND:VEVENT"), "SUMMARY:x\\nEND:VEVENT\r\n");
        let mut lines = LineWriter::with_capacity(0);
        lines.url("URL", "https://a.example/?b=c;d,e\r\nATTACH:x");
        lines.texts("CATEGORIES", &["Game, home".into(), "Cup".into()]);
        lines.texts("CATEGORIES", &[]);
        assert_eq!(
            lines.finish(),
            "URL:https://a.example/?b=c;d,eATTACH:x\r\nCATEGORIES:Game\\, home,Cup\r\n"
        );
    }
}
