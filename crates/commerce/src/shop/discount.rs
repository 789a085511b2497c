//! Discount codes.

use kit::{string_enum, text};
use macros::{inputs, query};

use super::price::Reduction;
use crate::error::UniqueViolationExt;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::teams::team;

string_enum! {
    /// The status of a discount code.
    pub enum Status as DiscountStatus {
        Active = "active",
        /// Can no longer be used; existing orders still refer to it.
        Archived = "archived",
    }
}
enum_column!(Status);

record! {
    /// A discount code that reduces an order by a fixed amount or a percentage.
    #[inputs(
        /// A new discount code. Send either `amount` and `currency`, or `percent_bps`.
        create(NewDiscount, as = CreateDiscountRequest, faults,
            require_any(&["amount", "percent_bps"], "Send either `amount` or `percent_bps`.")),
        /// Changes to a discount code. Omitted fields stay unchanged; `null` clears a field.
        update(DiscountChange, as = UpdateDiscountRequest, faults(if_rejected)),
    )]
    #[macros::object("discount")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Discount in discount {
        /// Unique ID of the discount code.
        pub id: DiscountId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Code that buyers enter; unique among active codes, case-insensitive.
        #[schema(examples("SIBLING10"))]
        #[input(line(40), doc = "Code that buyers enter: one word, unique among active codes, case-insensitive.")]
        pub code: String,
        #[serde(skip)]
        #[derived(text::fold_case(&code))]
        pub code_folded: String,
        /// Fixed discount in minor units of the currency; `null` if the discount is a percentage.
        #[input(number(1, 1_000_000_000_000), create = "Fixed discount in minor units; requires `currency`.",
            update = "Fixed discount in minor units.")]
        pub amount: Option<i64>,
        /// Currency of `amount` and `min_subtotal`.
        #[input(doc = "Currency of `amount` and `min_subtotal`; required with either.")]
        pub currency: Option<Currency>,
        /// Percentage in basis points: 1000 is 10%; `null` if the discount is a fixed amount.
        #[input(number(1, 10_000), doc = "Percentage in basis points: 1000 is 10%.")]
        pub percent_bps: Option<i64>,
        /// Team whose products are discounted; `null` for all products.
        #[input(create = "Team whose products are discounted. Default: all products.")]
        pub team_id: Option<TeamId>,
        /// Minimum subtotal of discounted items, before the discount.
        #[schema(minimum = 0)]
        #[input(number(0, 1_000_000_000_000))]
        pub min_subtotal: Option<i64>,
        /// Start of the validity period; `null` for no start.
        #[input(doc = "Start of the validity period.")]
        pub valid_from: Option<Timestamp>,
        /// End of the validity period, exclusive; `null` for no end.
        #[input(doc = "End of the validity period, exclusive; must be after `valid_from`.")]
        pub valid_until: Option<Timestamp>,
        /// Maximum number of uses in total; `null` for no limit.
        #[schema(minimum = 1)]
        #[input(number(1, 1_000_000_000), create = "Maximum number of uses in total. Default: no limit.",
            update = "Maximum number of uses in total; at least the current number of uses.")]
        pub max_uses: Option<i64>,
        /// Maximum number of uses per buyer; `null` for no limit.
        #[schema(minimum = 1)]
        #[input(number(1, 1_000_000_000), create = "Maximum number of uses per buyer. Default: no limit.",
            update = "Maximum number of uses per buyer.")]
        pub max_uses_per_buyer: Option<i64>,
        /// Number of orders that use the code, not counting cancelled ones.
        #[schema(minimum = 0)]
        #[value(0)]
        pub use_count: i64,
        /// Status of the discount code: `active`, or `archived` (it can no longer be used).
        #[value(Status::Active)]
        pub status: Status,
        /// When the discount code was created.
        pub created_at: Timestamp,
        /// When the discount code was last changed.
        pub updated_at: Timestamp,
        /// Version of the code; increases with every change and every use.
        pub version: i64,
    }
}

impl_resource!(Discount by DiscountId: Subject Versioned Paged);

