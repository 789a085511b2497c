//! Exports as CSV: their queries, and the files.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use macros::query;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::accounts::permissions::{AdminArea, Permission};
use crate::prelude::*;
use crate::table::Table;
use crate::web::app::App;
use crate::web::caller::Caller;
use crate::web::query::{FromQuery, Params};
use crate::web::visitor::Visitor;

/// An export: the table, and whether the file starts with a byte order mark. It is the query of an operation.
#[derive(Debug)]
pub struct Download<T> {
    pub table: T,
    pub bom: bool,
}

/// The parameter of every export.
#[query]
struct FileOptions {
    /// Set to `true` to start the file with a byte order mark, which some spreadsheets need to detect UTF-8.
    bom: bool,
}

impl<T: FromQuery> FromQuery for Download<T> {
    fn read(params: &mut Params) -> Self {
        Self { bom: FileOptions::read(params).bom, table: T::read(params) }
    }
}

impl<T: IntoParams> IntoParams for Download<T> {
    fn into_params(location: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut params = T::into_params(&location);
        params.extend(FileOptions::into_params(location));
        params
    }
}

/// Where an export is read from, and the caller's access.
#[derive(Clone)]
pub struct ExportSource {
    pub app: App,
    pub scope: Scope,
    pub access: TeamAccess,
}

impl<N: Permission> From<&Caller<N>> for ExportSource {
    fn from(caller: &Caller<N>) -> Self {
        Self { app: caller.app().clone(), scope: caller.scope(), access: caller.team_access() }
    }
}

impl ExportSource {
    /// The rows of the whole club, for an admin.
    pub fn of_club(admin: &Visitor<AdminArea>) -> Result<Self> {
        let (app, scope) = (admin.app().clone(), admin.scope()?);
        Ok(Self { app, scope, access: TeamAccess::AllTeams })
    }
}

/// An export in progress: its source and the position of the next chunk.
struct ExportStream<T: Table> {
    source: ExportSource,
    table: Arc<T>,
    next: Option<T::Position>,
}

impl<T: Table> Download<T> {
    /// Streams a table in chunks. Each chunk is read after the client has taken the one before, so a slow client holds
    /// neither memory nor a database connection.
    pub async fn send(self, source: impl Into<ExportSource>, file: &str) -> Result<Response> {
        let Self { table, bom } = self;
        let export = ExportStream { source: source.into(), table: table.into(), next: None };
        // The first chunk is read before the response starts, so that an error still gives an error response.
        let (first, export) = read_chunk(export, Some(bom)).await?;
        let rest = stream::unfold(Some(export), |export| async {
            let export = export.filter(|export| export.next.is_some())?;
            match read_chunk(export, None).await {
                Ok((bytes, export)) => Some((Ok(bytes), Some(export))),
                // The status is already sent; aborting the body tells the client that the file is incomplete.
                Err(error) => {
                    tracing::warn!(cause = ?error.cause, "export aborted");
                    Some((Err(std::io::Error::other("export aborted")), None))
                }
            }
        });
        let chunks = stream::StreamExt::chain(stream::iter([Ok(first)]), rest);
        let headers = [
            (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
            (CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")),
            (CACHE_CONTROL, "private, no-store".to_owned()),
        ];
        Ok((headers, Body::from_stream(chunks)).into_response())
    }
}

/// Reads the next chunk. `bom` is only set for the first one, which starts with the header row; its value says whether
/// a byte order mark comes first.
async fn read_chunk<T: Table>(
    export: ExportStream<T>,
    bom: Option<bool>,
) -> Result<(Bytes, ExportStream<T>)> {
    let ExportStream { source, table, next } = export;
    let (chunk_table, access) = (table.clone(), source.access.clone());
    let work = move |db: &Reader<'_>| {
        let mut writer = CsvWriter::new(bom == Some(true));
        let columns = chunk_table.columns();
        if bom.is_some() {
            writer.row(columns.iter().map(|column| column.key.into()))?;
        }
        let (rows, next) = chunk_table.read(db, &access, next)?;
        for row in &rows {
            writer.row(columns.iter().map(|column| (column.value)(row).csv()))?;
        }
        Ok::<_, Error>((Bytes::from(writer.finish()?), next))
    };
    let (bytes, next) = source.app.db.read(source.scope.clone(), work).await?;
    Ok((bytes, ExportStream { source, table, next }))
}

/// Writes rows of CSV (RFC 4180).
struct CsvWriter(csv::Writer<Vec<u8>>);

impl CsvWriter {
    /// A writer without rows. Some spreadsheets detect UTF-8 only with a byte order mark.
    fn new(bom: bool) -> Self {
        let bytes = if bom { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        let writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(bytes);
        Self(writer)
    }

    /// Adds a row.
    fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cow<'a, str>>) -> Result<()> {
        for cell in cells {
            self.0.write_field(escape_formula(cell).as_bytes()).map_err(csv_error)?;
        }
        self.0.write_record(None::<&[u8]>).map_err(csv_error)
    }

    /// The rows as UTF-8.
    fn finish(self) -> Result<Vec<u8>> {
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
