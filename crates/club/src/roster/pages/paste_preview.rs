//! The preview of pasted rows: what will happen to each of them.

use std::collections::BTreeMap;

use super::duplicate_choice::{self, Choice, DUPLICATE, SimilarPerson};
use super::paste::PastedTable;
use super::{Staff, dry_run};
use crate::error::Candidate;
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::roster::new_members::{self, NewMember, PreviewedMember};
use crate::roster::person;
use crate::roster::spreadsheet::column::Column;
use crate::roster::spreadsheet::date;
use crate::roster::spreadsheet::row::{CellFault, Row, RowReader};

/// A row of the preview.
pub(super) struct PreviewRow {
    /// The number of the row in the text, from 1.
    pub(super) number: usize,
    /// The label of each used column, its text, and what is wrong with it.
    pub(super) cells: Vec<(&'static str, String, String)>,
    /// What is wrong with the whole row.
    faults: Vec<String>,
    has_faults: bool,
    /// People who may be the same person, if there are any.
    pub(super) similar: Vec<SimilarPerson>,
    /// Why the visitor has to decide what happens to the row. Empty if it is clear.
    pub(super) question: String,
    pub(super) choice: Choice,
}

impl PreviewRow {
    pub(super) fn is_added(&self) -> bool {
        !self.has_faults && self.choice != Choice::Skip
    }

    /// Whether the row is wrong and not left out.
    pub(super) fn is_faulty(&self) -> bool {
        self.has_faults && self.choice != Choice::Skip
    }

    pub(super) fn is_skipped(&self) -> bool {
        self.choice == Choice::Skip
    }

    pub(super) fn faults(&self) -> &[String] {
        &self.faults
    }

    /// The name of the field with the choice.
    pub(super) fn field(&self) -> String {
        format!("row-{}", self.number - 1)
    }

    /// Whether an option is chosen.
    pub(super) fn is_chosen(&self, value: &str) -> bool {
        self.choice.value() == value
    }
}

/// What the program found out about each row without any choice and with the choices, and the names of teams.
type Findings = (Vec<PreviewedMember>, Vec<PreviewedMember>, BTreeMap<TeamId, String>);

/// The preview of all rows.
pub(super) async fn rows(
    visitor: &Staff,
    team: TeamId,
    pasted: &PastedTable,
    read: Vec<Row>,
    choices: Vec<Choice>,
) -> Result<Vec<PreviewRow>> {
    let news: Vec<_> = read.iter().map(|row| row.new.clone()).collect();
    let (undecided, decided, teams) = find(visitor, team, news, choices.clone()).await?;
    let today = person::today(visitor.app().clock.now());
    let reader = RowReader {
        columns: &pasted.columns,
        order: pasted.order,
        today,
        validate: crate::web::fields::Fields::read,
    };
    let mut all = Vec::with_capacity(read.len());
    for (at, row) in read.into_iter().enumerate() {
        let (undecided, decided): (&PreviewedMember, &PreviewedMember) =
            (&undecided[at], &decided[at]);
        let duplicate = undecided.faults.iter().find(|fault| fault.code == DUPLICATE);
        let candidates = duplicate.map(|fault| fault.candidates.as_slice()).unwrap_or_default();
        let mut faults: Vec<CellFault> = row.faults;
        let others = decided.faults.iter().filter(|fault| fault.code != DUPLICATE);
        faults.extend(others.map(|one| (reader.column_of(&one.pointer), one.detail.to_string())));
        let of_row = faults.iter().filter(|(column, _)| column.is_none());
        all.push(PreviewRow {
            number: at + 1,
            cells: cell_views(&reader, &pasted.rows[at], &faults),
            has_faults: !faults.is_empty(),
            faults: of_row.map(|(_, text)| text.clone()).collect(),
            similar: duplicate_choice::options(candidates, &teams),
            question: question(undecided, duplicate.is_some(), candidates.is_empty()),
            choice: default_choice(choices[at], duplicate.is_some(), candidates, team),
        });
    }
    Ok(all)
}

/// Checks the rows without any choice, which finds similar people, and with the choices.
async fn find(
    visitor: &Staff,
    team: TeamId,
    news: Vec<Option<NewMember>>,
    choices: Vec<Choice>,
) -> Result<Findings> {
    let first = news.clone();
    let look = move |tx: &Tx<'_>, access: &TeamAccess| {
        let found = new_members::preview(tx, access, team, first)?;
        let candidates = found.iter().flat_map(|one| &one.faults).flat_map(|one| &one.candidates);
        let teams = duplicate_choice::team_names(tx, candidates)?;
        Ok((found, teams))
    };
    let (undecided, teams) = dry_run(visitor, team, look).await?;
    let chosen = news.into_iter().zip(choices).map(|(new, choice)| {
        let new = new.filter(|_| choice != Choice::Skip);
        new.map(|new| choice.apply(new))
    });
    let chosen: Vec<_> = chosen.collect();
    let look =
        move |tx: &Tx<'_>, access: &TeamAccess| new_members::preview(tx, access, team, chosen);
    let decided = dry_run(visitor, team, look).await?;
    Ok((undecided, decided, teams))
}

/// What happens to a row unless the visitor decides otherwise: a similar person is added, unless they are on the team
/// already.
fn default_choice(
    choice: Choice,
    is_duplicate: bool,
    candidates: &[Candidate],
    team: TeamId,
) -> Choice {
    if choice != Choice::Undecided || !is_duplicate {
        return choice;
    }
    let other = candidates.iter().find(|one| !one.team_ids.contains(&team));
    other.map_or(Choice::Skip, |one| Choice::Use(one.person_id))
}

/// Why the visitor has to decide what happens to a row.
fn question(found: &PreviewedMember, is_duplicate: bool, is_hidden: bool) -> String {
    match found.repeats {
        _ if !is_duplicate => String::new(),
        Some(index) => t!("This may be the same person as in row {row}.", row = (index + 1).to_string()),
        None if is_hidden => {
            t!("Somebody with the same email address, or the same name and birth date, is on a team that you do not manage.").to_owned()
        }
        None => t!("This person may already be in the club.").to_owned(),
    }
}

/// The cells of the used columns. A birth date is shown as it was understood.
fn cell_views(
    reader: &RowReader<'_>,
    cells: &[String],
    faults: &[CellFault],
) -> Vec<(&'static str, String, String)> {
    let used = reader.columns.iter().zip(cells).enumerate();
    let used = used.filter(|(_, (column, _))| **column != Column::Ignored);
    let view = |(at, (column, text)): (usize, (&Column, &String))| {
        let day =
            date::parse(text, reader.order, reader.today).filter(|_| *column == Column::BirthDate);
        let shown = day.map(|day| format::day(Locale::current_or_english(), day));
        let fault = faults.iter().find(|(column, _)| *column == Some(at));
        let fault = fault.map(|(_, text)| text.clone()).unwrap_or_default();
        (column.label(), shown.unwrap_or_else(|| text.clone()), fault)
    };
    used.map(view).collect()
}
