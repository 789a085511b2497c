//! Charging, and what becomes of dues before they are paid.

use axum::response::Response;
use kit::{Change, Day};
use utoipa_axum::routes;

use crate::dues::changing::{self, DueChange, Waiver};
use crate::dues::charging::{self, DueDiscount, MEMBERS, NewCharge};
use crate::dues::due::{self, Category, DueFilter, LateFee, Shown, Status};
use crate::dues::plan::{MOST_PARTS, Part, YEARS};
use crate::dues::reminders::{self, Remind, Reminded};
use crate::error::Result;
use crate::ids::{ChargeId, DueId, MemberId, PersonId, TeamId};
use crate::metadata::Metadata;
use crate::money::MOST;
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, OrdersManage, OrdersRead};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One, Several};
use crate::web::routes::Routes;

pub(in crate::dues) const TITLE: usize = 120;
pub(in crate::dues) const NOTE: usize = 1000;
pub(in crate::dues) const REASON: usize = 500;
/// All of something, in hundredths of a per cent.
pub(in crate::dues) const ALL: i64 = 10_000;
pub(in crate::dues) const COUNT: i64 = 60;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list, charge))
        .with(routes!(remind_team))
        .with(routes!(find, change))
        .with(routes!(waive))
        .with(routes!(remind))
}

/// List dues
///
/// The newest first. Families see what they or those they look after owe or pay.
#[utoipa::path(get, path = "/dues", operation_id = "dues_list", tag = "Dues",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many dues to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`desc` if left out."),
        ("team_id" = Option<TeamId>, Query, description = "Only dues of this team."),
        ("member_id" = Option<MemberId>, Query, description = "Only dues of this member."),
        ("payer_id" = Option<PersonId>, Query, description = "Only dues that this person pays."),
        ("charge_id" = Option<ChargeId>, Query, description = "Only what was charged together."),
        ("status" = Option<Status>, Query, description = "Only dues that stand so."),
        ("overdue" = Option<bool>, Query, description = "Only dues of which something is overdue, or nothing.")),
    responses((status = 200, description = "A page of dues.", body = Many<Shown>), Problems),
    security(("key" = ["orders:read"])))]
async fn list(
    caller: Caller<OrdersRead>,
    Query(paging): Query<Paging<DueFilter>>,
) -> Result<Response> {
    // Something may be overdue since the last look, without news.
    caller.afresh().page(paging, due::list).await
}

/// Charge members of a team
///
/// Makes a due for each of them, all or none, and answers with the list. What a payer has paid ahead is used
/// at once, unless `use_credit` is `false`. For whoever runs the team.
#[utoipa::path(post, path = "/dues", operation_id = "dues_charge", tag = "Dues",
    request_body(content = NewCharge, example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "all": true, "title": "Season fee 2026/27", "amount": 15000, "due_on": "2026-10-01", "instalment_count": 3, "late_fee": { "amount": 500 } })),
    responses((status = 201, description = "The new dues.", body = Several<Shown>), Problems),
    security(("key" = ["orders:write"])))]
async fn charge(
    caller: Caller<OrdersManage>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewCharge>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.create_all(body, move |tx, new| charging::create(tx, &reach, &new)).await
}

/// Remind a team now
///
/// Writes to everybody who pays something of the team that is overdue or due within a week, but not to those
/// who were reminded within the last hour.
#[utoipa::path(post, path = "/dues/remind", operation_id = "dues_remind_team", tag = "Dues",
    request_body(content = Remind, example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy" })),
    responses((status = 202, description = "Who is reminded.", body = One<Reminded>), Problems),
    security(("key" = ["orders:write"])))]
async fn remind_team(
    caller: Caller<OrdersManage>,
    Query(Nothing): Query<Nothing>,
    body: Body<Remind>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.begin(body, move |tx, new, _| reminders::remind_team(tx, &reach, &new)).await
}

/// Get a due
#[utoipa::path(get, path = "/dues/{due_id}", operation_id = "dues_get", tag = "Dues",
    params(("due_id" = DueId, Path)),
    responses((status = 200, description = "The due.", body = One<Shown>), Problems),
    security(("key" = ["orders:read"])))]
