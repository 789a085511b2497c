//! The demo club's dues: a season fee in three installments, with dues in every state.

use crate::demo_club::DemoClub;
use crate::dues::changing::{self, WaiveRequest};
use crate::dues::charging::{self, NewCharge};
use crate::dues::due::{Category, LateFee};
use crate::dues::paying;
use crate::money::payment::{Method, PaymentDetails};
use crate::prelude::*;
use crate::roster::demo::DemoTeam;
use crate::teams::team::Team;

const FEE: i64 = 13_500;
const INSTALLMENT: i64 = FEE / 3;
/// How many days ago the first installment was due.
const DUE_DAYS_AGO: i64 = 20;

/// Charges the season fee of all teams.
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    club.get::<Vec<DemoTeam>>()?.iter().try_for_each(|demo| create_dues(tx, &demo.team))
}

/// Charges every player. The first due is paid in full, the second in part, the third is waived, the fourth is
/// overpaid, the fifth is unpaid. All others have their first installment paid.
fn create_dues(tx: &Tx<'_>, team: &Team) -> Result<()> {
    let fee = NewCharge {
        team_id: team.id,
        member_id: None,
        member_ids: None,
        all: true,
        title: "Season fee".to_owned(),
        category: Category::Dues,
        amount: FEE,
        currency: None,
        due_on: team.timezone.day(tx.now()).plus_days(-DUE_DAYS_AGO),
        installments: None,
        installment_count: Some(3),
        payer: None,
        discount: None,
        sibling_discount_bps: Some(2_000),
        late_fee: Some(LateFee { amount: Some(500), percent_bps: None }),
        use_credit: true,
        note: Some("Pay by bank transfer, or in cash at practice.".to_owned()),
        metadata: Metadata::default(),
    };
    let dues = charging::create(tx, &TeamAccess::AllTeams, &fee)?;
    for (index, due) in dues.iter().enumerate() {
        match index {
            0 => pay(tx, due.id, Method::BankTransfer, due.balance)?,
            1 => pay(tx, due.id, Method::Cash, 2_000)?,
            2 => {
                let waiver = WaiveRequest { reason: "Helps with the kit all season".to_owned() };
                changing::waive(tx, &TeamAccess::AllTeams, due.id, &IfMatch::Absent, waiver)?;
            }
            3 => pay(tx, due.id, Method::BankTransfer, due.balance + 2_500)?,
            4 => {}
            _ => pay(tx, due.id, Method::BankTransfer, due.balance.min(INSTALLMENT))?,
        }
    }
    Ok(())
}

fn pay(tx: &Tx<'_>, due: DueId, method: Method, amount: i64) -> Result<()> {
    let paid = PaymentDetails { amount: Some(amount), ..PaymentDetails::new(method) };
    paying::record_payment(tx, due, paid).map(drop)
}
