//! Charging: a form, a look at what would come of it, and the button that does it, once.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Money;
use kit::secret::{hex, sha256};
use kit::word::Word;
use store::{Reader, Tx};

use super::charge_form::{Typed, refused};
use super::list::{self, of_charge};
use super::shown::{self, Around};
use super::{Sent, Treasurer, is_fault, show, status};
use crate::accounts::rights::Reach;
use crate::dues::charging::{self, NewCharge, Preview};
use crate::dues::due::Whole;
use crate::error::{Code, Error, Result};
use crate::ids::{MemberId, TeamId};
use crate::money::settings;
use crate::paging::{Order, Page};
use crate::roster::member::{self, Member, MemberFilter};
use crate::roster::membership::MemberStatus;
use crate::teams::team::{self, Status, TeamFilter};
use crate::web::form::{Faults, Form};
use crate::web::once::{Once, new_nonce, nonce, once};
use crate::web::page::{Frame, Section};
use crate::web::visitor::{Outcome, see_other};

/// So many members can be chosen from.
const MEMBERS: i64 = 500;

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
    typed: Typed,
    faults: Faults,
    members: Vec<(MemberId, String, &'static str)>,
    categories: Vec<(&'static str, &'static str)>,
}

/// Somebody who would be charged.
struct Line {
    person: String,
    payer: String,
    amount: String,
    discount: String,
    net: String,
    parts: Vec<(kit::Day, String)>,
    credit: String,
}

#[derive(Template)]
#[template(path = "dues/preview.html")]
struct PreviewPage {
    frame: Frame,
    team: String,
    title: String,
    category: &'static str,
    lines: Vec<Line>,
    sum: String,
    credit: Option<String>,
    /// Whether something would be overdue at once.
    late: bool,
    late_fee: Option<String>,
    nonce: String,
    /// What was shown: only that is charged.
    shown: String,
    pairs: Vec<(String, String)>,
}

/// What somebody is told who would charge something else than they were shown.
const CHANGED: &str =
    "What would be charged has changed since you looked. Nobody was charged; look again.";

/// The teams that can be charged.
fn playing(db: &Reader<'_>) -> Result<Vec<(TeamId, String)>> {
    list::teams(db, &TeamFilter { status: Some(Status::Active), ..TeamFilter::default() })
}

pub(super) async fn new(visitor: Treasurer) -> Outcome<Response> {
    let form = visitor.guest.query()?;
    let look = |db: &Reader<'_>| Ok((playing(db)?, settings::of(db)?.currency));
    let (teams, currency) = visitor.read(look).await?;
    let only = <[_; 1]>::try_from(teams.clone()).ok().map(|[(id, _)]| id);
    let named = form.maybe("team").and_then(|id| id.parse().ok());
    if let Some(team) = named.or(only) {
        return show_form(&visitor, Typed::empty(team, currency), Faults::default()).await;
    }
    let frame = visitor.frame("Charge a team", Section::Dues);
    show(StatusCode::OK, &TeamPage { frame, teams })
}

async fn show_form(visitor: &Treasurer, typed: Typed, faults: Faults) -> Outcome<Response> {
    let team = typed.team;
    let look = move |db: &Reader<'_>| {
        let filter =
            MemberFilter { hidden: Some(MemberStatus::Removed), ..MemberFilter::default() };
        let page = Page { limit: MEMBERS, order: Order::Asc, last: None };
        Ok((team::playing(db, team)?.name, member::list(db, team, &filter, &page)?))
    };
    let (team, members) = visitor.read(look).await?;
    let page = ChargePage {
        frame: visitor.frame("Charge a team", Section::Dues),
        team,
        members: members.into_iter().map(choice).collect(),
        categories: shown::categories(),
        typed,
        faults,
    };
    show(status(&page.faults), &page)
}

/// A member as one can choose them.
fn choice(member: Member) -> (MemberId, String, &'static str) {
    let first = member.preferred_name.unwrap_or(member.first_name);
    let name = match member.last_name {
        Some(last) => format!("{first} {last}"),
        None => first,
    };
    (member.id, name, member.role.word())
}

