//! `/events/{event}/result`: coaches enter the score of a game, also while it is played.

use super::{Coach, CoachForm, event_path};
use crate::events::event::{self, EventView};
use crate::events::pages::display;
use crate::events::result::{self, GameResult, NewResult, ResultText};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Choice, Field, FilledForm, Rows};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const SCORE: (i64, i64) = (0, result::MAX_SCORE);
const NOT_A_SCORE: &str = mark!("Enter a number from 0 to {max}.");
const FIELDS: &[Field] = &[
    Field::pair(
        "Score",
        &[
            Field::number_from("score_for", "Our score", SCORE, NOT_A_SCORE),
            Field::number_from("score_against", "Their score", SCORE, NOT_A_SCORE),
        ],
    )
    .attributes("pair level versus")
    .named("score"),
    Field::radio(
        "status",
        "Status",
        &[
            Choice::new("final", "Final score"),
            Choice::new("in_progress", "In progress"),
            Choice::new("forfeit", "Forfeit")
                .about("A team did not play, or officials decided the result."),
            Choice::new("abandoned", "Abandoned")
                .about("The game was stopped early and does not count."),
        ],
    )
    .default("final")
    .required("Choose one."),
    Field::radio(
        "forfeited_by",
        "Who forfeited the game?",
        &[Choice::new("us", "Our team"), Choice::new("them", "The other team")],
    )
    .when("status", &["forfeit"]),
    Field::check("overtime", "Overtime", "The game was decided after overtime."),
    Field::pair(
        "Shootout, if there was one",
        &[
            Field::number_from("shootout_for", "Our shootout", SCORE, NOT_A_SCORE).key("shootout"),
            Field::number_from("shootout_against", "Their shootout", SCORE, NOT_A_SCORE)
                .page_only(),
        ],
    )
    .attributes("pair level versus")
    .named("shootout"),
    Field::rows(
        "periods",
        "Halves, quarters, innings or sets",
        Rows {
            fields: &[
                Field::number_from("period_for_{row}", "Us, period {row}", SCORE, NOT_A_SCORE)
                    .key("for")
                    .required(""),
                Field::number_from(
                    "period_against_{row}",
                    "Them, period {row}",
                    SCORE,
                    NOT_A_SCORE,
                )
                .key("against")
                .required(""),
            ],
            first: 1,
            min: 4,
            max: result::MAX_PERIODS,
            empty: 1,
            error: "",
            class: "pair level versus",
            row_class: "",
        },
    )
    .hint("Empty rows are ignored. Save to get more rows."),
];

#[derive(Template)]
#[template(path = "events/result.html")]
struct ResultPage {
    frame: Frame,
    view: EventView,
    form: FilledForm,
    path: String,
}

impl ResultPage {
    fn has_overtime(&self) -> bool {
        let shootout = ["shootout_for", "shootout_against"];
        self.form.is_checked("overtime")
            || shootout.iter().any(|name| !self.form.text(name).is_empty())
            || self.form.has_error(&shootout)
    }

    fn has_periods(&self) -> bool {
        self.form.has_rows("periods") || self.form.has_error(&["periods"])
    }

    /// Title and time of the game.
    fn lead(&self) -> Sentence {
        Sentence::new("{title}, {time}")
            .name("title", &self.view.event.shown_title())
            .word("time", display::start(&self.view))
    }
}

/// The state of the result that the form was filled in for: when it was recorded; 0 if there was none. The version of
/// the event is not used, because every RSVP changes it.
struct ResultState(i64);

impl ResultState {
    fn of(result: Option<&GameResult>) -> Self {
        Self(result.map_or(0, |result| result.recorded_at.micros()))
    }
}

impl Versioned for ResultState {
    fn version(&self) -> i64 {
        self.0
    }
}

/// The form with the result as it is recorded.
fn filled_form(result: Option<&GameResult>) -> FilledForm {
    let form = FilledForm::empty(FIELDS).version(ResultState::of(result).0);
    let Some(result) = result else { return form };
    let form = form.filled_from(result);
    match result.shootout {
        Some(shootout) => form
            .with("shootout_for", shootout.scored.to_string())
            .with("shootout_against", shootout.against.to_string()),
        None => form,
    }
}

