//! The table of a list on a page, from the declaration of its columns.
//!
//! `templates/parts.html` describes how to write a page with a list.

mod filter_bar;

use askama::Template;
use askama::filters::HtmlSafe;
use kit::{Timestamp, Zone};

pub use self::filter_bar::FilterBar;
use super::sentence::Label;
pub use crate::columns::{Cell, Column, ToCell};

/// The current time, and the zone in which times are shown.
pub type Times = (Timestamp, Zone);

/// A list on a page: the filters, a table, and the link to the next rows.
#[derive(Template, Debug)]
#[template(path = "list/table.html")]
#[must_use]
pub struct List {
    caption: String,
    /// The translated label of each column, and whether it is a column of numbers.
    columns: Vec<(&'static str, bool)>,
    /// The cells as HTML.
    rows: Vec<Vec<String>>,
    next: String,
    pub filters: FilterBar,
}

impl HtmlSafe for List {}

impl List {
    /// A table of these rows.
    pub fn new<Row>(
        caption: impl Label,
        columns: &[Column<Row>],
        rows: &[Row],
        times: &Times,
    ) -> Self {
        let shown = columns.iter().filter_map(|one| Some((one.label?, one.is_number, one.value)));
        let cells = |row| {
            shown
                .clone()
                .map(|(_, _, value)| CellHtml { cell: &value(row), times }.to_string())
                .collect()
        };
        Self {
            caption: caption.into_text(),
            rows: rows.iter().map(cells).collect(),
            columns: shown.map(|(label, is_number, _)| (t!(label), is_number)).collect(),
            next: String::new(),
            filters: FilterBar::default(),
        }
    }

    /// Adds the URL of the next rows, which is empty at the end of the list.
    pub fn next(self, next: String) -> Self {
        Self { next, ..self }
    }

    /// Adds the filters above the table.
    pub fn filters(self, filters: FilterBar) -> Self {
        Self { filters, ..self }
    }

    /// The headings as `parts::table` expects them.
    fn heads(&self) -> impl Iterator<Item = String> {
        let columns = self.columns.iter();
        columns.map(|(label, is_number)| format!("{}{label}", if *is_number { "#" } else { "" }))
    }

    /// Whether there are no rows that match the filters.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether there are no rows at all.
    pub fn is_blank(&self) -> bool {
        self.is_empty() && !self.filters.is_active()
    }
}

/// A cell as HTML.
#[derive(Template)]
#[template(path = "list/cell.html")]
struct CellHtml<'a> {
    cell: &'a Cell<'a>,
    times: &'a Times,
}

impl HtmlSafe for CellHtml<'_> {}

impl CellHtml<'_> {
    fn part<'a>(&'a self, cell: &'a Cell<'a>) -> CellHtml<'a> {
        CellHtml { cell, times: self.times }
    }
}

/// Declares a page with a list and nothing else: `list_page!(TeamsPage, "teams/list.html");`.
#[macro_export]
macro_rules! list_page {
    ($name:ident, $path:tt) => {
        #[derive(askama::Template)]
        #[template(path = $path)]
        struct $name {
            frame: $crate::web::page::Frame,
            list: $crate::web::list::List,
        }
    };
}
pub use list_page;

#[cfg(test)]
mod tests {
    use super::*;

    struct Member {
        name: &'static str,
        paid: i64,
    }

    const COLUMNS: &[Column<Member>] = &[
        Column::page("Name", |member| Cell::name(member.name).link("/members/1")),
        Column::csv("name", |member| Cell::name(member.name)),
        Column::number("Paid", |member| member.paid.cell()),
        Column::csv("paid", |member| member.paid.cell()),
        Column::csv("id", |_| Cell::text("mem_1")),
        Column::page("", |_| Cell::text("Edit")),
    ];

    #[test]
    fn a_table_has_the_columns_of_the_page_and_a_file_those_that_are_exported() {
        let row = Member { name: "Zoë <b>", paid: 1204 };
        let exported = COLUMNS.iter().filter(|column| !column.key.is_empty());
        let cells = exported.map(|one| format!("{}={}", one.key, (one.value)(&row).csv()));
        assert_eq!(cells.collect::<Vec<_>>(), ["name=Zoë <b>", "paid=1204", "id=mem_1"]);
        let html = List::new("Members", COLUMNS, &[row], &(Timestamp::from_micros(0), Zone::utc()));
        let html = html.to_string();
        for part in [
            "<caption class=\"vh\">Members</caption>",
            "<th scope=\"col\">Name</th><th scope=\"col\" class=\"num\">Paid</th><td></td>",
            "<th scope=\"row\"><a href=\"/members/1\"><bdi>Zoë &#60;b&#62;</bdi></a></th>",
            "<td data-label=\"Paid\" class=\"num\">1,204</td><td class=\"do\">Edit</td>",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(!html.contains("mem_1"));
    }
}
