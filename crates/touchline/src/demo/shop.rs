//! What the demo club sells, and what was ordered.

use store::Tx;

use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::ProductId;
use crate::metadata::Metadata;
use crate::money::payment::{Method, Paid};
use crate::roster::member::Member;
use crate::roster::membership::Role;
use crate::shop::buyer::NewBuyer;
use crate::shop::discount::{self, NewDiscount};
use crate::shop::ending::{self, OrderCancellation};
use crate::shop::handing::{self, Handing};
use crate::shop::order::Order;
use crate::shop::placing::{self, NewLine, NewOrder};
use crate::shop::product::{self, Buyers, NewProduct, Product};
use crate::shop::refunding::{self, NewRefund};
use crate::shop::settle;
use crate::shop::variant::NewVariant;
use crate::teams::team::Team;

const EVERYWHERE: &Reach = &Reach::Everywhere;
const CODE: &str = "SIBLING10";
const SIZES: [(&str, i64); 4] = [("128", 8), ("140", 12), ("152", 12), ("164", 6)];

/// What the whole club sells, and a code for those with several children.
pub(super) fn open(tx: &Tx<'_>) -> Result<ProductId> {
    let code = NewDiscount {
        code: CODE.to_owned(),
        amount: None,
        currency: None,
        percent_bp: Some(1000),
        team_id: None,
        least_subtotal: None,
        valid_from: None,
        valid_until: None,
        most_uses: Some(100),
        most_uses_each: Some(2),
    };
    discount::create(tx, code)?;
    let meal = NewProduct {
        description: Some("Soup, bread and an apple, at the summer tournament.".to_owned()),
        stock: Some(150),
        tax_rate_bp: 1300,
        ..offered("Tournament meal", 650)
    };
    let ticket = NewProduct { most_per_order: Some(20), ..offered("Raffle ticket", 200) };
    product::create(tx, EVERYWHERE, meal)?;
    Ok(product::create(tx, EVERYWHERE, ticket)?.kept.id)
}

/// A team's kit, and what its people ordered: each order a step further than the one before.
pub(super) fn sell(tx: &Tx<'_>, team: &Team, roster: &[Member], ticket: ProductId) -> Result<()> {
    let sizes = SIZES.map(|(size, stock)| NewVariant {
        id: None,
        name: Some(size.to_owned()),
        price: kit::Change::Keep,
        stock: kit::Change::Set(stock),
    });
    let kit = NewProduct {
        team_id: Some(team.id),
        variants: sizes.into(),
        tax_rate_bp: 2300,
        buyers: Buyers::Members,
        ..offered("Home kit", 3499)
    };
    let kit = product::create(tx, EVERYWHERE, kit)?;
    let players = roster.iter().filter(|member| member.role == Role::Player);
    for (turn, player) in players.take(6).enumerate() {
        let order = placing::place(tx, EVERYWHERE, wanted(&kit, ticket, player, turn))?;
        further(tx, order, turn)?;
    }
    Ok(())
}

fn further(tx: &Tx<'_>, order: Order, turn: usize) -> Result<()> {
    let (id, expected) = (order.kept.id, &Expected::Anything);
    if turn == 1 {
        let why = OrderCancellation { reason: Some("Ordered twice".to_owned()) };
        return ending::cancel(tx, EVERYWHERE, id, expected, why).map(drop);
    }
    if turn < 2 {
        return Ok(());
    }
    let method = if turn.is_multiple_of(2) { Method::Transfer } else { Method::Cash };
    let paid = Paid { amount: None, method, reference: None, paid_at: None, provider_id: None };
    settle::settle(tx, id, paid)?;
    if turn > 2 {
        handing::fulfil(tx, EVERYWHERE, id, expected, Handing { lines: None })?;
    }
    if turn == 5 {
        let reason = Some("Too small".to_owned());
        let back =
            NewRefund { amount: Some(1000), lines: None, restock: None, method: None, reason };
        refunding::refund(tx, EVERYWHERE, id, expected, back)?;
    }
    Ok(())
}

fn wanted(kit: &Product, ticket: ProductId, player: &Member, turn: usize) -> NewOrder {
    let size = &kit.variants[turn % kit.variants.len()];
    let line = |product_id, variant_id, quantity| NewLine { product_id, variant_id, quantity };
    NewOrder {
        team_id: Some(player.team_id),
        buyer: Some(NewBuyer { member_id: Some(player.id), ..NewBuyer::default() }),
        lines: vec![line(kit.kept.id, Some(size.id), 1), line(ticket, None, 5)],
        currency: None,
        discount_code: turn.is_multiple_of(3).then(|| CODE.to_owned()),
        note: (turn == 0).then(|| "We fetch it after practice.".to_owned()),
        external_id: None,
        metadata: Metadata::default(),
    }
}

fn offered(name: &str, price: i64) -> NewProduct {
    NewProduct {
        team_id: None,
        name: name.to_owned(),
        description: None,
        currency: None,
        price,
        tax_rate_bp: 0,
        tax_included: true,
        variants: Vec::new(),
        stock: None,
        on_sale_from: None,
        on_sale_until: None,
        buyers: Buyers::Everyone,
        most_per_order: None,
        pick_up_on: None,
        external_id: None,
        metadata: Metadata::default(),
    }
}
