//! The result of a game: its score, seen from the team of the event, with periods, overtime and shootout.

use std::time::Duration;

use kit::string_enum;
use macros::input;
use serde::Deserialize;

use super::edit;
use super::event::{self, Event, EventView, Kind, Status as EventStatus};
use super::rsvp;
use crate::prelude::*;

/// How long before the start of a game its score can be recorded.
pub const EARLIEST: Duration = Duration::from_secs(24 * 3600);
/// The highest score that can be recorded.
pub const MAX_SCORE: i64 = 9_999;
/// The maximum number of periods.
pub const MAX_PERIODS: usize = 30;

string_enum! {
    /// Whether a game is over, and how it ended.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Status as ResultStatus {
        /// The game is over.
        Final = "final",
        /// The game is being played; the score can still change.
        InProgress = "in_progress",
        /// A team did not play, or officials decided the result.
        Forfeit = "forfeit",
        /// The game was stopped early and does not count.
        Abandoned = "abandoned",
    }
}

string_enum! {
    /// One of the two sides of a game.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Side as ResultSide {
        /// The team of the event.
        Us = "us",
        /// The opponent.
        Them = "them",
    }
}

string_enum! {
    /// How a game ended for the team of the event.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome as ResultOutcome {
        Win = "win",
        Draw = "draw",
        Loss = "loss",
    }
}

/// The points of both sides in a period or a shootout.
#[input(as = ScoreInput)]
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// Points of the team of the event.
    #[schema(examples(2))]
    #[input(name = "for", number(0, MAX_SCORE))]
    #[serde(rename = "for")]
    pub scored: i64,
    /// Points of the opponent.
    #[schema(examples(1))]
    #[input(number(0, MAX_SCORE))]
    pub against: i64,
}

/// The result of a game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GameResult {
    /// Whether the game is over, and how it ended.
    pub status: Status,
    /// How the game ended for the team of the event; `null` if it is not over or does not count.
    pub outcome: Option<Outcome>,
    /// Points of the team of the event, without a shootout.
    #[schema(examples(2), minimum = 0, maximum = 9999)]
    pub score_for: Option<i64>,
    /// Points of the opponent, without a shootout.
    #[schema(examples(1), minimum = 0, maximum = 9999)]
    pub score_against: Option<i64>,
    /// The points in each period, such as halves, quarters or sets.
    #[schema(max_items = 30)]
    pub periods: Vec<Score>,
    /// Whether there was overtime.
    pub overtime: bool,
    /// The shootout after a draw; `null` if there was none.
    pub shootout: Option<Score>,
    /// Which side forfeited the game; `null` if none did.
    pub forfeited_by: Option<Side>,
    /// ID of the user or key that recorded the result or last changed it.
    #[schema(examples("usr_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub recorded_by: String,
    /// When the result was recorded or last changed.
    pub recorded_at: Timestamp,
}
json_column!(GameResult);

/// The result of a game, seen from the team of the event.
#[input(as = RecordResultRequest, faults)]
#[derive(Clone)]
pub struct NewResult {
    /// Whether the game is over, and how it ended. Default: `final`.
    #[input(default = Status::Final)]
    pub status: Status,
    /// Points of the team of the event, without a shootout. Required, except for a forfeited or abandoned game.
    #[schema(examples(2))]
    #[input(number(0, MAX_SCORE))]
    pub score_for: Option<i64>,
    /// Points of the opponent, without a shootout. Required, except for a forfeited or abandoned game.
    #[schema(examples(1))]
    #[input(number(0, MAX_SCORE))]
    pub score_against: Option<i64>,
    /// The points in each period. They must add up to the score, or the score must be the number of periods that each
    /// side won, as in volleyball.
    #[input(objects(MAX_PERIODS), default)]
    pub periods: Vec<Score>,
    /// Whether there was overtime. Default: `false`.
    #[input(default = false)]
    pub overtime: bool,
    /// The shootout after a draw. The score may also contain one point for its winner, as in ice hockey.
    #[input(object)]
    pub shootout: Option<Score>,
    /// Which side forfeited the game. Required if `status` is `forfeit`, otherwise not allowed.
    pub forfeited_by: Option<Side>,
}

impl NewResult {
    /// The faults that can be found without the event.
    fn faults(&self) -> Vec<Fault> {
        let mut faults = self.score_faults();
        let is_forfeit = self.status == Status::Forfeit;
        if is_forfeit && self.forfeited_by.is_none() {
            let detail = "Say which side forfeited the game.";
            faults.push(Fault::new("/forfeited_by", "required", detail));
        }
        if !is_forfeit && self.forfeited_by.is_some() {
            let detail = "Only a game with the status `forfeit` has this field.";
            faults.push(Fault::new("/forfeited_by", "not_allowed", detail));
        }
        faults.extend(self.shootout_fault());
        faults.extend(self.period_fault());
        faults
    }

