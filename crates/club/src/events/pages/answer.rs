//! Answering: the part of a page where a family answers, and the form that it sends.
//!
//! Every page shows it with [`AnswerBlock::show`]. With scripts, the response to the form updates the part and keeps what
//! was typed in the other forms; without, the form leads back to the page.

use askama::filters::HtmlSafe;
use http::HeaderMap;

use super::{event_page, is_page_error, load_access};
use crate::events::EventsAnswer;
use crate::events::answers::{self, AnswerBlock, PersonAnswer};
use crate::events::event;
use crate::events::rsvp::{self, Answer, ClosedReason, NewAnswer};
use crate::events::undo;
use crate::i18n::Html;
use crate::prelude::*;
use crate::web::confirm::NoticePage;
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;
use crate::web::visitor::safe_redirect_path;

const FIELDS: &[Field] = &[
    Field::select(
        "answer",
        "Answer",
        &[
            Choice::new("yes", "Going"),
            Choice::new("no", "Can’t go"),
            Choice::new("maybe", "Maybe"),
        ],
    )
    .required("Choose Going, Can’t go or Maybe."),
    Field::block("note", "Note for the coach", 500),
];

/// The buttons: value, tone, icon and label.
pub const CHOICES: [(&str, &str, &str, &str); 3] = [
    ("yes", "yes", "check", mark!("Going")),
    ("no", "no", "x", mark!("Can’t go")),
    ("maybe", "may", "circle-help", mark!("Maybe")),
];

/// Tells the other parts of the page that show answers.
const ANSWERED: [(&str, &str); 1] = [("hx-trigger", "answered")];
/// The value of the button that undoes an answer.
const UNDO: &str = "undo";

pub(super) fn router() -> Router<App> {
    Router::new().route("/events/{event}/answer", post(submit))
}

/// A rejected answer, with the visitor's input.
#[derive(Debug, Clone)]
pub struct RejectedAnswer {
    member_id: Option<MemberId>,
    /// What is wrong.
    text: String,
    note: String,
}

/// The forms of a family for one event.
#[derive(Template, Debug)]
#[template(path = "events/answers.html")]
pub struct AnswerForms<'a> {
    block: &'a AnswerBlock,
    frame: &'a Frame,
    /// The page to return to.
    next: &'a str,
    rejected: Option<&'a RejectedAnswer>,
    /// The member whose answer was just recorded. Their line gets the focus.
    recorded: Option<MemberId>,
}

impl HtmlSafe for AnswerForms<'_> {}

impl AnswerBlock {
    /// The forms. `next` is the path of the page to return to without scripts.
    pub fn show<'a>(&'a self, frame: &'a Frame, next: &'a str) -> AnswerForms<'a> {
        AnswerForms { block: self, frame, next, rejected: None, recorded: None }
    }

    /// The forms, with the answer that was not accepted.
    pub fn show_rejected<'a>(
        &'a self,
        frame: &'a Frame,
        next: &'a str,
        rejected: Option<&'a RejectedAnswer>,
    ) -> AnswerForms<'a> {
        AnswerForms { rejected, ..self.show(frame, next) }
    }
}