/// Shows what would come of the form, or charges, or gives the form back to be changed.
pub(super) async fn send(Sent { visitor, form }: Sent) -> Outcome<Response> {
    let team: TeamId = form.text("team").parse().map_err(|_| Error::not_found())?;
    let typed = Typed::read(&form, team);
    if form.text("step") == "change" {
        return show_form(&visitor, typed, Faults::default()).await;
    }
    let new = match typed.charge() {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, typed, faults).await,
    };
    let parts = new.instalments.clone();
    let done = match form.text("step") {
        "charge" => charge(&visitor, &form, new).await,
        _ => preview(&visitor, &typed, new).await,
    };
    match done {
        Err(error) if is_fault(&error) => {
            let faults = refused(&error, parts.as_deref(), &typed.currency);
            show_form(&visitor, typed, faults).await
        }
        done => Ok(done?),
    }
}

async fn preview(visitor: &Treasurer, typed: &Typed, new: NewCharge) -> Result<Response> {
    let (late_fee, category) = (late_fee_in_words(&new), shown::category(new.category));
    let look = move |tx: &Tx<'_>| {
        let dues = charging::preview(tx, &Reach::Everywhere, &new)?;
        let told: Vec<_> = dues.iter().map(|one| one.whole.shown(tx.now())).collect();
        let around = Around::of(tx, told.iter())?;
        let late = told.iter().any(|due| due.overdue);
        Ok((dues, around, late))
    };
    let (dues, around, late) = visitor.write(look).await?;
    let currency = dues.first().map(|one| one.whole.due.currency);
    let currency = currency.ok_or_else(|| Error::internal("a charge of nobody"))?;
    let sum = |of: fn(&Preview) -> i64| dues.iter().map(of).sum::<i64>();
    let credit = sum(|one| one.credit);
    let page = PreviewPage {
        frame: visitor.frame("Is this right?", Section::Dues),
        team: dues.first().map_or_else(String::new, |one| around.team(one.whole.due.team_id)),
        title: typed.title.clone(),
        category,
        lines: dues.iter().map(|one| line(one, &around)).collect(),
        sum: shown::money(sum(|one| one.whole.due.net()), currency),
        credit: (credit > 0).then(|| shown::money(credit, currency)),
        late,
        late_fee,
        nonce: new_nonce(visitor.app()),
        shown: digest(&dues),
        pairs: typed.pairs(),
    };
    crate::web::page::html(StatusCode::OK, &page)
}

/// What dues and credit a preview shows, in short.
fn digest(dues: &[Preview]) -> String {
    let shown: Vec<_> = dues
        .iter()
        .map(|Preview { whole: Whole { due, plan }, credit }| {
            let parts: Vec<_> = plan.iter().map(|part| (part.due_on, part.amount)).collect();
            (due.member_id, due.payer_id, due.currency, due.amount, due.net(), parts, *credit)
        })
        .collect();
    hex(&sha256(format!("{shown:?}").as_bytes()))
}

fn line(Preview { whole, credit }: &Preview, around: &Around) -> Line {
    let due = &whole.due;
    let money = |minor| Money { minor, currency: due.currency }.to_string();
    let some = |minor| if minor == 0 { "–".to_owned() } else { money(minor) };
    Line {
        person: around.person(due.person_id),
        payer: around.person(due.payer_id),
        amount: money(due.amount),
        discount: some(due.discount),
        net: money(due.net()),
        parts: whole.plan.iter().map(|part| (part.due_on, money(part.amount))).collect(),
        credit: some(*credit),
    }
}

fn late_fee_in_words(new: &NewCharge) -> Option<String> {
    let fee = new.late_fee?;
    match (fee.amount, fee.percent_bp, new.currency) {
        (Some(amount), _, Some(currency)) => Some(shown::money(amount, currency)),
        (_, Some(points), _) => {
            Some(format!("{} % of what is overdue", super::typed::per_cent(points)))
        }
        _ => None,
    }
}

async fn charge(visitor: &Treasurer, form: &Form, new: NewCharge) -> Result<Response> {
    let (name, kept) = (nonce(form)?, visitor.app().config.idempotency_ttl);
    let shown = form.text("shown").to_owned();
    let made = visitor.write(move |tx: &Tx<'_>| {
        once(tx, &name, kept, |tx| {
            if digest(&charging::preview(tx, &Reach::Everywhere, &new)?) != shown {
                return Err(Error::new(Code::Conflict, CHANGED));
            }
            let dues = charging::create(tx, &Reach::Everywhere, &new)?;
            let charge = dues.first().map(|due| due.charge_id.to_string());
            let charge =
                charge.ok_or_else(|| Error::new(Code::InvalidState, "Nobody to charge."))?;
            Ok((charge.clone(), charge))
        })
    });
    Ok(match made.await? {
        Once::Now(charge) => see_other(&of_charge(&charge, "charged")),
        Once::Before(charge) => see_other(&of_charge(&charge, "before")),
    })
}