    /// The faults of missing scores.
    fn score_faults(&self) -> Vec<Fault> {
        let is_optional = matches!(self.status, Status::Forfeit | Status::Abandoned);
        let (scored, against) = (self.score_for, self.score_against);
        let is_complete = scored.is_some() && against.is_some();
        if is_complete || is_optional && scored.is_none() && against.is_none() {
            return Vec::new();
        }
        let fields = [("/score_for", scored), ("/score_against", against)];
        let missing = fields.into_iter().filter(|(_, score)| score.is_none());
        let fault = |(pointer, _)| Fault::new(pointer, "required", "Enter the score.");
        missing.map(fault).collect()
    }

    fn score(&self) -> Option<Score> {
        let (scored, against) = self.score_for.zip(self.score_against)?;
        Some(Score { scored, against })
    }

    fn shootout_fault(&self) -> Option<Fault> {
        let shootout = self.shootout?;
        if self.status != Status::Final {
            let detail = "A shootout can only be recorded with a final score.";
            return Some(Fault::new("/shootout", "not_allowed", detail));
        }
        if shootout.scored == shootout.against {
            return Some(Fault::new("/shootout", "invalid", "A shootout cannot end in a draw."));
        }
        let lead = self.score().map(|score| score.scored - score.against).unwrap_or_default();
        let winners_lead = if shootout.scored > shootout.against { lead } else { -lead };
        let detail = "A shootout is only possible after a draw. Remove it, or correct the score.";
        (!(0..=1).contains(&winners_lead)).then(|| Fault::new("/shootout", "not_allowed", detail))
    }

    /// The fault if the periods of a final score contradict it.
    fn period_fault(&self) -> Option<Fault> {
        let score = self.score().filter(|_| self.status == Status::Final)?;
        if self.periods.is_empty() {
            return None;
        }
        let total = Score {
            scored: self.periods.iter().map(|period| period.scored).sum(),
            against: self.periods.iter().map(|period| period.against).sum(),
        };
        let won = Score {
            scored: count(&self.periods, |period| period.scored > period.against),
            against: count(&self.periods, |period| period.scored < period.against),
        };
        let with_shootout = self.shootout.map(|shootout| Score {
            scored: total.scored + i64::from(shootout.scored > shootout.against),
            against: total.against + i64::from(shootout.scored < shootout.against),
        });
        let fits = [Some(total), Some(won), with_shootout].contains(&Some(score));
        let detail = "The periods do not add up to the score.";
        (!fits).then(|| Fault::new("/periods", "wrong_sum", detail))
    }

    /// How the game ended for the team of the event.
    fn outcome(&self) -> Option<Outcome> {
        match (self.status, self.forfeited_by, self.shootout) {
            (Status::InProgress | Status::Abandoned, ..) => None,
            (Status::Forfeit, Some(Side::Them), _) => Some(Outcome::Win),
            (Status::Forfeit, ..) => Some(Outcome::Loss),
            (Status::Final, _, Some(shootout)) => Some(shootout.outcome()),
            (Status::Final, ..) => self.score().map(Score::outcome),
        }
    }
}

fn count(periods: &[Score], is_counted: impl Fn(&Score) -> bool) -> i64 {
    periods.iter().map(|period| i64::from(is_counted(period))).sum()
}

impl Score {
    /// The score as pages show it: `3–2`.
    fn shown(&self) -> String {
        format!("{}–{}", self.scored, self.against)
    }

    fn outcome(self) -> Outcome {
        match self.scored.cmp(&self.against) {
            std::cmp::Ordering::Greater => Outcome::Win,
            std::cmp::Ordering::Equal => Outcome::Draw,
            std::cmp::Ordering::Less => Outcome::Loss,
        }
    }
}

/// Why the result of an event cannot be recorded at this time.
pub fn check_recordable(event: &Event, now: Timestamp) -> Result<()> {
    let detail = match event.status {
        _ if event.kind != Kind::Game => "Only games have a result.",
        EventStatus::Cancelled => "The game is cancelled, so it has no result.",
        EventStatus::Postponed => "The game is postponed. Set its new time first.",
        _ if now < event.starts_at.minus(EARLIEST) => {
            "A result can be recorded from 24 hours before the start of the game."
        }
        _ => return Ok(()),
    };
    Err(Error::invalid_state(detail))
}

