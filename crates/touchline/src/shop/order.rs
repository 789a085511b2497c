//! The order: what was bought, by whom, and how far it has come.

use kit::{Currency, Timestamp, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::expected::Versioned;
use crate::ids::{
    AccountId, DiscountId, LineId, MemberId, OrderId, PersonId, ProductId, TeamId, VariantId,
};
use crate::metadata::Metadata;
use crate::money::ledger::About;
use crate::paging::Paged;
use crate::signals::{Subject, Tell};

words! {
    /// How far an order has come.
    pub enum Status as OrderStatus {
        /// Its stock is taken; it is not paid.
        Placed = "placed",
        Paid = "paid",
        /// Everything that was not taken back was handed out.
        Fulfilled = "fulfilled",
        /// It was not paid, and its stock was given back.
        Cancelled = "cancelled",
        /// Some of what was paid was given back.
        PartiallyRefunded = "partially_refunded",
        /// All that was paid was given back.
        Refunded = "refunded",
    }
}
word_column!(Status);

record! {
    /// What is kept of an order.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = OrderRecord)]
    pub struct Stored in shop_order {
        pub id: OrderId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// What people call it: 1 for the account's first order.
        #[schema(examples(1042))]
        pub number: i64,
        /// The team that sells it; `null`: the club.
        pub team_id: Option<TeamId>,
        #[serde(skip)]
        pub buyer_member_id: Option<MemberId>,
        #[serde(skip)]
        pub buyer_person_id: Option<PersonId>,
        #[serde(skip)]
        pub buyer_name: String,
        #[serde(skip)]
        pub buyer_email: Option<String>,
        #[serde(skip)]
        pub discount_id: Option<DiscountId>,
        pub discount_code: Option<String>,
        #[serde(skip)]
        pub note: Option<String>,
        pub currency: Currency,
        /// What the lines cost before anything is taken off.
        pub subtotal: i64,
        pub discount: i64,
        /// The tax in `total`.
        pub tax: i64,
        /// What is to be paid.
        pub total: i64,
        pub paid: i64,
        pub refunded: i64,
        pub status: Status,
        /// Until then it waits to be paid; `null`: for ever, or it does not wait.
        pub expires_at: Option<Timestamp>,
        pub paid_at: Option<Timestamp>,
        pub fulfilled_at: Option<Timestamp>,
        pub cancelled_at: Option<Timestamp>,
        #[schema(max_length = 500)]
        pub cancel_reason: Option<String>,
        /// The order's id in another system, unique in the account.
        #[schema(max_length = 120)]
        pub external_id: Option<String>,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

record! {
    /// A line of an order, with everything as it was when it was ordered.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = OrderLine)]
    pub struct Line in order_line {
        pub id: LineId,
        #[serde(skip)]
        pub account_id: AccountId,
        #[serde(skip)]
        pub order_id: OrderId,
        #[serde(skip)]
        pub position: i64,
        pub product_id: ProductId,
        pub variant_id: Option<VariantId>,
        #[schema(examples("Home kit"))]
        pub name: String,
        #[schema(examples("M"))]
        pub variant_name: Option<String>,
        pub unit_price: i64,
        pub quantity: i64,
        /// Its part of the order's discount.
        pub discount: i64,
        /// The tax in `total`.
        pub tax: i64,
        pub tax_rate_bp: i64,
        pub tax_included: bool,
        /// What is paid for it: after discount, with tax.
        pub total: i64,
        /// How many the buyer has.
        pub fulfilled: i64,
        /// How many were taken back, or are not wanted any more.
        pub returned: i64,
        #[serde(skip)]
        pub restocked: i64,
        #[serde(skip)]
        pub from_stock: bool,
        /// How much was given back for it.
        pub refunded: i64,
    }
}

/// Who bought it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Buyer {
    pub member_id: Option<MemberId>,
    pub person_id: Option<PersonId>,
    /// As it was when it was ordered.
    #[schema(examples("Rui Duarte"))]
    pub name: String,
    #[serde(flatten)]
    #[schema(value_type = BuyerContact)]
    pub contact: Option<BuyerContact>,
}

/// How to reach a buyer who is on no roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct BuyerContact {
    #[schema(value_type = Option<String>, format = Email)]
    pub email: Option<String>,
}

/// What is said with an order and is nobody else's business.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = OrderPrivate)]
pub struct Private {
    #[schema(max_length = 1000)]
    pub note: Option<String>,
}

/// What somebody bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "object", rename = "order")]
pub struct Order {
    #[serde(flatten)]
    pub kept: Stored,
    pub buyer: Buyer,
    pub lines: Vec<Line>,
    #[serde(flatten)]
    #[schema(value_type = Private)]
    pub private: Option<Private>,
}

impl Order {
    /// The order as it is shown to those who may see it.
    pub fn new(kept: Stored, lines: Vec<Line>) -> Self {
        let contact = Some(BuyerContact { email: kept.buyer_email.clone() });
        let buyer = Buyer {
            member_id: kept.buyer_member_id,
            person_id: kept.buyer_person_id,
            name: kept.buyer_name.clone(),
            contact,
        };
        let private = Some(Private { note: kept.note.clone() });
        Self { kept, buyer, lines, private }
    }

    /// The order as news tell of it: without the buyer's address and what they noted.
    pub(crate) fn told(&self) -> Self {
        let buyer = Buyer { contact: None, ..self.buyer.clone() };
        Self { buyer, private: None, ..self.clone() }
    }

    /// What its money is moved for.
    pub(super) fn about(&self) -> About {
        About {
            subject: self.kept.id.to_string(),
            team_id: self.kept.team_id,
            person_id: self.kept.buyer_person_id,
            payer_id: self.kept.buyer_person_id,
            currency: self.kept.currency,
        }
    }
}

impl Line {
    /// How many are still to be handed out.
    pub fn open(&self) -> i64 {
        self.quantity - self.fulfilled - self.returned
    }
}

impl Subject for Order {
    fn subject(&self) -> String {
        self.kept.id.to_string()
    }
}

impl Versioned for Order {
    fn version(&self) -> i64 {
        self.kept.version
    }
}

impl Paged for Order {
    type Place = OrderId;

    fn place(&self) -> OrderId {
        self.kept.id
    }
}

/// One order that the caller may see: of a team they lead, or their family's own.
pub fn find(db: &Reader<'_>, reach: &Reach, id: OrderId) -> Result<Order> {
    let order = load(db, id)?;
    let own = order.kept.buyer_person_id.is_some_and(|person| reach.is_family(person));
    let open = match order.kept.team_id {
        Some(team) => reach.opens(team),
        None => *reach == Reach::Everywhere,
    };
    if own || open { Ok(order) } else { Err(Error::not_found()) }
}

/// One order, whoever may see it.
pub(super) fn load(db: &Reader<'_>, id: OrderId) -> Result<Order> {
    let kept =
        db.one(sql!(Stored::SELECT, " where account_id = :account and id = :id"), bind! { id })?;
    Ok(Order::new(kept, lines_of(db, vec![id])?))
}

/// The lines of these orders, in their order.
pub(super) fn lines_of(db: &Reader<'_>, orders: Vec<OrderId>) -> Result<Vec<Line>> {
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let text = sql!(
        Line::SELECT,
        " where account_id = :account and order_id in (:orders) order by order_id, position"
    );
    Ok(db.all(text, bind! { orders })?)
}

/// Keeps what has changed of an order, and tells.
pub(super) fn update(
    tx: &Tx<'_>,
    news: &'static str,
    before: &Order,
    after: Order,
) -> Result<Order> {
    let version = before.kept.version + 1;
    let after = Order { kept: Stored { updated_at: tx.now(), version, ..after.kept }, ..after };
    tx.later(
        "update shop_order set paid = :paid, refunded = :refunded, status = :status,
             expires_at = :expires_at, paid_at = :paid_at, fulfilled_at = :fulfilled_at,
             cancelled_at = :cancelled_at, cancel_reason = :cancel_reason,
             updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.kept.bind(),
    )?;
    for line in after.lines.iter().filter(|line| !before.lines.contains(line)) {
        tx.later(
            "update order_line set fulfilled = :fulfilled, returned = :returned,
                 restocked = :restocked, refunded = :refunded
             where account_id = :account and order_id = :order_id and position = :position",
            &line.bind(),
        )?;
    }
    tx.tell_change(news, &before.told(), &after.told())?;
    Ok(after)
}
