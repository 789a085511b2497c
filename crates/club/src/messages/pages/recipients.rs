//! The part of the form that says who gets a message, with the number of recipients. Scripts load it again after each
//! choice; without scripts, the number is on the preview.

use super::audience_form::{self, AudienceChoices};
use super::compose::{self, FIELDS};
use super::{Submission, viewer};
use crate::i18n::{Locale, format};
use crate::messages::audience::Audience;
use crate::messages::inbox::Viewer;
use crate::messages::message::{Kind, MessageRecord, NewMessage};
use crate::messages::preview::{self, Preview};
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::roster::person;
use crate::teams::team;
use crate::web::form::FilledForm;
use crate::web::nav::Nav;
use crate::web::prelude::*;
use crate::web::team_look::TeamLook;

/// Maximum number of children whose names the note about safeguarding mentions.
const MAX_NAMED: usize = 2;

/// A team that the visitor can write to.
#[derive(Debug, Clone)]
pub(super) struct TeamChoice {
    pub(super) id: TeamId,
    pub(super) name: String,
    pub(super) look: TeamLook,
    pub(super) is_chosen: bool,
    /// Whether the visitor can post announcements.
    pub(super) is_staff: bool,
}

/// How many people get the message, in words.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) count: i64,
    /// The groups, the families and the emails.
    pub(super) lines: Vec<String>,
    /// For whom guardians get the message too.
    pub(super) safety: Vec<String>,
}

impl Summary {
    /// The label next to the number.
    pub(super) fn label(&self) -> String {
        tn!("person gets this", "people get this", self.count)
    }
}

/// The result of counting the recipients.
pub(super) enum Outcome {
    Counted(Summary),
    /// Why the message cannot be sent.
    Refused(String),
    /// Something must be chosen first.
    Unknown,
}

/// The fields for the kind of message, the teams and the audience, and the number of recipients.
#[derive(Template)]
#[template(path = "messages/who.html")]
pub(super) struct WhoView {
    pub(super) form: FilledForm,
    pub(super) teams: Vec<TeamChoice>,
    pub(super) can_announce: bool,
    pub(super) outcome: Outcome,
}

impl askama::filters::HtmlSafe for WhoView {}

impl WhoView {
    fn kind(&self) -> Kind {
        kind(&self.form)
    }

    fn is_announcement(&self) -> bool {
        self.kind() == Kind::Announcement
    }

    fn error(&self, field: &str) -> &str {
        self.form.faults.at(field)
    }

    /// The teams to choose from: for an announcement, those that the visitor manages.
    fn selectable_teams(&self) -> impl Iterator<Item = &TeamChoice> {
        let is_announcement = self.is_announcement();
        self.teams.iter().filter(move |team| team.is_staff || !is_announcement || team.is_chosen)
    }
}

/// The chosen kind.
pub(super) fn kind(form: &FilledForm) -> Kind {
    Kind::parse(form.text("kind")).unwrap_or(Kind::Message)
}

pub(super) async fn count(Submission { visitor, form }: Submission) -> PageResult {
    let viewer = viewer(&visitor).await?;
    let nav = visitor.nav.clone();
    let load = move |db: &Reader<'_>| {
        let (form, zone) = compose::clean(db, &viewer.access, &form)?;
        load(db, &viewer, &nav, FilledForm::submitted(FIELDS, &form).zone(&zone))
    };
    render(StatusCode::OK, &visitor.read(load).await?)
}

/// Loads what can be chosen, and counts the recipients.
pub(super) fn load(
    db: &Reader<'_>,
    viewer: &Viewer,
    nav: &Nav,
    form: FilledForm,
) -> Result<WhoView> {
    let teams = teams(db, viewer, nav, &form)?;
    let chosen: Vec<_> = teams.iter().filter(|team| team.is_chosen).map(|team| team.id).collect();
    let choices = match chosen[..] {
        [team] => AudienceChoices::load(db, &viewer.access, team)?,
        _ => AudienceChoices::default(),
    };
    let outcome = outcome(db, viewer, &form, &chosen)?;
    let can_announce = teams.iter().any(|team| team.is_staff);
    Ok(WhoView { form: choices.add_to(form), teams, can_announce, outcome })
}