/// Records or corrects the result of a game. A game that is over is completed.
pub fn record(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    expected: &IfMatch,
    new: NewResult,
) -> Result<EventView> {
    let before = edit::find_editable(tx, access, id, expected)?;
    check_recordable(&before, tx.now())?;
    let outcome = new.outcome();
    let result = copy_fields! {
        GameResult {
            outcome,
            recorded_by: tx.actor().to_owned(),
            recorded_at: tx.now(),
            ..new { status, score_for, score_against, periods, overtime, shootout, forfeited_by }
        }
    };
    let is_same = |old: &GameResult| {
        let who = (old.recorded_by.clone(), old.recorded_at);
        *old == GameResult { recorded_by: who.0, recorded_at: who.1, ..result.clone() }
    };
    if before.result.as_ref().is_some_and(is_same) {
        return event::view(tx, before);
    }
    let status = match result.status {
        Status::Final | Status::Forfeit => EventStatus::Completed,
        Status::InProgress | Status::Abandoned => EventStatus::Scheduled,
    };
    let after = Event { status, result: Some(result), ..before.clone() };
    save(tx, "result.recorded", before, after)
}

/// Deletes the result of a game, which is then scheduled again.
pub fn delete(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    expected: &IfMatch,
) -> Result<EventView> {
    let before = edit::find_editable(tx, access, id, expected)?;
    Error::invalid_state("The event has no result.").fail_if(before.result.is_none())?;
    let status = match before.status {
        EventStatus::Completed => EventStatus::Scheduled,
        status => status,
    };
    let after = Event { status, result: None, ..before.clone() };
    let deleted = save(tx, "result.deleted", before, after)?;
    if !deleted.event.is_over(tx.now()) {
        // Answers of people who left the team were kept while the event was completed.
        rsvp::sync_with_roster(tx, &deleted.event)?;
    }
    event::view(tx, event::find(tx, access, id)?)
}

fn save(tx: &Tx<'_>, kind: &'static str, before: Event, after: Event) -> Result<EventView> {
    let after = Event {
        revision: after.revision + 1,
        revised_at: tx.now(),
        updated_at: tx.now(),
        version: after.version + 1,
        ..after
    };
    event::update(tx, &after)?;
    let is_completed = |event: &Event| event.status == EventStatus::Completed;
    let completes = is_completed(&after) && !is_completed(&before);
    let (before, after) = (event::view(tx, before)?, event::view(tx, after)?);
    tx.publish_change(kind, &before, &after)?;
    if completes {
        tx.publish_change("event.completed", &before, &after)?;
    }
    Ok(after)
}

/// A result in a few words, as pages show it.
#[derive(Debug)]
pub struct ResultText {
    /// The class of its color.
    pub tone: &'static str,
    /// `Win`.
    pub word: &'static str,
    /// `Win 3–2`.
    pub label: String,
}

impl ResultText {
    pub fn new(result: &GameResult) -> Self {
        let shootout = result.shootout.as_ref().map(|score| format!(" ({})", score.shown()));
        let score = result.score() + &shootout.unwrap_or_default();
        let (tone, word, label) = match (result.status, result.outcome) {
            (Status::InProgress, _) => ("", t!("Live"), t!("Live {score}", score)),
            (Status::Abandoned, _) => ("may", t!("Abandoned"), t!("Abandoned").to_owned()),
            (Status::Forfeit, Some(Outcome::Win)) => {
                ("yes", t!("Win by forfeit"), t!("Win by forfeit").to_owned())
            }
            (Status::Forfeit, _) => ("no", t!("Loss by forfeit"), t!("Loss by forfeit").to_owned()),
            (Status::Final, Some(Outcome::Win)) => ("yes", t!("Win"), t!("Win {score}", score)),
            (Status::Final, Some(Outcome::Loss)) => ("no", t!("Loss"), t!("Loss {score}", score)),
            (Status::Final, _) => ("may", t!("Draw"), t!("Draw {score}", score)),
        };
        Self { tone, word, label }
    }
}

impl GameResult {
    /// The score: `3–2`. Empty if there is none.
    pub fn score(&self) -> String {
        let score = self.score_for.zip(self.score_against);
        score.map(|(scored, against)| Score { scored, against }.shown()).unwrap_or_default()
    }

    /// Periods, overtime and shootout: `1–2, 2–0 · after overtime · shootout 4–3`.
    pub fn details(&self) -> String {
        let periods: Vec<_> = self.periods.iter().map(Score::shown).collect();
        let shootout =
            self.shootout.as_ref().map(|score| t!("shootout {score}", score = score.shown()));
        let overtime = self.overtime.then(|| t!("after overtime").to_owned());
        let parts = [Some(periods.join(", ")), overtime, shootout].into_iter().flatten();
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}