/// Filter for a list of codes.
#[query(items = "codes")]
#[derive(Default)]
pub struct DiscountFilter {
    /// Filter by status: `active` (default), `archived` or `all`.
    #[param(or_all(Status::Active))]
    pub status: Option<Status>,
    /// Only the discount with this code (case-insensitive).
    #[param(line(40))]
    pub code: Option<String>,
    /// Only codes for products of this team.
    pub team_id: Option<TeamId>,
    pub updated_since: Option<Timestamp>,
}

impl Discount {
    /// The reduction this code grants.
    pub fn reduction(&self) -> Reduction {
        match (self.amount, self.percent_bps) {
            (Some(amount), _) => Reduction::Amount(amount),
            (None, points) => Reduction::BasisPoints(points.unwrap_or(0)),
        }
    }

    /// Whether it applies to products of this team, or of the club if `None`.
    pub fn applies_to(&self, team: Option<TeamId>) -> bool {
        self.team_id.is_none() || self.team_id == team
    }
}

/// Creates a code.
pub fn create(tx: &Tx<'_>, new: NewDiscount) -> Result<Discount> {
    let discount = new.into_record(tx);
    validate(tx, &discount)?;
    map_code_conflict(tx.execute(Discount::INSERT, &discount.bind()))?;
    tx.publish("discount.created", &discount)?;
    Ok(discount)
}

