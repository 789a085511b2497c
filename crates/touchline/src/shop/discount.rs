//! Codes that make orders cheaper.

use kit::{Change, Currency, Timestamp, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::Against;
use super::price::Off;
use crate::error::{Error, Result, TakenExt};
use crate::expected::Expected;
use crate::ids::{AccountId, DiscountId, PersonId, TeamId};
use crate::paging::{Order, Page};
use crate::signals::Tell;
use crate::teams::team;
use crate::thing::thing;

words! {
    /// Whether a code can be used.
    pub enum Status as DiscountStatus {
        Active = "active",
        /// It can no longer be used; orders still name it.
        Archived = "archived",
    }
}
word_column!(Status);

record! {
    /// A code that makes an order cheaper: by an amount, or by a part.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "discount")]
    pub struct Discount in discount {
        pub id: DiscountId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Unique among the codes that can be used, whatever its case.
        #[schema(examples("SIBLING10"), max_length = 40)]
        pub code: String,
        #[serde(skip)]
        pub code_folded: String,
        /// In minor units of the currency.
        #[schema(minimum = 1, maximum = 1_000_000_000_000i64)]
        pub amount: Option<i64>,
        /// What `amount` and `least_subtotal` are in.
        pub currency: Option<Currency>,
        /// In basis points: 1000 is 10 %.
        #[schema(minimum = 1, maximum = 10000)]
        pub percent_bp: Option<i64>,
        /// Only what this team sells becomes cheaper.
        pub team_id: Option<TeamId>,
        /// Only for orders of at least so much, of what becomes cheaper.
        #[schema(minimum = 0)]
        pub least_subtotal: Option<i64>,
        pub valid_from: Option<Timestamp>,
        pub valid_until: Option<Timestamp>,
        /// How often it can be used in all.
        #[schema(minimum = 1)]
        pub most_uses: Option<i64>,
        /// How often one buyer can use it.
        #[schema(minimum = 1)]
        pub most_uses_each: Option<i64>,
        /// How often it was used. An order that is cancelled gives its use back.
        #[schema(minimum = 0)]
        pub uses: i64,
        pub status: Status,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change and every use.
        pub version: i64,
    }
}

thing!(Discount by DiscountId: Subject Versioned Paged);

/// A code to be made: with `amount` and `currency`, or with `percent_bp`.
#[derive(Debug, ToSchema)]
pub struct NewDiscount {
    #[schema(examples("SIBLING10"), min_length = 1, max_length = 40)]
    pub code: String,
    #[schema(minimum = 1, maximum = 1_000_000_000_000i64)]
    pub amount: Option<i64>,
    pub currency: Option<Currency>,
    #[schema(minimum = 1, maximum = 10000)]
    pub percent_bp: Option<i64>,
    pub team_id: Option<TeamId>,
    #[schema(minimum = 0, maximum = 1_000_000_000_000i64)]
    pub least_subtotal: Option<i64>,
    pub valid_from: Option<Timestamp>,
    pub valid_until: Option<Timestamp>,
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub most_uses: Option<i64>,
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub most_uses_each: Option<i64>,
}

/// What is to be changed: members that are left out stay, `null` clears.
#[derive(Debug, ToSchema)]
pub struct DiscountChange {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 40)]
    pub code: Option<String>,
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1_000_000_000_000i64)]
    pub amount: Change<i64>,
    #[schema(value_type = Option<Currency>)]
    pub currency: Change<Currency>,
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 10000)]
    pub percent_bp: Change<i64>,
    #[schema(value_type = Option<TeamId>)]
    pub team_id: Change<TeamId>,
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000_000i64)]
    pub least_subtotal: Change<i64>,
    #[schema(value_type = Option<Timestamp>)]
    pub valid_from: Change<Timestamp>,
    #[schema(value_type = Option<Timestamp>)]
    pub valid_until: Change<Timestamp>,
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1_000_000_000)]
    pub most_uses: Change<i64>,
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1_000_000_000)]
    pub most_uses_each: Change<i64>,
}

/// Which codes to list.
#[derive(Debug, Default)]
pub struct DiscountFilter {
    /// `None` is every status.
    pub status: Option<Status>,
    /// Only this one, whatever its case.
    pub code: Option<String>,
}

impl Discount {
    /// How much it takes off.
    pub fn off(&self) -> Off {
        match (self.amount, self.percent_bp) {
            (Some(amount), _) => Off::Amount(amount),
            (None, part) => Off::Part(part.unwrap_or(0)),
        }
    }

    /// Whether it makes what this team sells cheaper.
    pub fn is_for(&self, team: Option<TeamId>) -> bool {
        self.team_id.is_none() || self.team_id == team
    }
}

