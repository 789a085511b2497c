//! Charging a team: the form, a preview, and the submission, which is carried out only once.

use std::borrow::Borrow;

use kit::secret::{hex, sha256};

use super::charge_form;
use super::form_fields;
use super::formatting::{self, DisplayNames};
use super::list::charge_list_path;
use super::{Treasurer, TreasurerForm, is_form_error};
use crate::dues::charging::{self, NewCharge, Preview};
use crate::dues::due::DueWithPlan;
use crate::money::pages::teams;
use crate::money::settings;
use crate::prelude::*;
use crate::roster::member::{self, Member, MemberFilter};
use crate::roster::membership::MemberStatus;
use crate::teams::team;
use crate::web::form::FilledForm;
use crate::web::form_dedup::Submission;
use crate::web::prelude::*;

/// Maximum number of members in the form.
const MAX_MEMBERS: i64 = 500;

#[derive(Template)]
#[template(path = "dues/charge_team.html")]
struct TeamPage {
    frame: Frame,
    teams: Vec<(TeamId, String)>,
}

#[derive(Template)]
#[template(path = "dues/charge.html")]
struct ChargePage {
    frame: Frame,
    team: String,
    form: FilledForm,
}

#[derive(Template)]
#[template(path = "dues/preview.html")]
struct PreviewPage {
    frame: Frame,
    team: String,
    title: String,
    category: &'static str,
    /// The dues of the members, with their names and currency.
    dues: Vec<Preview>,
    names: DisplayNames,
    currency: Currency,
    /// Whether a new due would be overdue at once.
    overdue: bool,
    late_fee: Option<String>,
    nonce: String,
    /// Digest of the previewed dues. The charge is rejected if they have changed since.
    digest: String,
    hidden_fields: Vec<(String, String)>,
}

impl PreviewPage {
    fn person(&self, id: &PersonId) -> String {
        self.names.person(*id)
    }

    fn money(&self, minor: impl Borrow<i64>) -> String {
        formatting::money(minor, self.currency)
    }

    fn money_or_dash(&self, minor: impl Borrow<i64>) -> String {
        if *minor.borrow() == 0 { "–".to_owned() } else { self.money(minor) }
    }

    fn sum(&self) -> i64 {
        self.dues.iter().map(|preview| preview.record.due.net()).sum()
    }

    fn credit(&self) -> i64 {
        self.dues.iter().map(|preview| preview.credit).sum()
    }
}

/// Error if the dues have changed since the preview.
const PREVIEW_OUTDATED: &str = mark!(
    "Something has changed since the preview. Check the fields, then preview the charge again."
);

pub(super) async fn new(visitor: Treasurer) -> PageResult {
    let form = visitor.guest.query()?;
    let load = |db: &Reader<'_>| Ok((teams::active(db)?, settings::load(db)?.currency));
    let (teams, currency) = visitor.read(load).await?;
    let only = <[_; 1]>::try_from(teams.clone()).ok().map(|[(id, _)]| id);
    let selected = form.optional("team").and_then(|id| id.parse().ok());
    if let Some(team) = selected.or(only) {
        let form = charge_form::empty(team, currency);
        return show_form(&visitor, team, form.options("category", formatting::categories())).await;
    }
    let frame = visitor.frame(t!("Charge members"), Section::Dues);
    render(StatusCode::OK, &TeamPage { frame, teams })
}

async fn show_form(visitor: &Treasurer, team: TeamId, form: FilledForm) -> PageResult {
    let load = move |db: &Reader<'_>| {
        let filter = MemberFilter {
            excluded_status: Some(MemberStatus::Removed),
            ..MemberFilter::default()
        };
        let page = Page { limit: MAX_MEMBERS, order: Order::Asc, last: None };
        Ok((team::find_active(db, team)?.name, member::list(db, team, &filter, &page)?))
    };
    let (team, members) = visitor.read(load).await?;
    let page = ChargePage {
        frame: visitor.frame(t!("Charge members"), Section::Dues),
        team,
        form: form.explained_options("member_ids", members.into_iter().map(choice)),
    };
    render(page.form.status(), &page)
}

