//! Lines of iCalendar: folded at 75 octets, ended with CRLF, texts escaped.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use crate::time::{LocalTime, Timestamp, Zone};

/// The octets of a line before it must be folded, its end not counted.
const WIDTH: usize = 75;

/// A calendar as it is written, line by line, into one text.
pub(super) struct Lines {
    out: String,
    /// The octets of the line so far.
    width: usize,
}

impl Lines {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { out: String::with_capacity(bytes), width: 0 }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// A line whose value needs no escaping: a number, a time, a word of the format.
    pub(super) fn plain(&mut self, name: &str, value: impl Display) {
        self.begin(name);
        write!(self, "{value}").expect("writing to a string cannot fail");
        self.end();
    }

    /// A moment in UTC.
    pub(super) fn moment(&mut self, name: &str, moment: Timestamp) {
        self.plain(name, format_args!("{}Z", Zone::utc().local(moment).compact()));
    }

    /// A time as the clocks of a zone show it.
    pub(super) fn local(&mut self, name: &str, local: LocalTime, zone: &Zone) {
        self.push(name);
        self.push(";TZID=");
        self.plain(zone.name(), local.compact());
    }

    /// A line of text that people wrote.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.begin(name);
        self.escaped(text);
        self.end();
    }

    /// A line with several texts, or none.
    pub(super) fn texts(&mut self, name: &str, texts: &[Cow<'_, str>]) {
        for (place, text) in texts.iter().enumerate() {
            if place == 0 {
                self.begin(name);
            } else {
                self.push(",");
            }
            self.escaped(text);
        }
        if !texts.is_empty() {
            self.end();
        }
    }

    /// An address, which is not escaped; what could end the line is removed.
    pub(super) fn address(&mut self, name: &str, address: &str) {
        self.begin(name);
        for part in address.split(|c: char| c.is_control()) {
            self.push(part);
        }
        self.end();
    }

    /// Writes a text so that it stays one value on one line. Control characters other than tab
    /// and line feed have no place in a calendar and are removed.
    fn escaped(&mut self, text: &str) {
        let mut rest = text;
        while let Some(place) = rest.bytes().position(may_need_care) {
            let (before, from) = rest.split_at(place);
            self.push(before);
            let mut after = from.chars();
            match after.next() {
                Some('\\') => self.push_together("\\\\"),
                Some(';') => self.push_together("\\;"),
                Some(',') => self.push_together("\\,"),
                // Separators of lines and paragraphs, at which some readers would break the line.
                Some('\n' | '\u{2028}' | '\u{2029}') => self.push_together("\\n"),
                Some(c) if !c.is_control() => self.push_together(c.encode_utf8(&mut [0; 4])),
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

    /// Adds to the line and folds it where needed, never inside a character.
    fn push(&mut self, mut text: &str) {
        while self.width + text.len() > WIDTH {
            let (now, later) = text.split_at(text.floor_char_boundary(WIDTH - self.width));
            self.out.push_str(now);
            self.fold();
            text = later;
        }
        self.out.push_str(text);
        self.width += text.len();
    }

    /// Adds what is not to be torn apart, because not every reader unfolds before it unescapes.
    fn push_together(&mut self, text: &str) {
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

impl Write for Lines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text);
        Ok(())
    }
}

/// Whether a byte begins a character that is escaped or removed. Texts are long, so bytes are asked
/// before characters: `C2` begins the control characters beyond ASCII, `E2` the separators, and both
/// begin harmless ones too.
fn may_need_care(byte: u8) -> bool {
    matches!(byte, b'\\' | b';' | b',' | 0..=8 | 10..=31 | 127 | 0xc2 | 0xe2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut lines = Lines::with_capacity(0);
        lines.text("SUMMARY", text);
        lines.finish()
    }

    /// The text that a reader makes of a line.
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
        fn any_text_is_read_back_from_short_lines(text in "([\\PC\n\t\\\\;,]|[a-z]{9}){0,120}") {
            let line = written(&text);
            prop_assert!(line.split("\r\n").all(|line| line.len() <= 75 && !line.contains(['\r', '\n'])), "{line}");
            prop_assert_eq!(read(&line), text.replace(['\u{2028}', '\u{2029}'], "\n"));
        }
    }

    #[test]
    fn lines_are_folded_before_a_character_that_does_not_fit() {
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
        // An escape is not torn apart.
        assert_eq!(
            written(&format!("{};", "a".repeat(66))),
            format!("SUMMARY:{}\r\n \\;\r\n", "a".repeat(66))
        );
    }

    #[test]
    fn texts_cannot_end_their_line_or_value() {
        assert_eq!(
            written("a\\b;c,d\r\ne\u{0}\u{1b}\u{85}f\tg"),
            "SUMMARY:a\\\\b\\;c\\,d\\nef\tg\r\n"
        );
        assert_eq!(written("5 € – 20°\u{2028}x"), "SUMMARY:5 € – 20°\\nx\r\n");
        assert_eq!(written("x\r\nEND:VEVENT"), "SUMMARY:x\\nEND:VEVENT\r\n");
        let mut lines = Lines::with_capacity(0);
        lines.address("URL", "https://a.example/?b=c;d,e\r\nATTACH:x");
        lines.texts("CATEGORIES", &["Game, home".into(), "Cup".into()]);
        lines.texts("CATEGORIES", &[]);
        assert_eq!(
            lines.finish(),
            "URL:https://a.example/?b=c;d,eATTACH:x\r\nCATEGORIES:Game\\, home,Cup\r\n"
        );
    }
}
