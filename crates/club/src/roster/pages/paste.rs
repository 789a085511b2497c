//! `/teams/{team}/roster/paste`: adds many people, pasted from a spreadsheet. A preview shows what will happen to each row.

use super::duplicate_choice::Choice;
use super::paste_preview::{self, PreviewRow};
use super::{Staff, StaffForm, header_for_change, roster_path, write};
use crate::accounts::account;
use crate::prelude::*;
use crate::roster::new_members::{self, NewMember, RosterBatch, RosterBatchEntry};
use crate::roster::person;
use crate::roster::spreadsheet::column::{self, Column};
use crate::roster::spreadsheet::date::{self, DateOrder};
use crate::roster::spreadsheet::row::{Row, RowReader};
use crate::roster::spreadsheet::table;
use crate::teams::header::TeamHeader;
use crate::web::form_dedup::{Nonce, submit_once};
use crate::web::prelude::*;
use kit::secret::{hex, sha256};

/// Maximum number of rows at once, as in a batch of the API.
const MAX_ROWS: usize = 100;

/// The pasted table, as the visitor or the program understands it.
pub(super) struct PastedTable {
    pub(super) text: String,
    pub(super) has_headings: bool,
    pub(super) headings: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) order: DateOrder,
    /// The rows without the headings.
    pub(super) rows: Vec<Vec<String>>,
}

impl PastedTable {
    fn empty() -> Self {
        Self {
            text: String::new(),
            has_headings: false,
            headings: Vec::new(),
            columns: Vec::new(),
            order: DateOrder::DayFirst,
            rows: Vec::new(),
        }
    }

    /// Reads the form. What the visitor has not chosen is guessed.
    fn read(form: &Form, default_order: DateOrder, today: Day) -> Self {
        let text = form.get("text").unwrap_or_default().to_owned();
        let mut rows = table::split(&text);
        let guess = column::from_headings(&rows);
        let has_headings = match form.text("headings") {
            "yes" => true,
            "no" => false,
            _ => guess.is_some(),
        };
        let headings = if has_headings && !rows.is_empty() { rows.remove(0) } else { Vec::new() };
        // A table with more rows is refused, so they need not be read.
        let sample = &rows[..rows.len().min(MAX_ROWS)];
        let guess =
            guess.filter(|_| has_headings).unwrap_or_else(|| column::from_cells(sample, today));
        // Choices for a table with other columns do not count.
        let is_same = form.text("columns") == guess.len().to_string();
        let chosen = |index: usize| Column::parse(form.text(&format!("column-{index}")));
        let columns = guess.into_iter().enumerate();
        let columns: Vec<_> =
            columns.map(|(at, guess)| chosen(at).filter(|_| is_same).unwrap_or(guess)).collect();
        let mut pasted = Self { text, has_headings, headings, columns, order: default_order, rows };
        let order = DateOrder::parse(form.text("dates"));
        pasted.order = order
            .or_else(|| date::guess_order(pasted.dates().take(MAX_ROWS)))
            .unwrap_or(default_order);
        pasted
    }

    /// The cells with birth dates.
    fn dates(&self) -> impl Iterator<Item = &str> {
        let at = self.columns.iter().position(|column| *column == Column::BirthDate);
        self.rows.iter().filter_map(move |row| row.get(at?)).map(String::as_str)
    }

    pub(super) fn has_dates(&self) -> bool {
        self.columns.contains(&Column::BirthDate)
    }

    /// A digest of everything that decides what the rows mean. The choices for rows belong to it.
    pub(super) fn digest(&self) -> String {
        let content = (&self.text, self.has_headings, &self.columns, self.order);
        hex(&sha256(format!("{content:?}").as_bytes())[..12])
    }

    /// Why there is nothing to preview, if so.
    fn fault(&self) -> Option<String> {
        let count = self.rows.len();
        if count == 0 {
            return Some(t!("Paste at least one row with a name.").to_owned());
        }
        (count > MAX_ROWS).then(|| {
            t!(
                "You pasted {count} rows. Add at most {max} at a time: keep the first {max} here, and paste the others afterwards.",
                count = count.to_string(),
                max = MAX_ROWS.to_string()
            )
        })
    }

    /// Whether a column contains names.
    pub(super) fn has_names(&self) -> bool {
        let is_name = |column: &Column| matches!(column, Column::Name | Column::FirstName);
        self.columns.iter().any(is_name)
    }
}

/// What the preview shows, and the buttons need.
#[derive(Template)]
#[template(path = "roster/paste.html")]
struct PastePage {
    frame: Frame,
    header: TeamHeader,
    pasted: PastedTable,
    /// All contents that a column can have, with their labels.
    choices: Vec<(Column, &'static str)>,
    /// What is wrong with the text.
    fault: String,
    /// What is wrong with the rows.
    note: String,
    rows: Vec<PreviewRow>,
    nonce: String,
}

impl PastePage {
    fn back(&self) -> String {
        roster_path(self.header.team.id)
    }

    /// The numbers, headings or examples, and contents of the columns.
    fn columns(&self) -> Vec<(usize, String, Column)> {
        let example = |at: usize| {
            let heading = self.pasted.headings.get(at).filter(|heading| !heading.is_empty());
            let cells = self.pasted.rows.iter().filter_map(|row| row.get(at));
            heading.or_else(|| cells.into_iter().find(|cell| !cell.is_empty()))
        };
        let columns = self.pasted.columns.iter().enumerate();
        columns
            .map(|(at, column)| (at, example(at).cloned().unwrap_or_default(), *column))
            .collect()
    }

