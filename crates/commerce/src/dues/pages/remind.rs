//! Manual reminders: for one due, a team, or all overdue dues.

use std::collections::BTreeSet;

use super::{LIST_PATH, Treasurer, TreasurerForm, detail_path, is_form_error};
use crate::dues::due;
use crate::dues::reminders::{self, RemindRequest};
use crate::prelude::*;
use crate::teams::team;
use crate::web::confirm::{ConfirmPage, NoticePage};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// The confirmation message after a redirect with the numbers of dues and emails.
pub(super) fn flash(visitor: &Treasurer) -> Result<Option<Flash>> {
    let query = visitor.guest.query()?;
    let count = |name: &str| query.text(name).parse::<u32>().ok();
    let counts = count("dues").zip(count("emails")).filter(|_| query.text("done") == "reminded");
    Ok(counts.map(|(dues, emails)| confirmation(visitor, dues.into(), emails.into())))
}

/// The confirmation message after sending reminders.
pub(super) fn confirmation(visitor: &Treasurer, dues: i64, emails: i64) -> Flash {
    match (dues, emails) {
        (0, _) => Flash::failure(t!(
            "No reminders were sent. Nothing is overdue, or reminders were sent within the last hour."
        )),
        (_, 0) => Flash::failure(t!(
            "No reminders were sent. None of these families has an email address."
        )),
        (dues, emails) => {
            let dues = message_n!("{count} due", "{count} dues", dues);
            if visitor.app().direct_mailer.has_server() {
                // Translators: {dues} is a number such as "3 dues"
                Flash::success(tn!(
                    "Sending {count} reminder for {dues}.",
                    "Sending {count} reminders for {dues}.",
                    emails,
                    dues
                ))
            } else {
                // Translators: {dues} is a number such as "3 dues"
                Flash::failure(tn!(
                    "{count} reminder for {dues} will be sent when a mail server is set up.",
                    "{count} reminders for {dues} will be sent when a mail server is set up.",
                    emails,
                    dues
                ))
            }
        }
    }
}

pub(super) async fn confirm(visitor: Treasurer) -> PageResult {
    let overdue = visitor.read(|db: &Reader<'_>| reminders::list_overdue(db)).await?;
    let families: BTreeSet<_> = overdue.iter().map(|due| due.payer_id).collect();
    let frame = visitor.frame(t!("Send reminders for overdue dues"), Section::Dues);
    if overdue.is_empty() {
        let text = Sentence::new("Nothing is overdue, so there are no reminders to send.");
        let back_label = mark!("Back to dues");
        let back = LIST_PATH.to_owned();
        return NoticePage { frame, lead: None, text, back, back_label }.respond();
    }
    let mut page = ConfirmPage::new(frame, "Send reminders", LIST_PATH)
        .harmless()
        .heading("What happens when you send reminders");
    if !visitor.app().direct_mailer.has_server() {
        let text =
            mark!("Emails are sent as soon as a mail server is set up. For details, see {health}.");
        let text = Sentence::new(text).link("health", "/admin/health", t!("Health"));
        page = page.warning("No mail server is set up", text);
    }
    let dues =
        message_n!("{count} due that is overdue", "{count} dues that are overdue", overdue.len());
    // Translators: {dues} is a number such as "3 dues that are overdue"
    let emails = tn!(
        "{count} family gets an email about {dues}.",
        "{count} families get an email about {dues}.",
        families.len(),
        dues
    );
    page.effect(Sentence::new("{emails}").word("emails", emails))
    .effect("The email goes to the payer. If the payer is a minor or has no email address, it also goes to the guardians who receive messages.")
    .effect("Families that got a reminder within the last hour do not get another one.")
    .respond()
}

pub(super) async fn all_overdue(TreasurerForm { visitor, .. }: TreasurerForm) -> PageResult {
    let (dues, emails) = visitor.write(|tx: &Tx<'_>| reminders::remind_overdue(tx)).await?;
    Ok(see_other(&format!("{LIST_PATH}?done=reminded&dues={dues}&emails={emails}")))
}

pub(super) async fn team(
    PathParams(id): PathParams<TeamId>,
    TreasurerForm { visitor, .. }: TreasurerForm,
) -> PageResult {
    let remind = move |tx: &Tx<'_>| {
        team::find(tx, id)?;
        reminders::remind_team(tx, &TeamAccess::AllTeams, &RemindRequest { team_id: id })
    };
    let reminded = visitor.write(remind).await?;
    let (dues, emails) = (reminded.due_ids.len(), reminded.emails);
    Ok(see_other(&format!("{LIST_PATH}/teams/{id}?done=reminded&dues={dues}&emails={emails}")))
}

pub(super) async fn one(
    PathParams(id): PathParams<DueId>,
    TreasurerForm { visitor, .. }: TreasurerForm,
) -> PageResult {
    let remind = move |tx: &Tx<'_>| {
        due::load(tx, id)?;
        reminders::remind(tx, &TeamAccess::AllTeams, id, &IfMatch::Absent)
    };
    match visitor.write(remind).await {
        Ok(reminded) => {
            let emails = reminded.emails;
            Ok(see_other(&format!("{}?done=reminded&emails={emails}", detail_path(id))))
        }
        Err(error) if is_form_error(&error) => {
            Ok(see_other(&format!("{}?done=lately", detail_path(id))))
        }
        Err(error) => Err(error.into()),
    }
}