/// The result that was entered. Errors are added to the form.
fn parse(form: &mut FilledForm) -> Option<NewResult> {
    let mut body = form.body();
    let score = |name: &str| form.text(name).parse::<i64>().ok();
    let has_shootout =
        !(form.text("shootout_for").is_empty() && form.text("shootout_against").is_empty());
    body["shootout"] = if has_shootout {
        json!({ "for": score("shootout_for"), "against": score("shootout_against") })
    } else {
        Value::Null
    };
    form.finish(body)
}

async fn load(visitor: &Coach, id: EventId) -> Result<EventView> {
    let view = find(visitor, id).await?;
    result::check_recordable(&view.event, visitor.app().clock.now())?;
    Ok(view)
}

async fn find(visitor: &Coach, id: EventId) -> Result<EventView> {
    let access = visitor.team_access().await?;
    visitor.read(move |db: &Reader<'_>| event::view(db, event::find(db, &access, id)?)).await
}

fn show(visitor: &Coach, view: EventView, form: FilledForm) -> PageResult {
    let frame = visitor.frame(t!("Result"), Section::Schedule).team(view.event.team_id);
    let path = event_path(view.event.id);
    render(form.status(), &ResultPage { frame, view, form, path })
}

pub(super) async fn form(visitor: Coach, PathParams(id): PathParams<EventId>) -> PageResult {
    let view = load(&visitor, id).await?;
    let form = filled_form(view.event.result.as_ref());
    show(&visitor, view, form)
}

pub(super) async fn save(
    PathParams(id): PathParams<EventId>,
    CoachForm { visitor, form: sent }: CoachForm,
) -> PageResult {
    let mut form = FilledForm::submitted(FIELDS, &sent);
    if let Some(new) = parse(&mut form) {
        let (access, known) = (visitor.team_access().await?, form.expected_version());
        let record = move |tx: &Tx<'_>| {
            let event = event::find(tx, &access, id)?;
            known.check(Ok(ResultState::of(event.result.as_ref())))?;
            result::record(tx, &access, id, &IfMatch::Absent, new)
        };
        match visitor.write(record).await {
            Err(error) if error.code == Code::PreconditionFailed => {
                let view = load(&visitor, id).await?;
                let changed =
                    t!("Somebody else has saved a result. Compare it with yours, then save again.");
                form.faults.add("", changed);
                let form = form.version(ResultState::of(view.event.result.as_ref()).0);
                return show(&visitor, view, form);
            }
            result => {
                if form.accept(result)?.is_some() {
                    return Ok(see_other(&format!("{}?done=result_saved", event_path(id))));
                }
            }
        }
    }
    show(&visitor, load(&visitor, id).await?, form)
}

pub(super) async fn ask_delete(visitor: Coach, PathParams(id): PathParams<EventId>) -> PageResult {
    let view = find(&visitor, id).await?;
    let Some(result) = &view.event.result else {
        return Ok(see_other(&event_path(id)));
    };
    let state = ResultState::of(Some(result)).0;
    let frame = visitor.frame(t!("Delete result"), Section::Schedule);
    ConfirmPage::new(frame, "Delete result", format!("{}/result", event_path(id)))
        .lead(
            Sentence::new("{title}: {result}")
                .name("title", &view.event.shown_title())
                .word("result", ResultText::new(result).label),
        )
        .effect("The result is deleted, and the game is scheduled again.")
        .effect(
            "Use this only if the result belongs to another game. To correct a score, change it.",
        )
        .form(FilledForm::empty(&[]).version(state), "The result was not deleted")
        .respond()
}

pub(super) async fn delete(
    PathParams(id): PathParams<EventId>,
    CoachForm { visitor, form: sent }: CoachForm,
) -> PageResult {
    let access = visitor.team_access().await?;
    let known = FilledForm::submitted(&[], &sent).expected_version();
    let delete = move |tx: &Tx<'_>| {
        let event = event::find(tx, &access, id)?;
        if event.result.is_some() {
            known.check(Ok(ResultState::of(event.result.as_ref())))?;
            result::delete(tx, &access, id, &IfMatch::Absent)?;
        }
        Ok(())
    };
    match visitor.write(delete).await {
        // Somebody else has changed the result: the page shows it.
        Err(error) if error.code == Code::PreconditionFailed => {
            return Ok(see_other(&format!("{}/result", event_path(id))));
        }
        deleted => deleted?,
    }
    Ok(see_other(&format!("{}?done=result_deleted", event_path(id))))
}
