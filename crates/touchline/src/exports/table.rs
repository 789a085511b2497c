//! A table that is written as CSV, so many rows at a time that memory does not grow with it.

use std::borrow::Cow;

use store::Reader;

use crate::accounts::rights::Reach;
use crate::error::{Error, Result};

/// How many rows are read and sent at once.
pub const ROWS: i64 = 1000;

/// Something that can be written as a table.
pub trait Table: Send + Sync + 'static {
    /// The sort values by which the next rows are found.
    type Place: Send + 'static;

    /// The names of the columns.
    fn columns(&self) -> Vec<Cow<'static, str>>;

    /// Writes up to [`ROWS`] rows after a place; `None` as a result if there are no more.
    fn write(
        &self,
        db: &Reader<'_>,
        reach: &Reach,
        after: Option<Self::Place>,
        sheet: &mut Sheet,
    ) -> Result<Option<Self::Place>>;
}

/// Where the next piece begins: after the last row of a full one, nowhere after a shorter one.
pub fn next<P>(rows: usize, last: Option<P>) -> Option<P> {
    last.filter(|_| i64::try_from(rows).is_ok_and(|rows| rows == ROWS))
}

/// Rows of CSV (RFC 4180).
pub struct Sheet(csv::Writer<Vec<u8>>);

impl Sheet {
    /// An empty sheet. Some spreadsheets take a file for UTF-8 only if it begins with a mark.
    pub fn new(mark: bool) -> Self {
        let bytes = if mark { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        let writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(bytes);
        Self(writer)
    }

    /// Adds a row.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cow<'a, str>>) -> Result<()> {
        for cell in cells {
            self.0.write_field(harmless(cell).as_bytes()).map_err(broken)?;
        }
        self.0.write_record(None::<&[u8]>).map_err(broken)
    }

    /// The rows as text.
    pub fn finish(self) -> Result<Vec<u8>> {
        self.0.into_inner().map_err(|error| Error::internal(format!("CSV: {error}")))
    }
}

fn broken(error: csv::Error) -> Error {
    Error::internal(format!("CSV: {error}"))
}

/// A spreadsheet takes text that begins like a formula for one and carries it out. A quote in front
/// makes it text.
fn harmless(cell: Cow<'_, str>) -> Cow<'_, str> {
    match cell.trim_start_matches(unseen).chars().next() {
        Some('=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}') => {
            format!("'{cell}").into()
        }
        _ if cell.starts_with(['\t', '\r', '\n']) => format!("'{cell}").into(),
        _ => cell,
    }
}

/// Whether a character leaves no ink: spaces, and those that a spreadsheet may drop when it reads a cell.
fn unseen(char: char) -> bool {
    let (soft_hyphen, grapheme_joiner, letter_mark) = ('\u{ad}', '\u{34f}', '\u{61c}');
    char.is_whitespace()
        || char.is_control()
        || [soft_hyphen, grapheme_joiner, letter_mark].contains(&char)
        || matches!(
            char,
            '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        )
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(char, '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
        || matches!(char, '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Something that may be missing, as a cell.
pub fn maybe<T: ToString>(value: Option<T>) -> Cow<'static, str> {
    value.map(|value| value.to_string()).unwrap_or_default().into()
}

/// Anything that can be shown, as a cell.
pub fn cell<T: ToString>(value: T) -> Cow<'static, str> {
    value.to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(mark: bool, cells: &[&'static str]) -> String {
        let mut sheet = Sheet::new(mark);
        sheet.row(cells.iter().map(|cell| Cow::Borrowed(*cell))).unwrap();
        String::from_utf8(sheet.finish().unwrap()).unwrap()
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(
            sheet(false, &["a", "b,c", "say \"x\"", "two\nlines", ""]),
            "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",\r\n"
        );
        assert_eq!(sheet(true, &["Zoë"]), "\u{feff}Zoë\r\n");
    }

    #[test]
    fn formulas_become_text() {
        for formula in [
            "=1+1",
            "+351 912",
            "-2",
            "@SUM(A1)",
            " =1",
            "\u{ff1d}1",
            "\u{200b}=1",
            "\u{feff} \u{2060}@a",
        ] {
            assert_eq!(sheet(false, &[formula]), format!("'{formula}\r\n"));
        }
        for unseen in
            "\u{ad}\u{200b}\u{200f}\u{202e}\u{2060}\u{2069}\u{feff}\u{3164}\u{fe0f}\u{1}".chars()
        {
            let formula = format!("{unseen}=1");
            assert_eq!(harmless(Cow::Borrowed(&formula)), format!("'{formula}"), "{formula:?}");
        }
        assert_eq!(sheet(false, &["2-1", "a=b", "\u{200b}a"]), "2-1,a=b,\u{200b}a\r\n");
    }
}