impl PersonAnswer {
    /// The class of the answer's color: `yes`, `no` or `may`.
    pub fn tone(&self) -> &'static str {
        match self.answer {
            Some(Answer::Yes) => "yes",
            Some(Answer::No) => "no",
            Some(Answer::Maybe | Answer::Waitlisted) => "may",
            None => "",
        }
    }

    /// The class of the color. Missing answers have the color of a maybe.
    pub(super) fn tone_or_open(&self) -> &'static str {
        if self.answer.is_none() { "may" } else { self.tone() }
    }

    /// The icon of the answer.
    pub fn icon(&self) -> &'static str {
        match self.answer {
            Some(Answer::Yes) => "check",
            Some(Answer::No) => "x",
            Some(Answer::Waitlisted) => "clock",
            Some(Answer::Maybe) | None => "circle-help",
        }
    }

    /// The answer as a sentence: `Mila is going`.
    pub fn sentence(&self) -> Html {
        let (name, place) = (&self.name, self.place.unwrap_or(1));
        match (self.is_self, self.answer) {
            (true, Some(Answer::Yes)) => t_html!("You are going"),
            (true, Some(Answer::No)) if self.by_away_date => t_html!("You can’t go (away)"),
            (true, Some(Answer::No)) => t_html!("You can’t go"),
            (true, Some(Answer::Maybe)) => t_html!("You might go"),
            (true, Some(Answer::Waitlisted)) => {
                t_html!("You are number {place} on the waiting list", place)
            }
            (true, None) => t_html!("Are you going?"),
            (false, Some(Answer::Yes)) => t_html!("<bdi>{name}</bdi> is going", name),
            (false, Some(Answer::No)) if self.by_away_date => {
                t_html!("<bdi>{name}</bdi> can’t go (away)", name)
            }
            (false, Some(Answer::No)) => t_html!("<bdi>{name}</bdi> can’t go", name),
            (false, Some(Answer::Maybe)) => t_html!("<bdi>{name}</bdi> might go", name),
            (false, Some(Answer::Waitlisted)) => {
                t_html!("<bdi>{name}</bdi> is number {place} on the waiting list", name, place)
            }
            (false, None) => t_html!("Is <bdi>{name}</bdi> going?", name),
        }
    }

    /// The answer in a few words, for an event that accepts no answers anymore: `Mila: going`.
    pub fn summary(&self) -> Html {
        let answer = match self.answer {
            Some(Answer::Yes) => t!("going"),
            Some(Answer::No) if self.by_away_date => t!("can’t go (away)"),
            Some(Answer::No) => t!("can’t go"),
            Some(Answer::Maybe) => t!("maybe"),
            Some(Answer::Waitlisted) => t!("on the waiting list"),
            None => t!("no answer"),
        };
        // Translators: {name} is a person, or "You". {answer} is "going", "can’t go" ...
        if self.is_self {
            t_html!("You: {answer}", answer)
        } else {
            t_html!("<bdi>{name}</bdi>: {answer}", name = self.name, answer)
        }
    }

    /// The value of the button that is pressed. Empty if there is no answer.
    fn pressed_button(&self) -> &'static str {
        match self.answer {
            Some(Answer::Yes | Answer::Waitlisted) => "yes",
            Some(Answer::No) => "no",
            Some(Answer::Maybe) => "maybe",
            None => "",
        }
    }
}

impl AnswerForms<'_> {
    /// The class of the team's color.
    fn look(&self) -> String {
        self.frame.nav.look(self.block.team_id, "").class()
    }

    fn rejected_for(&self, person: &PersonAnswer) -> Option<&RejectedAnswer> {
        self.rejected.filter(|rejected| rejected.member_id == Some(person.member_id))
    }

    /// A rejected answer that belongs to none of the forms.
    fn rejected_without_form(&self) -> Option<&RejectedAnswer> {
        let has_form = self.block.closed.is_none();
        let shown = |member| self.block.people.iter().any(|one| Some(one.member_id) == member);
        self.rejected.filter(|rejected| !(has_form && shown(rejected.member_id)))
    }

    /// Why no answer is accepted, unless the note about a rejected answer says so.
    fn closed_text(&self) -> Option<&'static str> {
        let text = t!(self.block.closed?);
        self.rejected.is_none_or(|rejected| rejected.text != text).then_some(text)
    }

    /// Whether the answer of this person was just recorded.
    fn is_recorded(&self, person: &PersonAnswer) -> bool {
        self.recorded == Some(person.member_id)
    }

    fn note<'s>(&'s self, person: &'s PersonAnswer) -> &'s str {
        let rejected = self.rejected_for(person).map(|rejected| rejected.note.as_str());
        rejected.or(person.note.as_deref()).unwrap_or_default()
    }
}

async fn submit(
    headers: HeaderMap,
    PathParams(id): PathParams<EventId>,
    VisitorForm { visitor, form }: VisitorForm<EventsAnswer>,
) -> PageResult {
    let next = match form.text("next") {
        "" => format!("/events/{id}"),
        next => safe_redirect_path(next).to_owned(),
    };
    let member: Option<MemberId> = form.text("member_id").parse().ok();
    let rejected = match record(&visitor, id, member, &form).await {
        Ok(()) => None,
        Err(error) => {
            let note = form.text("note").to_owned();
            let text = explain(&visitor, id, (member, &note), error).await?;
            Some(RejectedAnswer { member_id: member, text, note })
        }
    };
    if headers.contains_key("hx-request") {
        return fragment(&visitor, id, &next, member, rejected).await;
    }
    match rejected {
        None => Ok(see_other(&format!("{next}#answers-{id}"))),
        Some(rejected) => event_page::show_rejected(&visitor, id, rejected).await,
    }
}

