//! What the demo club's families owe: a season fee in three parts, in every state there is.

use store::Tx;

use crate::accounts::rights::Reach;
use crate::dues::changing::{self, Waiver};
use crate::dues::charging::{self, NewCharge};
use crate::dues::due::{Category, LateFee};
use crate::dues::paying;
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::DueId;
use crate::metadata::Metadata;
use crate::money::payment::{Method, Paid};
use crate::teams::team::Team;

const FEE: i64 = 13_500;
const PART: i64 = FEE / 3;
/// The first part was due so many days ago.
const AGO: i64 = 20;

/// Charges every player. The first has paid all, the second a little, the third need not pay, the fourth has
/// paid ahead, the fifth nothing; everybody else has paid their first part.
pub(super) fn charge(tx: &Tx<'_>, team: &Team) -> Result<()> {
    let fee = NewCharge {
        team_id: team.id,
        member_id: None,
        member_ids: None,
        all: true,
        title: "Season fee".to_owned(),
        category: Category::Dues,
        amount: FEE,
        currency: None,
        due_on: team.timezone.day(tx.now()).plus_days(-AGO),
        instalments: None,
        instalment_count: Some(3),
        payer: None,
        discount: None,
        sibling_discount_bp: Some(2_000),
        late_fee: Some(LateFee { amount: Some(500), percent_bp: None }),
        use_credit: true,
        note: Some("By transfer to the club, or in cash at practice.".to_owned()),
        metadata: Metadata::default(),
    };
    let dues = charging::create(tx, &Reach::Everywhere, &fee)?;
    for (place, due) in dues.iter().enumerate() {
        match place {
            0 => pay(tx, due.id, Method::Transfer, due.balance)?,
            1 => pay(tx, due.id, Method::Cash, 2_000)?,
            2 => {
                let waiver = Waiver { reason: "Helps with the kit all season".to_owned() };
                changing::waive(tx, &Reach::Everywhere, due.id, &Expected::Anything, waiver)?;
            }
            3 => pay(tx, due.id, Method::Transfer, due.balance + 2_500)?,
            4 => {}
            _ => pay(tx, due.id, Method::Transfer, due.balance.min(PART))?,
        }
    }
    Ok(())
}

fn pay(tx: &Tx<'_>, due: DueId, method: Method, amount: i64) -> Result<()> {
    let (amount, reference) = (Some(amount), None);
    let paid = Paid { amount, method, reference, paid_at: None, provider_id: None };
    paying::settle(tx, due, paid).map(drop)
}
