//! Orders: lines, buyer, amounts and status.

use kit::string_enum;
use macros::input;

use crate::money::ledger::EntryContext;
use crate::prelude::*;

string_enum! {
    /// The status of an order.
    pub enum Status as OrderStatus {
        /// Not paid yet; its stock is reserved.
        Placed = "placed",
        Paid = "paid",
        /// Everything that was not returned has been picked up.
        Fulfilled = "fulfilled",
        /// Cancelled while it was unpaid, or free and not fulfilled; its stock was restored.
        Cancelled = "cancelled",
        /// Part of the payment was refunded.
        PartiallyRefunded = "partially_refunded",
        /// The whole payment was refunded.
        Refunded = "refunded",
    }
}
enum_column!(Status);

record! {
    /// The order as it is stored.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = OrderRecord)]
    pub struct OrderRecord in shop_order {
        /// Unique ID of the order.
        pub id: OrderId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Order number. Counts from 1 in each account.
        #[schema(examples(1042))]
        pub number: i64,
        /// Team that sells the products; `null` for the club.
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
        /// Discount code that was applied; `null` if there was none.
        pub discount_code: Option<String>,
        #[serde(skip)]
        pub note: Option<String>,
        /// Currency of all amounts of the order.
        pub currency: Currency,
        /// Sum of the lines before discount, in minor units.
        #[schema(examples(4998))]
        pub subtotal: i64,
        /// Discount on the whole order, in minor units.
        #[schema(examples(500))]
        pub discount: i64,
        /// Tax included in `total`, in minor units.
        #[schema(examples(841))]
        pub tax: i64,
        /// Amount to pay after discount, including tax, in minor units.
        #[schema(examples(4498))]
        pub total: i64,
        /// Amount paid so far, in minor units.
        #[schema(examples(0))]
        pub paid: i64,
        /// Amount refunded so far, in minor units.
        #[schema(examples(0))]
        pub refunded: i64,
        /// Status of the order: `placed` (not paid yet; its stock is reserved), `paid`, `fulfilled` (everything was
        /// picked up or returned), `cancelled`, `partially_refunded` or `refunded`.
        pub status: Status,
        /// When the order is cancelled if it is still unpaid; `null` if it does not expire.
        pub expires_at: Option<Timestamp>,
        /// When the order was paid; `null` if it was not.
        pub paid_at: Option<Timestamp>,
        /// When the last item was picked up; `null` until then.
        pub fulfilled_at: Option<Timestamp>,
        /// When the order was cancelled; `null` if it was not.
        pub cancelled_at: Option<Timestamp>,
        /// Why the order was cancelled.
        #[schema(max_length = 500)]
        pub cancel_reason: Option<String>,
        /// ID of the order in another system, unique in the account.
        #[schema(max_length = 120)]
        pub external_id: Option<String>,
        /// Key-value pairs for your own use.
        pub metadata: Metadata,
        /// When the order was created.
        pub created_at: Timestamp,
        /// When the order was last changed.
        pub updated_at: Timestamp,
        /// Version of the order; increases with every change.
        pub version: i64,
    }
}

record! {
    /// A line of an order, with names and prices from the time of the order.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = OrderLine)]
    pub struct Line in order_line {
        /// Unique ID of the order line.
        pub id: LineId,
        #[serde(skip)]
        pub account_id: AccountId,
        #[serde(skip)]
        pub order_id: OrderId,
        #[serde(skip)]
        pub position: i64,
        /// Product that was ordered.
        pub product_id: ProductId,
        /// Variant that was ordered; `null` if the product has none.
        pub variant_id: Option<VariantId>,
        /// Name of the product.
        #[schema(examples("Home kit"))]
        pub name: String,
        /// Name of the variant.
        #[schema(examples("M"))]
        pub variant_name: Option<String>,
        /// Price of one unit, in minor units of the currency.
        #[schema(examples(2499))]
        pub unit_price: i64,
        /// Number of units ordered.
        #[schema(examples(2))]
        pub quantity: i64,
        /// Share of the order's discount, in minor units.
        #[schema(examples(500))]
        pub discount: i64,
        /// Tax included in `total`, in minor units.
        #[schema(examples(841))]
        pub tax: i64,
        /// Tax rate in basis points: 2300 is 23%.
        #[schema(examples(2300))]
        pub tax_rate_bps: i64,
        /// Whether `unit_price` includes the tax.
        #[schema(examples(true))]
        pub tax_included: bool,
        /// Amount to pay for the line after discount, including tax, in minor units.
        #[schema(examples(4498))]
        pub total: i64,
        /// Number of units the buyer has picked up and not returned.
        #[schema(examples(0))]
        pub fulfilled: i64,
        /// Number of units that were returned, or refunded before pickup.
        #[schema(examples(0))]
        pub returned: i64,
        #[serde(skip)]
        pub restocked: i64,
        #[serde(skip)]
        pub from_stock: bool,
        /// Amount refunded for this line, in minor units.
        #[schema(examples(0))]
        pub refunded: i64,
    }
}

/// The buyer of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Buyer {
    /// Member who bought, if the order names one.
    pub member_id: Option<MemberId>,
    /// Person who bought; `null` if the buyer is not on a roster.
    pub person_id: Option<PersonId>,
    /// Name of the buyer at the time of the order.
    #[schema(examples("Rui Duarte"))]
    pub name: String,
    #[serde(flatten)]
    #[schema(value_type = BuyerContact)]
    pub contact: Option<BuyerContact>,
}