/// The teams to choose from: those of the menu, and those that are chosen already.
pub(super) fn teams(
    db: &Reader<'_>,
    viewer: &Viewer,
    nav: &Nav,
    form: &FilledForm,
) -> Result<Vec<TeamChoice>> {
    let chosen: Vec<TeamId> =
        form.all("teams").into_iter().filter_map(|team| team.parse().ok()).collect();
    let choice = |id: TeamId, name: &str, look: TeamLook| TeamChoice {
        is_chosen: chosen.contains(&id),
        is_staff: viewer.access.has_full_access(id),
        name: name.to_owned(),
        id,
        look,
    };
    let listed = nav.teams.iter().map(|team| choice(team.id, &team.name, team.look.clone()));
    let mut teams: Vec<_> = listed.collect();
    // The menu of an admin does not have all teams of a large club.
    for id in &chosen {
        if !teams.iter().any(|team| team.id == *id) {
            viewer.access.check(*id)?;
            let team = team::find(db, *id)?;
            teams.push(choice(team.id, &team.name, team.look()));
        }
    }
    Ok(teams)
}

/// Counts the recipients of the current choices.
fn outcome(
    db: &Reader<'_>,
    viewer: &Viewer,
    form: &FilledForm,
    teams: &[TeamId],
) -> Result<Outcome> {
    let audience = serde_json::from_value::<Audience>(complete(audience_form::audience(form)));
    let Ok(audience) = audience else { return Ok(Outcome::Unknown) };
    let is_incomplete = match form.text("audience") {
        "members" => audience.member_ids.as_ref().is_none_or(Vec::is_empty),
        "unanswered" => audience.event_id.is_none(),
        _ => false,
    };
    if teams.is_empty() || is_incomplete {
        return Ok(Outcome::Unknown);
    }
    let audience = Some(audience);
    let new = |team: &TeamId| {
        let audience = audience.clone();
        NewMessage { team_id: Some(*team), audience, ..without_text(kind(form)) }
    };
    count_recipients(db, viewer, teams.iter().map(new).collect())
}

/// A message without text, to find out who would get it.
fn without_text(kind: Kind) -> NewMessage {
    NewMessage {
        team_id: None,
        kind,
        subject: None,
        body: String::new(),
        audience: None,
        event_id: None,
        attachment_ids: Vec::new(),
        parent_id: None,
        pinned: false,
        publish_at: None,
        on_behalf_of: None,
        metadata: Metadata::default(),
    }
}

/// Who would get a reply, in the name of this person.
pub(super) fn of_reply(
    db: &Reader<'_>,
    viewer: &Viewer,
    parent: MessageId,
    on_behalf_of: Option<PersonId>,
) -> Result<Outcome> {
    let reply = without_text(Kind::Message);
    let reply = NewMessage { parent_id: Some(parent), on_behalf_of, ..reply };
    count_recipients(db, viewer, vec![reply])
}

/// Who will get a scheduled message.
pub(super) fn of_scheduled(
    db: &Reader<'_>,
    viewer: &Viewer,
    message: &MessageRecord,
) -> Result<Outcome> {
    let (team_id, audience) = (Some(message.team_id), Some(message.audience.clone()));
    let new = NewMessage { team_id, audience, ..without_text(message.kind) };
    count_recipients(db, viewer, vec![new])
}

/// Counts the people who would get these messages, or says why they cannot be sent.
fn count_recipients(
    db: &Reader<'_>,
    viewer: &Viewer,
    messages: Vec<NewMessage>,
) -> Result<Outcome> {
    Ok(match preview_all(db, viewer, messages) {
        Ok(preview) => Outcome::Counted(summary(db, viewer, &preview)),
        Err(error) if error.code.status().is_client_error() => {
            let fault = error.faults.first().map(|fault| &fault.detail);
            Outcome::Refused(fault.unwrap_or(&error.detail).to_string())
        }
        Err(error) => return Err(error),
    })
}

