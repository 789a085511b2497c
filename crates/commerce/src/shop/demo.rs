//! The demo club's products, discount code and orders.

use crate::demo_club::DemoClub;
use crate::money::payment::{Method, PaymentDetails};
use crate::prelude::*;
use crate::roster::demo::DemoTeam;
use crate::roster::member::Member;
use crate::roster::membership::Role;
use crate::shop::buyer::NewBuyer;
use crate::shop::cancellation::{self, OrderCancellation};
use crate::shop::discount::{self, NewDiscount};
use crate::shop::fulfillment::{self, FulfillRequest};
use crate::shop::order::Order;
use crate::shop::placing::{self, NewLine, NewOrder};
use crate::shop::product::{self, AvailableTo, NewProduct, Product};
use crate::shop::refunding::{self, NewRefund};
use crate::shop::settle;
use crate::shop::variant::NewVariant;

const ALL_TEAMS: &TeamAccess = &TeamAccess::AllTeams;
const DISCOUNT_CODE: &str = "SIBLING10";
const SIZES: [(&str, i64); 4] = [("128", 8), ("140", 12), ("152", 12), ("164", 6)];

/// Creates the products and orders.
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    let ticket = create_products(tx)?;
    club.get::<Vec<DemoTeam>>()?.iter().try_for_each(|demo| create_orders(tx, demo, ticket))
}

/// Creates the products of the whole club and a discount code. Returns the raffle ticket's id.
fn create_products(tx: &Tx<'_>) -> Result<ProductId> {
    let code = NewDiscount {
        code: DISCOUNT_CODE.to_owned(),
        percent_bps: Some(1000),
        max_uses: Some(100),
        max_uses_per_buyer: Some(2),
        ..NewDiscount::default()
    };
    discount::create(tx, code)?;
    let meal = NewProduct {
        description: Some("Soup, bread and an apple, at the summer tournament.".to_owned()),
        stock: Some(150),
        tax_rate_bps: 1300,
        ..new_product("Tournament meal", 650)
    };
    let ticket = NewProduct { max_per_order: Some(20), ..new_product("Raffle ticket", 200) };
    product::create(tx, ALL_TEAMS, meal)?;
    Ok(product::create(tx, ALL_TEAMS, ticket)?.record.id)
}

/// Creates a team's kit and six orders in different states.
fn create_orders(tx: &Tx<'_>, demo: &DemoTeam, ticket: ProductId) -> Result<()> {
    let sizes = SIZES.map(|(size, stock)| NewVariant {
        id: None,
        name: Some(size.to_owned()),
        price: kit::Change::Keep,
        stock: kit::Change::Set(stock),
    });
    let kit = NewProduct {
        team_id: Some(demo.team.id),
        variants: sizes.into(),
        tax_rate_bps: 2300,
        available_to: AvailableTo::Members,
        ..new_product("Home kit", 3499)
    };
    let kit = product::create(tx, ALL_TEAMS, kit)?;
    let players = demo.roster.iter().filter(|member| member.role == Role::Player);
    for (index, player) in players.take(6).enumerate() {
        let order = placing::place(tx, ALL_TEAMS, new_order(&kit, ticket, player, index))?;
        advance_order(tx, order, index)?;
    }
    Ok(())
}

/// Order 0 stays unpaid, 1 is cancelled, 2 is paid, 3 to 5 are paid and fulfilled, and 5 is partly refunded.
fn advance_order(tx: &Tx<'_>, order: Order, index: usize) -> Result<()> {
    let (id, expected) = (order.record.id, &IfMatch::Absent);
    if index == 1 {
        let cancellation = OrderCancellation { reason: Some("Ordered twice".to_owned()) };
        return cancellation::cancel(tx, ALL_TEAMS, id, expected, cancellation).map(drop);
    }
    if index < 2 {
        return Ok(());
    }
    let method = if index.is_multiple_of(2) { Method::BankTransfer } else { Method::Cash };
    settle::pay_by_id(tx, id, PaymentDetails::new(method))?;
    if index > 2 {
        fulfillment::fulfill(tx, ALL_TEAMS, id, expected, FulfillRequest { lines: None })?;
    }
    if index == 5 {
        let reason = Some("Too small".to_owned());
        let refund =
            NewRefund { amount: Some(1000), lines: None, restock: None, method: None, reason };
        refunding::refund(tx, ALL_TEAMS, id, expected, refund)?;
    }
    Ok(())
}

fn new_order(kit: &Product, ticket: ProductId, player: &Member, index: usize) -> NewOrder {
    let size = &kit.variants[index % kit.variants.len()];
    let line = |product_id, variant_id, quantity| NewLine { product_id, variant_id, quantity };
    NewOrder {
        team_id: Some(player.team_id),
        buyer: Some(NewBuyer { member_id: Some(player.id), ..NewBuyer::default() }),
        lines: vec![line(kit.record.id, Some(size.id), 1), line(ticket, None, 5)],
        currency: None,
        discount_code: index.is_multiple_of(3).then(|| DISCOUNT_CODE.to_owned()),
        note: (index == 0).then(|| "We will pick it up after practice.".to_owned()),
        external_id: None,
        metadata: Metadata::default(),
    }
}

fn new_product(name: &str, price: i64) -> NewProduct {
    NewProduct { name: name.to_owned(), price, ..NewProduct::default() }
}