    /// What the columns contain, in one line.
    fn summary(&self) -> String {
        let used = self.pasted.columns.iter().filter(|column| **column != Column::Ignored);
        used.map(|column| column.label()).collect::<Vec<_>>().join(", ")
    }

    /// The headings of the preview.
    fn preview_headings(&self) -> Vec<String> {
        let used = self.pasted.columns.iter().filter(|column| **column != Column::Ignored);
        let used = used.map(|column| column.label().to_owned());
        let row = std::iter::once(t!("Row").to_owned());
        row.chain(used).chain([t!("Result").to_owned()]).collect()
    }

    /// How many rows will be added, and how many not.
    fn counts(&self) -> (usize, usize, usize) {
        let count = |is: fn(&PreviewRow) -> bool| self.rows.iter().filter(|row| is(row)).count();
        (
            count(PreviewRow::is_added),
            count(PreviewRow::is_faulty),
            count(|row| !row.is_added() && !row.is_faulty()),
        )
    }

    fn status(&self) -> StatusCode {
        let is_wrong = !self.fault.is_empty() || !self.note.is_empty();
        if is_wrong { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }
    }
}

fn page(
    visitor: &Staff,
    header: TeamHeader,
    pasted: PastedTable,
    (fault, note): (String, String),
    rows: Vec<PreviewRow>,
) -> PageResult {
    let frame = visitor.frame(t!("Paste a list"), Section::MyTeams).team(header.team.id);
    let nonce = new_nonce(visitor.app());
    let choices = Column::ALL.iter().map(|(column, _)| (*column, column.label())).collect();
    let page = PastePage { frame, header, pasted, choices, fault, note, rows, nonce };
    render(page.status(), &page)
}

pub(super) async fn new(visitor: Staff, PathParams(team): PathParams<TeamId>) -> PageResult {
    let header = header_for_change(&visitor, team).await?;
    page(&visitor, header, PastedTable::empty(), (String::new(), String::new()), Vec::new())
}

pub(super) async fn submit(
    PathParams(team): PathParams<TeamId>,
    StaffForm { visitor, form }: StaffForm,
) -> PageResult {
    let header = header_for_change(&visitor, team).await?;
    let today = person::today(visitor.app().clock.now());
    let zone = visitor.read(|db: &Reader<'_>| Ok(account::find(db)?.timezone)).await?;
    let pasted = PastedTable::read(&form, DateOrder::usual_in(&zone), today);
    if let Some(fault) = pasted.fault() {
        return page(&visitor, header, pasted, (fault, String::new()), Vec::new());
    }
    let reader =
        RowReader { columns: &pasted.columns, order: pasted.order, today, validate: Fields::read };
    let read: Vec<Row> = pasted.rows.iter().map(|cells| reader.read(cells)).collect();
    if !pasted.has_names() {
        let note = t!(
            "No column contains names. Choose what the columns contain, then check the list again."
        );
        return page(&visitor, header, pasted, (String::new(), note.to_owned()), Vec::new());
    }
    // Choices belong to the table that was previewed.
    let is_same = form.text("shown") == pasted.digest();
    let choice = |at: usize| Choice::parse(form.text(&format!("row-{at}")));
    let choices: Vec<_> =
        (0..read.len()).map(|at| if is_same { choice(at) } else { Choice::Undecided }).collect();
    let mut note = String::new();
    if is_same && form.text("step") == "add" {
        match add(&visitor, team, parse_nonce(&form)?, &read, &choices).await {
            Ok(()) => return Ok(see_other(&format!("{}?done=pasted", roster_path(team)))),
            Err(error) if !is_correctable(&error) => return Err(error.into()),
            Err(error) if error.faults.is_empty() => note = error.detail.to_string(),
            Err(_) => {
                t!("Correct the rows that are marked, or leave them out.").clone_into(&mut note);
            }
        }
    }
    let rows = paste_preview::rows(&visitor, team, &pasted, read, choices).await?;
    page(&visitor, header, pasted, (String::new(), note), rows)
}

/// Whether the visitor can correct an error in the preview.
fn is_correctable(error: &Error) -> bool {
    let is_known = [Code::ValidationFailed, Code::Conflict, Code::Taken, Code::InvalidState];
    is_known.contains(&error.code) || !error.faults.is_empty()
}

/// Adds all rows that are not left out, or none. A form that is sent several times adds them once.
async fn add(
    visitor: &Staff,
    team: TeamId,
    nonce: Nonce,
    read: &[Row],
    choices: &[Choice],
) -> Result<()> {
    let mut members = Vec::with_capacity(read.len());
    for (row, choice) in read.iter().zip(choices).filter(|(_, choice)| **choice != Choice::Skip) {
        let rejection = mark!("Correct the rows that are marked, or leave them out.");
        let rejected = || Error::new(Code::ValidationFailed, rejection);
        let new: NewMember = choice.apply(row.new.clone().ok_or_else(rejected)?);
        members.push(RosterBatchEntry { team_id: team, new });
    }
    Error::new(Code::ValidationFailed, "Every row is left out.").fail_if(members.is_empty())?;
    let ttl = visitor.app().config.idempotency_ttl;
    let work = move |tx: &Tx<'_>, access: &TeamAccess| {
        submit_once(tx, &nonce, ttl, |tx| {
            let added = new_members::add_all(tx, access, RosterBatch { members })?;
            Ok((added.len().to_string(), ()))
        })
    };
    write(visitor, team, work).await.map(drop)
}