/// A member as an option of the form: id, name and role.
fn choice(member: Member) -> (MemberId, String, &'static str) {
    let first = member.preferred_name.unwrap_or(member.first_name);
    let name = match member.last_name {
        Some(last) => format!("{first} {last}"),
        None => first,
    };
    (member.id, name, member.role.label())
}

/// Shows the preview, charges, or returns to the form, depending on the button that was pressed.
pub(super) async fn submit(TreasurerForm { visitor, form }: TreasurerForm) -> PageResult {
    let team: TeamId = form.text("team").parse().map_err(|_| Error::not_found())?;
    let mut filled = charge_form::submitted(&form);
    if form.text("step") == "change" {
        return show_form(&visitor, team, filled).await;
    }
    let Some(new) = charge_form::to_charge(&mut filled) else {
        return show_form(&visitor, team, filled).await;
    };
    let parts = new.installments.clone();
    let response = match form.text("step") {
        "charge" => charge(&visitor, &form, new).await,
        _ => preview(&visitor, &filled, new).await,
    };
    match response {
        Err(error) if is_form_error(&error) => {
            form_fields::add_error(&mut filled, &error, parts.as_deref());
            show_form(&visitor, team, filled).await
        }
        response => Ok(response?),
    }
}

async fn preview(visitor: &Treasurer, input: &FilledForm, new: NewCharge) -> Result<Response> {
    let (late_fee, category) = (late_fee_in_words(&new), formatting::category(new.category));
    let load = move |tx: &Tx<'_>| {
        let dues = charging::preview(tx, &TeamAccess::AllTeams, &new)?;
        let views: Vec<_> = dues.iter().map(|preview| preview.record.view(tx.now())).collect();
        let names = DisplayNames::for_dues(tx, views.iter())?;
        let overdue = views.iter().any(|due| due.overdue);
        Ok((dues, names, overdue))
    };
    let (dues, names, overdue) = visitor.write(load).await?;
    let first = dues.first().map(|preview| &preview.record.due);
    let first = first.ok_or_else(|| Error::internal("a charge without members"))?;
    let page = PreviewPage {
        frame: visitor.frame(t!("Review charge"), Section::Dues),
        team: names.team(first.team_id),
        title: input.text("title").to_owned(),
        category,
        currency: first.currency,
        overdue,
        late_fee,
        nonce: new_nonce(visitor.app()),
        digest: digest(&dues),
        hidden_fields: input.pairs(),
        dues,
        names,
    };
    crate::web::page::html(StatusCode::OK, &page)
}

/// A digest of the dues and credit that a preview shows.
fn digest(dues: &[Preview]) -> String {
    let content: Vec<_> = dues
        .iter()
        .map(|Preview { record: DueWithPlan { due, plan }, credit }| {
            let parts: Vec<_> = plan.iter().map(|part| (part.due_on, part.amount)).collect();
            (due.member_id, due.payer_id, due.currency, due.amount, due.net(), parts, *credit)
        })
        .collect();
    hex(&sha256(format!("{content:?}").as_bytes()))
}

fn late_fee_in_words(new: &NewCharge) -> Option<String> {
    formatting::late_fee(&new.late_fee?, new.currency?)
}

async fn charge(visitor: &Treasurer, form: &Form, new: NewCharge) -> Result<Response> {
    let (nonce, previewed) = (parse_nonce(form)?, form.text("shown").to_owned());
    let charge = move |tx: &Tx<'_>| {
        if digest(&charging::preview(tx, &TeamAccess::AllTeams, &new)?) != previewed {
            return Err(Error::new(Code::Conflict, PREVIEW_OUTDATED));
        }
        let dues = charging::create(tx, &TeamAccess::AllTeams, &new)?;
        let nobody = || Error::new(Code::InvalidState, "There is nobody to charge.");
        dues.first().map(|due| due.charge_id).ok_or_else(nobody)
    };
    Ok(match visitor.write_once(nonce, charge).await? {
        Submission::Accepted(charge) => see_other(&charge_list_path(charge, "charged")),
        Submission::Duplicate(charge) => see_other(&charge_list_path(charge, "before")),
    })
}