async fn find(
    caller: Caller<OrdersRead>,
    At(id): At<DueId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .one_in_time(move |db| {
            let whole = due::find(db, &reach, id)?;
            Ok((whole.shown(db.now()), whole.has_aged(db.now())))
        })
        .await
}

/// Change a due
///
/// While nothing of it was paid. Members that are left out stay as they are; `null` clears.
#[utoipa::path(patch, path = "/dues/{due_id}", operation_id = "dues_update", tag = "Dues",
    params(("due_id" = DueId, Path)),
    request_body(content = DueChange, example = json!({ "title": "Season fee, autumn", "note": "By transfer, please" })),
    responses((status = 200, description = "The due after the change.", body = One<Shown>), Problems),
    security(("key" = ["orders:write"])))]
async fn change(
    caller: Caller<OrdersManage>,
    At(id): At<DueId>,
    Query(Nothing): Query<Nothing>,
    body: Body<DueChange>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .change(body, move |tx, change, expected| {
            changing::change(tx, &reach, id, expected, change)
        })
        .await
}

/// Waive what is open of a due
#[utoipa::path(post, path = "/dues/{due_id}/waive", operation_id = "dues_waive", tag = "Dues",
    params(("due_id" = DueId, Path)),
    request_body(content = Waiver, example = json!({ "reason": "Moved away" })),
    responses((status = 200, description = "The due, of which nothing is open any more.", body = One<Shown>), Problems),
    security(("key" = ["orders:write"])))]
async fn waive(
    caller: Caller<OrdersManage>,
    At(id): At<DueId>,
    Query(Nothing): Query<Nothing>,
    body: Body<Waiver>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .change(body, move |tx, waiver, expected| changing::waive(tx, &reach, id, expected, waiver))
        .await
}

/// Remind of a due now
///
/// Writes to the payer, or to the guardians who are written to if the payer has no address of mail. At most
/// once an hour.
#[utoipa::path(post, path = "/dues/{due_id}/remind", operation_id = "dues_remind", tag = "Dues",
    params(("due_id" = DueId, Path)),
    responses((status = 202, description = "Who is reminded.", body = One<Reminded>), Problems),
    security(("key" = ["orders:write"])))]
async fn remind(
    caller: Caller<OrdersManage>,
    At(id): At<DueId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .begin(body, move |tx, NoBody, expected| reminders::remind(tx, &reach, id, expected))
        .await
}

impl FromBody for NewCharge {
    fn read(fields: &mut Fields) -> Self {
        let team_id = fields.id("team_id");
        let amount = fields.number("amount", 1, MOST);
        let (member_id, member_ids) = (fields.id("member_id"), fields.ids("member_ids", MEMBERS));
        let all = fields.flag("all").apply_or(false, false);
        let (member_id, member_ids) = (member_id.apply(None), member_ids.apply(None));
        let named = usize::from(member_id.is_some())
            + usize::from(member_ids.as_ref().is_some_and(|ids| !ids.is_empty()))
            + usize::from(all);
        if named != 1 && !fields.is_faulty("member_id") && !fields.is_faulty("member_ids") {
            let detail = "Name whom to charge with one of member_id, member_ids and all: true.";
            fields.fault("member_ids", if named == 0 { "required" } else { "ambiguous" }, detail);
        }
        let due_on = day(fields, "due_on");
        let instalments = parts(fields).apply(None);
        let instalment_count = fields.number("instalment_count", 1, COUNT).apply(None);
        if instalments.is_some() && instalment_count.is_some() {
            let detail = "Give either instalments or how many there are.";
            fields.fault("instalment_count", "ambiguous", detail);
        }
        let due_on = match (&instalments, fields.is_faulty("instalments")) {
            (None, false) => fields.required("due_on", due_on),
            _ => due_on.apply(None),
        };
        let currency = fields.currency("currency");
        Self {
            team_id: fields.required("team_id", team_id).unwrap_or(TeamId::LEAST),
            member_id,
            member_ids,
            all,
            title: fields.required_line("title", TITLE),
            category: fields.word("category").apply_or(Category::Dues, Category::Dues),
            amount: fields.required("amount", amount).unwrap_or(1),
            currency: fields.kept("currency", currency),
            due_on,
            instalments,
            instalment_count,
            payer: fields.id("payer").apply(None),
            discount: fields.object("discount", discount).apply(None),
            sibling_discount_bp: fields.number("sibling_discount_bp", 1, ALL - 1).apply(None),
            late_fee: fields.object("late_fee", late_fee).apply(None),
            use_credit: fields.flag("use_credit").apply_or(true, true),
            note: fields.block("note", NOTE).apply(None),
            metadata: fields
                .metadata("metadata")
                .apply_or(Metadata::default(), Metadata::default()),
        }
    }
}

