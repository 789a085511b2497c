//! Tables that are exported as CSV in chunks, so that memory use does not depend on their size.

use std::borrow::Cow;

use crate::columns::Column;
use crate::prelude::*;

/// Number of rows per chunk.
pub const CHUNK_ROWS: i64 = 1000;

/// A table that can be exported.
pub trait Table: Send + Sync + 'static {
    type Row: 'static;
    /// The position of a row in the sort order, from which the next chunk continues.
    type Position: Send + 'static;

    /// The columns of the file.
    const COLUMNS: &[Column<Self::Row>];

    /// The columns that were asked for.
    fn columns(&self) -> Vec<&'static Column<Self::Row>> {
        Self::COLUMNS.iter().collect()
    }

    /// Reads up to [`CHUNK_ROWS`] rows after a position.
    fn read(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<Self::Position>,
    ) -> Result<Chunk<Self::Row, Self::Position>>;
}

/// Rows, and the position of the last one if there may be more rows after it.
pub type Chunk<R, P> = (Vec<R>, Option<P>);

/// A chunk of these rows. There are no more rows after a chunk that is not full.
pub fn chunk<R, P>(rows: Vec<R>, position: impl Fn(&R) -> P) -> Chunk<R, P> {
    let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows == CHUNK_ROWS);
    let next = rows.last().filter(|_| is_full).map(position);
    (rows, next)
}

/// Declares a row of an export. Each field is a column of the file, with the SQL expression that it is read from and, if
/// the file does not contain the value itself, a function for its cell. A field after a semicolon is not a column and is
/// filled later.
macro_rules! export_row {
    (pub struct $name:ident {
        $first:ident : $first_type:ty = $first_sql:literal
        $(, $field:ident : $type:ty = $sql:literal $(=> $cell:expr)?)+ $(,)?
        $(; $extra:ident : $extra_type:ty)?
    }) => {
        pub struct $name { $first: $first_type, $($field: $type,)+ $($extra: $extra_type)? }

        impl store::Record for $name {
            fn read(row: &mut store::Row<'_>) -> store::Result<Self> {
                Ok(Self {
                    $first: row.take(stringify!($first))?,
                    $($field: row.take(stringify!($field))?,)+
                    $($extra: Default::default())?
                })
            }
        }

        impl $name {
            const SELECT: &str = concat!(
                "select ", $first_sql, " as ", stringify!($first)
                $(, ", ", $sql, " as ", stringify!($field))+
            );
            const COLUMNS: &[Column<Self>] = &[
                Column::csv(stringify!($first), |row| row.$first.cell()),
                $(Column::csv(
                    stringify!($field),
                    $crate::exports::table::export_row!(@cell $field $($cell)?),
                )),+
            ];
        }
    };
    (@cell $field:ident) => { |row| row.$field.cell() };
    (@cell $field:ident $cell:expr) => { $cell };
}
pub(super) use export_row;

/// Writes rows of CSV (RFC 4180).
pub struct CsvWriter(csv::Writer<Vec<u8>>);

impl CsvWriter {
    /// A writer without rows. Some spreadsheets detect UTF-8 only with a byte order mark.
    pub fn new(bom: bool) -> Self {
        let bytes = if bom { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        let writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(bytes);
        Self(writer)
    }

    /// Adds a row.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cow<'a, str>>) -> Result<()> {
        for cell in cells {
            self.0.write_field(escape_formula(cell).as_bytes()).map_err(csv_error)?;
        }
        self.0.write_record(None::<&[u8]>).map_err(csv_error)
    }

    /// The rows as UTF-8.
    pub fn finish(self) -> Result<Vec<u8>> {
        self.0.into_inner().map_err(|error| Error::internal(format!("CSV: {error}")))
    }
}

fn csv_error(error: csv::Error) -> Error {
    Error::internal(format!("CSV: {error}"))
}

/// Prefixes cells that a spreadsheet would run as a formula with a quote, which makes them text.
fn escape_formula(cell: Cow<'_, str>) -> Cow<'_, str> {
    match cell.trim_start_matches(is_invisible).chars().next() {
        Some('=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}') => {
            format!("'{cell}").into()
        }
        _ if cell.starts_with(['\t', '\r', '\n']) => format!("'{cell}").into(),
        _ => cell,
    }
}

/// Whether a character is invisible: whitespace, and characters that a spreadsheet may drop when it reads a cell.
fn is_invisible(char: char) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(bom: bool, cells: &[&'static str]) -> String {
        let mut writer = CsvWriter::new(bom);
        writer.row(cells.iter().map(|cell| Cow::Borrowed(*cell))).unwrap();
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn cells_with_special_characters_are_quoted() {
        assert_eq!(
            csv(false, &["a", "b,c", "say \"x\"", "two\nlines", ""]),
            "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",\r\n"
        );
        assert_eq!(csv(true, &["Zoë"]), "\u{feff}Zoë\r\n");
    }

    #[test]
    fn formulas_are_escaped() {
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
            assert_eq!(csv(false, &[formula]), format!("'{formula}\r\n"));
        }
        for invisible in
            "\u{ad}\u{200b}\u{200f}\u{202e}\u{2060}\u{2069}\u{feff}\u{3164}\u{fe0f}\u{1}".chars()
        {
            let formula = format!("{invisible}=1");
            assert_eq!(
                escape_formula(Cow::Borrowed(&formula)),
                format!("'{formula}"),
                "{formula:?}"
            );
        }
        assert_eq!(csv(false, &["2-1", "a=b", "\u{200b}a"]), "2-1,a=b,\u{200b}a\r\n");
    }
}