/// Makes a code.
pub fn create(tx: &Tx<'_>, new: NewDiscount) -> Result<Discount> {
    let discount = Discount {
        id: tx.new_id(),
        account_id: tx.account(),
        code_folded: text::folded(&new.code),
        code: new.code,
        amount: new.amount,
        currency: new.currency,
        percent_bp: new.percent_bp,
        team_id: new.team_id,
        least_subtotal: new.least_subtotal,
        valid_from: new.valid_from,
        valid_until: new.valid_until,
        most_uses: new.most_uses,
        most_uses_each: new.most_uses_each,
        uses: 0,
        status: Status::Active,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    whole(tx, &discount)?;
    unique(tx.run(Discount::INSERT, &discount.bind()))?;
    tx.tell("discount.created", &discount)?;
    Ok(discount)
}

/// One code.
pub fn find(db: &Reader<'_>, id: DiscountId) -> Result<Discount> {
    Ok(db.one(sql!(Discount::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The code that is written like this, if it can be used.
pub fn with_code(db: &Reader<'_>, code: &str) -> Result<Option<Discount>> {
    let folded = text::folded(code);
    let text = sql!(
        Discount::SELECT,
        " where account_id = :account and code_folded = :folded and status = 'active'"
    );
    Ok(db.maybe(text, bind! { folded })?)
}

/// A page of codes, in order of creation.
pub fn list(
    db: &Reader<'_>,
    filter: &DiscountFilter,
    page: &Page<DiscountId>,
) -> Result<Vec<Discount>> {
    let DiscountFilter { status, code } = filter;
    let folded = code.as_deref().map(text::folded);
    let after = page.after(DiscountId::LEAST, DiscountId::GREATEST);
    let limit = page.fetch();
    let text = match page.order {
        Order::Asc => sql!(Discount::SELECT, FILTER, " and id > :after order by id limit :limit"),
        Order::Desc => {
            sql!(Discount::SELECT, FILTER, " and id < :after order by id desc limit :limit")
        }
    };
    Ok(db.all(text, bind! { after, limit, status, folded })?)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)
      and (cast(:folded as text) is null or code_folded = :folded)";

/// Changes a code. Orders that used it stay as they are.
pub fn change(
    tx: &Tx<'_>,
    id: DiscountId,
    expected: &Expected,
    change: DiscountChange,
) -> Result<Discount> {
    let before = expected.check(find(tx, id))?;
    if before.status == Status::Archived {
        return Err(Error::invalid_state("An archived code cannot be changed."));
    }
    let code = change.code.unwrap_or_else(|| before.code.clone());
    let after = Discount {
        code_folded: text::folded(&code),
        code,
        amount: change.amount.apply(before.amount),
        currency: change.currency.apply(before.currency),
        percent_bp: change.percent_bp.apply(before.percent_bp),
        team_id: change.team_id.apply(before.team_id),
        least_subtotal: change.least_subtotal.apply(before.least_subtotal),
        valid_from: change.valid_from.apply(before.valid_from),
        valid_until: change.valid_until.apply(before.valid_until),
        most_uses: change.most_uses.apply(before.most_uses),
        most_uses_each: change.most_uses_each.apply(before.most_uses_each),
        ..before.clone()
    };
    whole(tx, &after)?;
    if after == before {
        return Ok(before);
    }
    update(tx, "discount.updated", &before, after)
}

/// Archives a code: it can no longer be used, and another can have its name.
pub fn archive(tx: &Tx<'_>, id: DiscountId, expected: &Expected) -> Result<Discount> {
    let before = expected.check(find(tx, id))?;
    if before.status == Status::Archived {
        return Err(Error::invalid_state("The code is already archived."));
    }
    let after = Discount { status: Status::Archived, ..before.clone() };
    update(tx, "discount.archived", &before, after)
}

/// Uses a code once; `false` if it was used as often as it can be.
pub fn use_once(tx: &Tx<'_>, id: DiscountId) -> Result<bool> {
    let used = tx.run(
        "update discount set uses = uses + 1, updated_at = :now, version = version + 1
         where account_id = :account and id = :id and (most_uses is null or uses < most_uses)",
        bind! { id },
    )?;
    Ok(used == 1)
}

/// An order that used a code does so no longer.
pub fn give_back(tx: &Tx<'_>, id: DiscountId) -> Result<()> {
    Ok(tx.later(
        "update discount set uses = uses - 1, updated_at = :now, version = version + 1
         where account_id = :account and id = :id and uses > 0",
        bind! { id },
    )?)
}

/// How often a buyer has used a code: the person, or whoever has this address.
pub fn used_by(
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

fn update(tx: &Tx<'_>, news: &'static str, before: &Discount, after: Discount) -> Result<Discount> {
    let after = Discount { updated_at: tx.now(), version: before.version + 1, ..after };
    unique(tx.run(
        "update discount set code = :code, code_folded = :code_folded, amount = :amount,
             currency = :currency, percent_bp = :percent_bp, team_id = :team_id,
             least_subtotal = :least_subtotal, valid_from = :valid_from,
             valid_until = :valid_until, most_uses = :most_uses,
             most_uses_each = :most_uses_each, status = :status, updated_at = :updated_at,
             version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    ))?;
    tx.tell_change(news, before, &after)?;
    Ok(after)
}

/// What must hold of a code as a whole.
fn whole(tx: &Tx<'_>, discount: &Discount) -> Result<()> {
    let mut against = Against::default();
    if discount.code.contains(char::is_whitespace) {
        against.invalid("/code", "has_spaces", "A code is one word, without spaces.");
    }
    match (discount.amount, discount.percent_bp) {
        (None, None) => {
            against.invalid("/amount", "required", "Give either amount or percent_bp.");
        }
        (Some(_), Some(_)) => {
            against.invalid("/percent_bp", "not_both", "Give either amount or percent_bp.");
        }
        _ => {}
    }
    let needs_currency = discount.amount.is_some() || discount.least_subtotal.is_some();
    if needs_currency && discount.currency.is_none() {
        let why = "An amount needs the currency it is in.";
        against.invalid("/currency", "required", why);
    }
    let window = discount.valid_from.zip(discount.valid_until);
    if window.is_some_and(|(from, until)| until <= from) {
        against.invalid("/valid_until", "too_early", "It must end after it begins.");
    }
    if discount.most_uses.is_some_and(|most| most < discount.uses) {
        let why = format!("It was already used {} times.", discount.uses);
        against.invalid("/most_uses", "too_small", why);
    }
    if let Some(team) = discount.team_id
        && team::find(tx, team).is_err()
    {
        against.missing("/team_id");
    }
    against.finish()
}

fn unique(done: store::Result<u64>) -> Result<u64> {
    let others = "Another code that can be used is written like this.";
    done.taken("discount_account_id_code_folded_key", "/code", others)
}