/// Records the answer. Without the field `note`, the note stays.
async fn record(
    visitor: &Visitor<EventsAnswer>,
    id: EventId,
    member: Option<MemberId>,
    form: &Form,
) -> Result<()> {
    let access = visitor.team_access().await?;
    let (seen, mut filled) = (access.clone(), FilledForm::submitted(FIELDS, form));
    visitor.read(move |db| event::find(db, &seen, id)).await?;
    let Some(member) = member else {
        let detail = "This form is incomplete. Go back, reload the page and try again.";
        return Err(Error::new(Code::InvalidRequest, detail));
    };
    if form.text("answer") == UNDO {
        let version = form.text("version").parse().unwrap_or_default();
        let undo = move |tx: &Tx<'_>| undo::undo(tx, &access, (id, member), version);
        return visitor.write(undo).await;
    }
    let Some(new) = filled.parse::<NewAnswer>() else {
        let faults = filled.faults.all().map(|(field, text)| {
            Fault::new(format!("/{field}"), "invalid", crate::i18n::Message::from(text.to_owned()))
        });
        return Err(Error::invalid(faults.collect()));
    };
    let keeps_note = form.get("note").is_none();
    let work = move |tx: &Tx<'_>| {
        let before = rsvp::find(tx, &access, id, member).or_none()?;
        let note = if keeps_note { before.and_then(|rsvp| rsvp.note) } else { new.note };
        let new = NewAnswer { note, on_behalf_of: None, ..new };
        rsvp::answer(tx, &access, (id, member), &IfMatch::Absent, new)
    };
    visitor.write(work).await.map(drop)
}

/// What is wrong with an answer. Fails with errors that are not about the answer.
async fn explain(
    visitor: &Visitor<EventsAnswer>,
    id: EventId,
    (member, note): (Option<MemberId>, &str),
    error: Error,
) -> PageResult<String> {
    let family = visitor.roster_access().await?.family_person_ids();
    if let Some(member) = member
        && let Some((name, team)) =
            visitor.read(move |db| answers::former_member(db, &family, id, member)).await?
    {
        return Ok(t!("{name} is no longer on {team}, so no answer is needed.", name, team));
    }
    if error.code == Code::NotFound && !note.is_empty() {
        let text = t!(
            "This event or person was not found. The event may have been deleted, or it belongs to another club."
        );
        return Ok(text.to_owned());
    }
    if error.code == Code::InvalidState
        && let Some(closed) = find_closed(visitor, id).await?
    {
        return Ok(t!(answers::explain(closed)).to_owned());
    }
    if !is_page_error(&error) {
        return Err(error.into());
    }
    let faults: Vec<_> = error.faults.iter().map(|fault| fault.detail.to_string()).collect();
    Ok(if faults.is_empty() { error.detail.to_string() } else { faults.join(" ") })
}

/// Why the event accepts no answers, if it accepts none.
async fn find_closed(visitor: &Visitor<EventsAnswer>, id: EventId) -> Result<Option<ClosedReason>> {
    let access = visitor.team_access().await?;
    let read =
        move |db: &Reader<'_>| Ok(rsvp::closed_reason(&event::find(db, &access, id)?, db.now()));
    visitor.read(read).await
}

/// The response for scripts: only the forms.
async fn fragment(
    visitor: &Visitor<EventsAnswer>,
    id: EventId,
    next: &str,
    member: Option<MemberId>,
    rejected: Option<RejectedAnswer>,
) -> PageResult {
    let (access, roster_access) = load_access(visitor).await?;
    let load = move |db: &Reader<'_>| {
        let view = event::view(db, event::find(db, &access, id)?)?;
        Ok(AnswerBlock::load(db, &roster_access, &[view])?.remove(0))
    };
    let block = match (visitor.read(load).await, &rejected) {
        (Err(error), Some(rejected)) if error.code == Code::NotFound => {
            return former_member_page(visitor, rejected);
        }
        (block, _) => block?,
    };
    let frame = visitor.frame("", Section::None);
    let recorded = member.filter(|_| rejected.is_none());
    let forms = AnswerForms { recorded, ..block.show_rejected(&frame, next, rejected.as_ref()) };
    if rejected.is_some() {
        return render(StatusCode::UNPROCESSABLE_ENTITY, &forms);
    }
    Ok((ANSWERED, render(StatusCode::OK, &forms)?).into_response())
}

/// The page for an answer to an event that the visitor cannot see anymore.
pub(super) fn former_member_page<N: Permission>(
    visitor: &Visitor<N>,
    rejected: &RejectedAnswer,
) -> PageResult {
    let text = match rejected.note.as_str() {
        "" => Sentence::new("{text}"),
        note => Sentence::new("{text} Your note was: “{note}”").name("note", note),
    };
    let page = NoticePage {
        frame: visitor.frame(t!("Your answer was not saved"), Section::Schedule),
        lead: None,
        text: text.word("text", &rejected.text),
        back: Section::Schedule.href().to_owned(),
        back_label: mark!("Back to the schedule"),
    };
    render(StatusCode::CONFLICT, &page)
}
