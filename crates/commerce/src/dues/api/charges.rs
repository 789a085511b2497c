//! Endpoints to charge members, and to list, update, waive and remind of dues.

use crate::dues::changing::{self, DueChange, WaiveRequest};
use crate::dues::charging::{self, ChargeDiscount, NewCharge};
use crate::dues::due::{self, DueFilter, DueView, LateFee};
use crate::dues::export::DuesTable;
use crate::dues::plan::{MAX_INSTALLMENTS, NewInstallment, YEARS};
use crate::dues::reminders::{self, RemindRequest, ReminderResult};
use crate::money::OrdersRead;
use crate::prelude::*;
use crate::shop::{OrdersManage, OrdersOversee};
use crate::web::prelude::*;
use crate::web::reply::BatchResponse;

pub(in crate::dues) const MAX_TITLE_LENGTH: usize = 120;
pub(in crate::dues) const MAX_NOTE_LENGTH: usize = 1000;
pub(in crate::dues) const MAX_REASON_LENGTH: usize = 500;
/// 100 percent, in basis points.
pub(in crate::dues) const FULL_PERCENT_BPS: i64 = 10_000;
pub(in crate::dues) const MAX_INSTALLMENT_COUNT: i64 = 60;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list, charge))
        .with(routes!(remind_team))
        .with(routes!(find, change))
        .with(routes!(waive))
        .with(routes!(remind))
        .with(routes!(export))
}

/// List dues
///
/// Returns dues, newest first. Families see the dues that they or their dependents owe or pay.
#[endpoint(get, "/dues", id = "dues.list", tag = "Dues",
    200(ListResponse<DueView>, "A page of dues."))]
async fn list(caller: Caller<OrdersRead>, paging: Paging<DueFilter>) -> Result<Response> {
    // Dues become overdue as time passes, without an event that would invalidate the cache.
    caller.bypass_cache().page(paging, due::list).await
}

/// Charge members of a team
///
/// Creates one due per member, all or none, and returns them as a list. The payers' credit is applied at once, unless
/// `use_credit` is `false`. Requires permission to manage the team.
#[endpoint(post, "/dues", id = "dues.charge", tag = "Dues",
    example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "all": true, "title": "Season fee 2026/27", "amount": 15000, "due_on": "2026-10-01", "installment_count": 3, "late_fee": { "amount": 500 } }),
    201(BatchResponse<DueView>, "The new dues."))]
async fn charge(caller: Caller<OrdersManage>, body: Body<NewCharge>) -> Result<Response> {
    let access = caller.team_access();
    caller.create_all(body, move |tx, new| charging::create(tx, &access, &new)).await
}

/// Send reminders to a team
///
/// Emails the payers of the team's dues that are overdue or due within a week, except dues with a reminder within the
/// last hour.
#[endpoint(post, "/dues/remind", id = "dues.remind_team", tag = "Dues",
    example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy" }),
    202(ObjectResponse<ReminderResult>, "The queued reminders."))]
async fn remind_team(caller: Caller<OrdersManage>, body: Body<RemindRequest>) -> Result<Response> {
    let access = caller.team_access();
    caller.accept(body, move |tx, new, _| reminders::remind_team(tx, &access, &new)).await
}

/// Retrieve a due
///
/// Returns a due with its installments and balance.
#[endpoint(get, "/dues/{due_id}", id = "dues.get", tag = "Dues",
    200(ObjectResponse<DueView>, "The due."))]
async fn find(caller: Caller<OrdersRead>, id: DueId) -> Result<Response> {
    let access = caller.team_access();
    caller
        .read_time_dependent_object(move |db| {
            let record = due::find(db, &access, id)?;
            Ok((record.view(db.now()), record.became_overdue_since_update(db.now())))
        })
        .await
}

/// Update a due
///
/// Only possible before anything is paid. Omitted fields stay unchanged; `null` clears a field.
#[endpoint(patch, "/dues/{due_id}", id = "dues.update", tag = "Dues",
    example = json!({ "title": "Season fee, autumn", "note": "Please pay by bank transfer" }),
    200(ObjectResponse<DueView>, "The updated due."))]
async fn change(
    caller: Caller<OrdersManage>,
    id: DueId,
    body: Body<DueChange>,
) -> Result<Response> {
    caller.change_by_id(id, body, changing::change).await
}

/// Waive the open balance of a due
///
/// The open balance is no longer owed. Payments that were made stay.
#[endpoint(post, "/dues/{due_id}/waive", id = "dues.waive", tag = "Dues",
    outcome = json!({ "status": "waived", "waived": 13500, "balance": 0 }),
    example = json!({ "reason": "Moved away" }),
    200(ObjectResponse<DueView>, "The waived due."))]
async fn waive(
    caller: Caller<OrdersManage>,
    id: DueId,
    body: Body<WaiveRequest>,
) -> Result<Response> {
    caller.change_by_id(id, body, changing::waive).await
}

