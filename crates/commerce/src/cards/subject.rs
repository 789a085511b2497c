//! What can be paid by card: orders and dues.

use std::fmt;

use crate::dues::due::{self, DueWithPlan};
use crate::dues::paying;
use crate::money::payment::{self, PaymentDetails};
use crate::prelude::*;
use crate::shop::order::{self, Status};
use crate::shop::settle;

/// The order or due that is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Order(OrderId),
    Due(DueId),
}

/// The outstanding amount of an order or a due.
#[derive(Debug, Clone)]
pub struct Outstanding {
    pub team_id: Option<TeamId>,
    pub currency: Currency,
    pub amount: i64,
    /// What is paid, as shown to the payer.
    pub title: String,
    /// Whether it can be paid in its current status.
    pub payable: bool,
    /// The version of the order or due.
    version: i64,
}

impl Versioned for Outstanding {
    fn version(&self) -> i64 {
        self.version
    }
}

impl Subject {
    /// Parses an order or due ID.
    pub fn parse(text: &str) -> Option<Self> {
        let order = text.parse().map(Self::Order);
        order.or_else(|_| text.parse().map(Self::Due)).ok()
    }

    /// The outstanding amount, if the caller may see the order or due.
    pub fn find_outstanding(self, db: &Reader<'_>, access: &TeamAccess) -> Result<Outstanding> {
        match self {
            Self::Order(id) => order::find(db, access, id).map(|order| {
                let record = &order.record;
                let amount = record.total - record.paid;
                Outstanding {
                    team_id: record.team_id,
                    currency: record.currency,
                    amount,
                    title: t!("Order {number}", number = record.number.to_string()),
                    payable: record.status == Status::Placed && amount > 0,
                    version: record.version,
                }
            }),
            Self::Due(id) => due::find(db, access, id).map(|DueWithPlan { due, .. }| Outstanding {
                team_id: Some(due.team_id),
                currency: due.currency,
                amount: due.balance(),
                payable: due.balance() > 0,
                title: due.title,
                version: due.version,
            }),
        }
    }

    /// The outstanding amount, without checking access.
    pub fn load_outstanding(self, db: &Reader<'_>) -> Result<Outstanding> {
        self.find_outstanding(db, &TeamAccess::AllTeams)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(id) => id.fmt(f),
            Self::Due(id) => id.fmt(f),
        }
    }
}

/// Records a payment and returns its ID.
pub fn record_payment(tx: &Tx<'_>, subject: Subject, details: PaymentDetails) -> Result<PaymentId> {
    match subject {
        Subject::Due(id) => paying::record_payment(tx, id, details).map(|(_, payment)| payment.id),
        Subject::Order(id) => {
            let provider_id = details.provider_id.clone().unwrap_or_default();
            settle::pay_by_id(tx, id, details)?;
            let payment = payment::find_by_provider(tx, &provider_id)?;
            payment.map(|payment| payment.id).ok_or_else(Error::not_found)
        }
    }
}
