//! What can be paid by card: an order or a due.

use std::fmt;

use kit::Currency;
use store::{Reader, Tx};

use crate::accounts::rights::Reach;
use crate::dues::due::{self, Due};
use crate::dues::paying;
use crate::error::{Error, Result};
use crate::expected::Versioned;
use crate::ids::{DueId, OrderId, PaymentId, TeamId};
use crate::money::payment::{self, Paid};
use crate::shop::order::{self, Order, Status};
use crate::shop::settle;

/// What is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Order(OrderId),
    Due(DueId),
}

/// What is owed for it.
#[derive(Debug, Clone)]
pub struct Owed {
    pub team_id: Option<TeamId>,
    pub currency: Currency,
    pub amount: i64,
    /// What it is, as the payer reads it.
    pub title: String,
    /// Whether it can be paid as it is.
    pub payable: bool,
    /// The version of the order or due.
    version: i64,
}

impl Versioned for Owed {
    fn version(&self) -> i64 {
        self.version
    }
}

impl Subject {
    /// What this text names.
    pub fn parse(text: &str) -> Option<Self> {
        let order = text.parse().map(Self::Order);
        order.or_else(|_| text.parse().map(Self::Due)).ok()
    }

    /// What is owed, for those who may know of it.
    pub fn shown(self, db: &Reader<'_>, reach: &Reach) -> Result<Owed> {
        match self {
            Self::Order(id) => order::find(db, reach, id).map(|order| of_order(&order)),
            Self::Due(id) => due::find(db, reach, id).map(|whole| of_due(&whole.due)),
        }
    }

    /// What is owed.
    pub fn owed(self, db: &Reader<'_>) -> Result<Owed> {
        self.shown(db, &Reach::Everywhere)
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

fn of_order(order: &Order) -> Owed {
    let kept = &order.kept;
    let amount = kept.total - kept.paid;
    Owed {
        team_id: kept.team_id,
        currency: kept.currency,
        amount,
        title: format!("Order {}", kept.number),
        payable: kept.status == Status::Placed && amount > 0,
        version: kept.version,
    }
}

fn of_due(due: &Due) -> Owed {
    Owed {
        team_id: Some(due.team_id),
        currency: due.currency,
        amount: due.balance(),
        title: due.title.clone(),
        payable: due.balance() > 0,
        version: due.version,
    }
}

/// Writes down that it was paid, and says as what.
pub fn settle_subject(tx: &Tx<'_>, subject: Subject, paid: Paid) -> Result<PaymentId> {
    match subject {
        Subject::Due(id) => paying::settle(tx, id, paid).map(|(_, payment)| payment.id),
        Subject::Order(id) => {
            let name = paid.provider_id.clone().unwrap_or_default();
            settle::settle(tx, id, paid)?;
            let payment = payment::find_by_provider(tx, &name)?;
            payment.map(|payment| payment.id).ok_or_else(Error::not_found)
        }
    }
}