/// Send a reminder for a due
///
/// Emails the payer, and the guardians who receive messages if the payer is a minor or has no email address. At most
/// once an hour.
#[endpoint(post, "/dues/{due_id}/remind", id = "dues.remind", tag = "Dues",
    202(ObjectResponse<ReminderResult>, "The queued reminders."))]
async fn remind(caller: Caller<OrdersManage>, id: DueId, body: Body<NoBody>) -> Result<Response> {
    let access = caller.team_access();
    caller
        .accept(body, move |tx, NoBody, expected| reminders::remind(tx, &access, id, expected))
        .await
}

/// A charge names who is charged in one way, and at most one plan.
pub(in crate::dues) fn check_new(new: &NewCharge, fields: &mut Fields) {
    let named = usize::from(new.member_id.is_some())
        + usize::from(new.member_ids.as_ref().is_some_and(|ids| !ids.is_empty()))
        + usize::from(new.all);
    if named != 1 && !fields.is_faulty("member_id") && !fields.is_faulty("member_ids") {
        let code = if named == 0 { "required" } else { "mutually_exclusive" };
        let detail = "Set exactly one of `member_id`, `member_ids` and `all: true`.";
        fields.fault("member_ids", code, detail);
    }
    if new.installments.is_some() && new.installment_count.is_some() {
        let detail = "Set either `installments` or `installment_count`, not both.";
        fields.fault("installment_count", "mutually_exclusive", detail);
    }
}

/// The due date of a charge, which is required without `installments`. Only before these are read.
pub(in crate::dues) fn due_on(fields: &mut Fields, name: &str) -> Change<Day> {
    let due_on = day(fields, name);
    if fields.has("installments") {
        return due_on;
    }
    fields.required(name, due_on).map_or(Change::Keep, Change::Set)
}

/// A date in an accepted year.
pub(in crate::dues) fn day(fields: &mut Fields, name: &str) -> Change<Day> {
    match fields.day(name) {
        Change::Set(day) if !YEARS.contains(&day.year()) => {
            let detail = format!("The year must be from {} to {}.", YEARS.start(), YEARS.end());
            fields.fault(name, "out_of_range", detail);
            Change::Keep
        }
        day => day,
    }
}

pub(in crate::dues) fn parts(fields: &mut Fields, name: &str) -> Change<Vec<NewInstallment>> {
    match fields.objects(name, MAX_INSTALLMENTS, NewInstallment::read) {
        Change::Set(parts) if parts.is_empty() => {
            fields.fault(name, "empty", "Set at least one installment.");
            Change::Keep
        }
        parts => parts,
    }
}

pub(in crate::dues) fn check_discount(discount: &ChargeDiscount, fields: &mut Fields) {
    check_amount_or_percent(fields, discount.amount, discount.percent_bps);
}

pub(in crate::dues) fn check_late_fee(fee: &LateFee, fields: &mut Fields) {
    check_amount_or_percent(fields, fee.amount, fee.percent_bps);
}

/// Either an amount or a percentage.
fn check_amount_or_percent(fields: &mut Fields, amount: Option<i64>, percent: Option<i64>) {
    let faulty = fields.is_faulty("amount") || fields.is_faulty("percent_bps");
    if amount.is_some() == percent.is_some() && !faulty {
        let (code, detail) = if percent.is_some() {
            ("mutually_exclusive", "Set either `amount` or `percent_bps`, not both.")
        } else {
            ("required", "Set either `amount` or `percent_bps`.")
        };
        fields.fault("amount", code, detail);
    }
}

/// Export dues
///
/// One row per due. Amounts are in minor units of the currency. Columns: `due_id`, `charge_id`, `team_id`, `team`,
/// `member_id`, `first_name`, `last_name`, `payer_id`, `payer_first_name`, `payer_last_name`, `title`, `category`,
/// `currency`, `amount`, `discount`, `late_fee`, `paid`, `waived`, `balance`, `status`, `overdue`, `due_on`,
/// `next_due_on`, `created_at`.
#[endpoint(get, "/exports/dues.csv", id = "exports.dues", tag = "Exports",
    200(String, "The CSV file.", "text/csv",
        "due_id,charge_id,team_id,team,member_id,first_name,last_name,payer_id,payer_first_name,\
        payer_last_name,title,category,currency,amount,discount,late_fee,paid,waived,balance,status,overdue,\
        due_on,next_due_on,created_at\n\
        due_01kbm2x5q8f7vr0n3hd9tzc4wy,chg_01kbm2x5q8f7vr0n3hd9tzc4wy,team_01kbm2x5q8f7vr0n3hd9tzc4wy,\
        Hawks U12,mem_01kbm2x5q8f7vr0n3hd9tzc4wy,Inês,Duarte,per_01kbm2x5q8f7vr0n3hd9tzc4wy,Helena,Duarte,\
        Season fee,dues,EUR,13500,0,0,13500,0,0,paid,false,2026-10-30,,2026-10-01T09:12:40.120000Z\n"))]
async fn export(caller: Caller<OrdersOversee>, query: Download<DuesTable>) -> Result<Response> {
    caller.require_teams(query.table.team_id, &[])?;
    query.send(&caller, "dues.csv").await
}