/// Contact details of a buyer who is not on a roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct BuyerContact {
    /// Email address of the buyer.
    #[schema(value_type = Option<String>, format = Email)]
    pub email: Option<String>,
}

/// Private fields of an order, left out of notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = OrderPrivate)]
pub struct Private {
    /// Note from the buyer.
    #[schema(max_length = 1000)]
    pub note: Option<String>,
}

/// An order: products that somebody bought.
#[macros::object("order")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Order {
    #[serde(flatten)]
    pub record: OrderRecord,
    /// Buyer of the order.
    pub buyer: Buyer,
    /// Lines of the order, at least one.
    #[schema(min_items = 1)]
    pub lines: Vec<Line>,
    #[serde(flatten)]
    #[schema(value_type = Private)]
    pub private: Option<Private>,
}

impl Order {
    /// The complete order, including private fields.
    pub fn new(record: OrderRecord, lines: Vec<Line>) -> Self {
        let contact = Some(BuyerContact { email: record.buyer_email.clone() });
        let buyer = Buyer {
            member_id: record.buyer_member_id,
            person_id: record.buyer_person_id,
            name: record.buyer_name.clone(),
            contact,
        };
        let private = Some(Private { note: record.note.clone() });
        Self { record, buyer, lines, private }
    }

    /// The order as notifications contain it: without the buyer's email address and note.
    pub fn snapshot(&self) -> Self {
        let buyer = Buyer { contact: None, ..self.buyer.clone() };
        Self { buyer, private: None, ..self.clone() }
    }

    /// The context of ledger entries for this order.
    pub(super) fn ledger_context(&self) -> EntryContext {
        EntryContext {
            subject: self.record.id.to_string(),
            team_id: self.record.team_id,
            person_id: self.record.buyer_person_id,
            payer_id: self.record.buyer_person_id,
            currency: self.record.currency,
        }
    }
}

impl Line {
    /// Number of units that are neither fulfilled nor returned.
    pub fn unfulfilled(&self) -> i64 {
        self.quantity - self.fulfilled - self.returned
    }
}

impl_resource!(Order by OrderId in record: Subject Versioned Paged);

/// An order that the caller may see: from a team they manage, or from their own family.
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: OrderId) -> Result<Order> {
    let order = load(db, id)?;
    let own = order.record.buyer_person_id.is_some_and(|person| access.is_family(person));
    let manages = match order.record.team_id {
        Some(team) => access.has_full_access(team),
        None => *access == TeamAccess::AllTeams,
    };
    if own || manages { Ok(order) } else { Err(Error::not_found()) }
}

/// An order, without checking access.
pub(super) fn load(db: &Reader<'_>, id: OrderId) -> Result<Order> {
    let record = db.one(
        sql!(OrderRecord::SELECT, " where account_id = :account and id = :id"),
        bind! { id },
    )?;
    Ok(Order::new(record, lines_of(db, vec![id])?))
}

/// The lines of these orders, by order and position.
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

/// Changes to an order. Fields that are left out stay unchanged.
#[input(as = UpdateOrderRequest)]
pub struct OrderChange {
    /// Note about the order, up to 1,000 characters; `null` removes it.
    #[input(block(1000))]
    pub note: Change<String>,
    /// Replaces all metadata; `null` clears it.
    pub metadata: Change<Metadata>,
}

/// Changes the note and metadata of an order. If nothing changes, the version stays the same.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: OrderId,
    expected: &IfMatch,
    change: OrderChange,
) -> Result<Order> {
    let before = expected.check(find(tx, access, id))?;
    let note = change.note.apply(before.record.note.clone());
    let metadata = change.metadata.apply_or(before.record.metadata.clone(), Metadata::default());
    let record = OrderRecord { note, metadata, ..before.record.clone() };
    if record == before.record {
        return Ok(before);
    }
    update(tx, "order.updated", &before, Order::new(record, before.lines.clone()))
}

/// Saves the changes to an order and publishes a notification of type `event`.
pub(super) fn update(
    tx: &Tx<'_>,
    event: &'static str,
    before: &Order,
    after: Order,
) -> Result<Order> {
    let version = before.record.version + 1;
    let after =
        Order { record: OrderRecord { updated_at: tx.now(), version, ..after.record }, ..after };
    tx.execute_deferred(
        "update shop_order set paid = :paid, refunded = :refunded, status = :status,
             expires_at = :expires_at, paid_at = :paid_at, fulfilled_at = :fulfilled_at,
             cancelled_at = :cancelled_at, cancel_reason = :cancel_reason,
             note = :note, metadata = :metadata, updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.record.bind(),
    )?;
    for line in after.lines.iter().filter(|line| !before.lines.contains(line)) {
        tx.execute_deferred(
            "update order_line set fulfilled = :fulfilled, returned = :returned,
                 restocked = :restocked, refunded = :refunded
             where account_id = :account and order_id = :order_id and position = :position",
            &line.bind(),
        )?;
    }
    tx.publish_change(event, &before.snapshot(), &after.snapshot())?;
    Ok(after)
}