/// A code by id.
pub fn find(db: &Reader<'_>, id: DiscountId) -> Result<Discount> {
    Ok(db.one(sql!(Discount::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The active code with this name, not case-sensitive.
pub fn find_active_by_code(db: &Reader<'_>, code: &str) -> Result<Option<Discount>> {
    let folded = text::fold_case(code);
    let text = sql!(
        Discount::SELECT,
        " where account_id = :account and code_folded = :folded and status = 'active'"
    );
    Ok(db.optional(text, bind! { folded })?)
}

/// A page of codes, in order of creation.
pub fn list(
    db: &Reader<'_>,
    filter: &DiscountFilter,
    page: &Page<DiscountId>,
) -> Result<Vec<Discount>> {
    let DiscountFilter { status, code, team_id, updated_since } = filter;
    let folded = code.as_deref().map(text::fold_case);
    let (after, limit) = page.bounds();
    let text = page_sql!(page, Discount::SELECT, FILTER);
    Ok(db.all(text, bind! { after, limit, status, folded, team_id, updated_since })?)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)
      and (cast(:folded as text) is null or code_folded = :folded)
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)";

/// Changes a code. Existing orders keep their discount.
pub fn change(
    tx: &Tx<'_>,
    id: DiscountId,
    expected: &IfMatch,
    change: DiscountChange,
) -> Result<Discount> {
    let before = expected.check(find(tx, id))?;
    if before.status == Status::Archived {
        return Err(Error::invalid_state("An archived code cannot be changed."));
    }
    let after = before.apply(change);
    validate(tx, &after)?;
    if after == before {
        return Ok(before);
    }
    update(tx, "discount.updated", &before, after)
}

/// Archives a code: it can no longer be used, and its name becomes available for a new code.
pub fn archive(tx: &Tx<'_>, id: DiscountId, expected: &IfMatch) -> Result<Discount> {
    let before = expected.check(find(tx, id))?;
    if before.status == Status::Archived {
        return Err(Error::invalid_state("The code is already archived."));
    }
    let after = Discount { status: Status::Archived, ..before.clone() };
    update(tx, "discount.archived", &before, after)
}

/// Counts one use of a code; returns `false` if its usage limit is reached.
pub fn redeem(tx: &Tx<'_>, id: DiscountId) -> Result<bool> {
    let used = tx.execute(
        "update discount set use_count = use_count + 1, updated_at = :now, version = version + 1
         where account_id = :account and id = :id and (max_uses is null or use_count < max_uses)",
        bind! { id },
    )?;
    Ok(used == 1)
}

/// Releases the use of a cancelled order.
pub fn release(tx: &Tx<'_>, id: DiscountId) -> Result<()> {
    Ok(tx.execute_deferred(
        "update discount set use_count = use_count - 1, updated_at = :now, version = version + 1
         where account_id = :account and id = :id and use_count > 0",
        bind! { id },
    )?)
}

/// Number of times a buyer has used a code, matched by person or by email address.
pub fn count_uses_by(
    db: &Reader<'_>,
    id: DiscountId,
    person: Option<PersonId>,
    email: Option<&str>,
) -> Result<i64> {
    let (count,) = db.one(
        "select count(*) from shop_order
         where account_id = :account and discount_id = :id and status <> 'cancelled'
           and (buyer_person_id = :person
                or (cast(:email as text) is not null and lower(buyer_email) = lower(:email)))",
        bind! { id, person, email },
    )?;
    Ok(count)
}

fn update(
    tx: &Tx<'_>,
    event: &'static str,
    before: &Discount,
    after: Discount,
) -> Result<Discount> {
    let after = Discount { updated_at: tx.now(), version: before.version + 1, ..after };
    map_code_conflict(tx.execute(Discount::UPDATE, &after.bind()))?;
    tx.publish_change(event, before, &after)?;
    Ok(after)
}

/// Checks the fields whose combination must make sense: the code, `amount` and `percent_bps`, the currency, and the
/// start and end of the validity period.
fn check_terms(
    code: &str,
    (amount, percent_bps): (Option<i64>, Option<i64>),
    lacks_currency: bool,
    (from, until): (Option<Timestamp>, Option<Timestamp>),
) -> Vec<Fault> {
    let mut faults = Vec::new();
    if code.contains(char::is_whitespace) {
        faults.push(Fault::new("/code", "has_spaces", "A code must not contain spaces."));
    }
    if amount.is_some() && percent_bps.is_some() {
        let detail = "Send either `amount` or `percent_bps`, not both.";
        faults.push(Fault::new("/percent_bps", "mutually_exclusive", detail));
    }
    if lacks_currency {
        let detail = "`currency` is required with `amount` or `min_subtotal`.";
        faults.push(Fault::new("/currency", "required", detail));
    }
    if from.zip(until).is_some_and(|(from, until)| until <= from) {
        let detail = "The validity period must end after it starts.";
        faults.push(Fault::new("/valid_until", "too_early", detail));
    }
    faults
}

impl DiscountChange {
    /// The faults that the fields alone show, whatever the discount was before.
    pub fn faults(&self) -> Vec<Fault> {
        let amounts = (self.amount.clone().apply(None), self.percent_bps.clone().apply(None));
        let period = (self.valid_from.clone().apply(None), self.valid_until.clone().apply(None));
        // The currency may be set already.
        check_terms(self.code.as_deref().unwrap_or_default(), amounts, false, period)
    }
}

impl NewDiscount {
    /// The faults that can be found without the database.
    pub fn faults(&self) -> Vec<Fault> {
        let lacks_currency = self.amount.or(self.min_subtotal).is_some() && self.currency.is_none();
        let period = (self.valid_from, self.valid_until);
        check_terms(&self.code, (self.amount, self.percent_bps), lacks_currency, period)
    }
}

/// Checks the rules that span several fields.
fn validate(tx: &Tx<'_>, discount: &Discount) -> Result<()> {
    let Discount { amount, percent_bps, currency, min_subtotal, .. } = *discount;
    let lacks_currency = amount.or(min_subtotal).is_some() && currency.is_none();
    let period = (discount.valid_from, discount.valid_until);
    let mut violations = Violations::default();
    violations.invalid_fields(check_terms(
        &discount.code,
        (amount, percent_bps),
        lacks_currency,
        period,
    ));
    if amount.is_none() && percent_bps.is_none() {
        violations.invalid("/amount", "required", "Send either `amount` or `percent_bps`.");
    }
    if discount.max_uses.is_some_and(|max| max < discount.use_count) {
        let detail = message!(
            "The limit must be at least {count}, the number of times the code has been used.",
            count = discount.use_count
        );
        violations.invalid("/max_uses", "too_small", detail);
    }
    if let Some(team) = discount.team_id {
        violations.collect_reference("/team_id", team::find_active(tx, team))?;
    }
    violations.finish()
}

fn map_code_conflict(result: store::Result<u64>) -> Result<u64> {
    let detail = "Another active discount already has this code.";
    result.on_unique_violation("discount_account_id_code_folded_key", "/code", detail)
}