/// The audience with all fields.
fn complete(mut audience: Value) -> Value {
    for field in ["member_ids", "event_id"] {
        if audience.get(field).is_none() {
            audience[field] = Value::Null;
        }
    }
    audience
}

/// Who would receive these messages, one for each team.
pub(super) fn preview_all(
    db: &Reader<'_>,
    viewer: &Viewer,
    messages: Vec<NewMessage>,
) -> Result<Preview> {
    let sender = SenderIdentity::OneOf(viewer.roster.own_person_ids.clone());
    let mut previews =
        messages.into_iter().map(|new| preview::load(db, &viewer.access, &sender, new));
    let mut all = previews.next().transpose()?.unwrap_or_default();
    for preview in previews {
        all.add(preview?);
    }
    Ok(all)
}

/// The numbers of a preview in words.
pub(super) fn summary(db: &Reader<'_>, viewer: &Viewer, preview: &Preview) -> Summary {
    let counts = preview.counts();
    let groups = [
        (counts.players, tn!("{count} player", "{count} players", counts.players)),
        (counts.guardians, tn!("{count} guardian", "{count} guardians", counts.guardians)),
        (
            counts.staff,
            tn!("{count} coach or staff member", "{count} coaches and staff", counts.staff),
        ),
    ];
    let groups = groups.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text);
    let mut lines = vec![format::list(Locale::current_or_english(), groups)];
    let (reached, families) = (counts.families_reached, counts.families);
    if families > 0 && reached == families {
        lines.push(tn!(
            "This reaches the only family on the team.",
            "This reaches all {count} families.",
            families
        ));
    } else if families > 0 {
        lines.push(tn!(
            "This reaches {reached} of {count} family.",
            "This reaches {reached} of {count} families.",
            families,
            reached
        ));
    }
    if counts.unreachable > 0 {
        lines.push(tn!(
            "{count} person cannot read it, because they get no email and do not sign in.",
            "{count} people cannot read it, because they get no email and do not sign in.",
            counts.unreachable
        ));
    }
    Summary { count: counts.recipients, lines, safety: safety(db, viewer, preview) }
}

/// Explains for which children guardians get the message too. Names only children whose age the viewer may see.
fn safety(db: &Reader<'_>, viewer: &Viewer, preview: &Preview) -> Vec<String> {
    if preview.added.is_empty() {
        return Vec::new();
    }
    let today = person::today(db.now());
    let sees = |child: &PersonId| {
        preview.is_team_visible || viewer.roster.family_person_ids().contains(child)
    };
    let mut lines = Vec::new();
    if preview.added.len() <= MAX_NAMED && preview.added.keys().all(sees) {
        for (child, guardians) in &preview.added {
            let Some(child) = preview.minors.get(child) else { continue };
            let (name, count) = (person::display_name(child), guardians.len());
            let count = i64::try_from(count).unwrap_or_default();
            lines.push(match child.birth_date.and_then(|born| born.age_on(today)) {
                _ if viewer.roster.own_person_ids.contains(&child.id) => {
                    tn!(
                        "You are under 18: your guardian gets this too.",
                        "You are under 18: your {count} guardians get this too.",
                        count
                    )
                }
                Some(age) if age < 18 => {
                    let age = age.to_string();
                    tn!(
                        "{name} is {age}: a guardian gets this too.",
                        "{name} is {age}: {count} guardians get this too.",
                        count,
                        name,
                        age
                    )
                }
                _ => tn!(
                    "{name} is treated as a minor: a guardian gets this too.",
                    "{name} is treated as a minor: {count} guardians get this too.",
                    count,
                    name
                ),
            });
        }
    } else {
        let count = i64::try_from(preview.added.len()).unwrap_or_default();
        lines.push(tn!(
            "{count} of them is under 18: their guardians get this too.",
            "{count} of them are under 18: their guardians get this too.",
            count
        ));
    }
    lines.push(t!("A message to a child always includes a guardian or a second adult.").to_owned());
    lines
}
