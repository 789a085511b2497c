//! Dues: amounts that members owe, payable at once or in installments.
//!
//! A charge creates one due per member. Payments cover the installments in order of their due dates, then the late
//! fee. An overpayment becomes the payer's credit. Every amount is recorded in the ledger.

pub mod api;
mod demo;
pub mod changing;
pub mod charging;
pub mod due;
pub mod export;
pub mod personal_data;
pub mod late_fee;
pub mod pages;
pub mod paying;
pub mod plan;
pub mod reminders;
pub mod statement;
pub mod totals;

use crate::ids::{ChargeKind, DueKind};
use crate::personal_data::{PersonMerge, PersonalData};
use crate::rights::ScopeName;
use crate::signals::Reaction;
use crate::teams::header;
use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    register_hooks: || header::DUES_TAB.register(pages::team_tab),
    reactions: &[Reaction {
        kinds: &["team.updated"],
        run: |tx, team| team.parse().map_or(Ok(()), |team| due::update_time_zone(tx, team)),
    }],
    personal_data: Some(PersonalData {
        section: "dues",
        description: "Dues that the person owes or pays, with payments; `null` without `orders:read`.",
        is_list: true,
        scope: Some(ScopeName::OrdersRead),
        export: personal_data::export_person,
        erase: personal_data::erase_person,
    }),
    merge_person: Some(PersonMerge {
        references: &["due.person_id", "due.payer_id", "due.member_id"],
        run: personal_data::merge_person,
    }),
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Dues"), Some(ScopeName::OrdersRead), "Due" {
            "dues.charged": "A due was charged to a member.";
            "dues.updated": "A due was changed, or a late fee was added to it.";
            "dues.payment_recorded": "A payment for a due was recorded.";
            "dues.paid": "A due was fully paid.";
            "dues.waived": "The open balance of a due was waived.";
            "dues.refunded": "A payment for a due was refunded completely or in part.";
            "dues.refund_failed": "The payment provider could not refund a payment for a due; the amount counts as paid again.";
        }
    },
    object_names: crate::object_names! {
        DueKind: mark!("Due"),
            "select d.id, d.title || ', ' || coalesce(p.preferred_name, p.first_name)
                    || coalesce(' ' || p.last_name, '') as name
             from due d join person p on p.account_id = d.account_id and p.id = d.person_id
             where d.account_id = :account and d.id in (:ids)";
        ChargeKind: mark!("Charge");
    },
    ..Module::EMPTY
};