/// A day that somebody can mean.
fn day(fields: &mut Fields, name: &str) -> Change<Day> {
    match fields.day(name) {
        Change::Set(day) if !YEARS.contains(&day.year()) => {
            let detail = format!("The year must be from {} to {}.", YEARS.start(), YEARS.end());
            fields.fault(name, "out_of_range", detail);
            Change::Keep
        }
        day => day,
    }
}

fn parts(fields: &mut Fields) -> Change<Vec<Part>> {
    let parts = fields.objects("instalments", MOST_PARTS, |fields| {
        let (due_on, amount) = (day(fields, "due_on"), fields.number("amount", 1, MOST));
        let due_on = fields.required("due_on", due_on);
        let amount = fields.required("amount", amount);
        Some(Part { due_on: due_on?, amount: amount? })
    });
    match parts {
        Change::Set(parts) if parts.is_empty() => {
            fields.fault("instalments", "empty", "There must be at least one instalment.");
            Change::Keep
        }
        Change::Set(parts) => Change::Set(parts.into_iter().flatten().collect()),
        Change::Clear => Change::Clear,
        Change::Keep => Change::Keep,
    }
}

/// Either an amount or a part of one.
fn either(fields: &mut Fields, most: i64) -> (Option<i64>, Option<i64>) {
    let amount = fields.number("amount", 1, MOST).apply(None);
    let part = fields.number("percent_bp", 1, most).apply(None);
    let faulty = fields.is_faulty("amount") || fields.is_faulty("percent_bp");
    if amount.is_some() == part.is_some() && !faulty {
        let code = if part.is_some() { "ambiguous" } else { "required" };
        fields.fault("amount", code, "Give either amount or percent_bp.");
    }
    (amount, part)
}

fn discount(fields: &mut Fields) -> DueDiscount {
    let (amount, percent_bp) = either(fields, ALL - 1);
    DueDiscount { amount, percent_bp, reason: fields.line("reason", REASON).apply(None) }
}

fn late_fee(fields: &mut Fields) -> LateFee {
    let (amount, percent_bp) = either(fields, ALL);
    LateFee { amount, percent_bp }
}

impl FromBody for DueChange {
    fn read(fields: &mut Fields) -> Self {
        let (category, amount) = (fields.word("category"), fields.number("amount", 1, MOST));
        let (due_on, parts, payer) = (day(fields, "due_on"), parts(fields), fields.id("payer"));
        Self {
            title: fields.kept_line("title", TITLE),
            category: fields.kept("category", category),
            note: fields.block("note", NOTE),
            amount: fields.kept("amount", amount),
            due_on: fields.kept("due_on", due_on),
            instalments: fields.kept("instalments", parts),
            payer: fields.kept("payer", payer),
            late_fee: fields.object("late_fee", late_fee),
            metadata: fields.metadata("metadata"),
        }
    }
}

impl FromBody for Waiver {
    fn read(fields: &mut Fields) -> Self {
        Self { reason: fields.required_line("reason", REASON) }
    }
}

impl FromBody for Remind {
    fn read(fields: &mut Fields) -> Self {
        let team_id = fields.id("team_id");
        Self { team_id: fields.required("team_id", team_id).unwrap_or(TeamId::LEAST) }
    }
}

impl FromQuery for DueFilter {
    const ORDER: Order = Order::Desc;

    fn read(params: &mut Params) -> Self {
        Self {
            team_id: params.id("team_id"),
            member_id: params.id("member_id"),
            payer_id: params.id("payer_id"),
            charge_id: params.id("charge_id"),
            status: params.word("status"),
            overdue: params.flag("overdue"),
            ..Self::default()
        }
    }
}
