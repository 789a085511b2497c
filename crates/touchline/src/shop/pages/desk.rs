//! Selling at the desk: an admin takes an order for somebody. The buyer is chosen first, as they decide what is for sale.

use askama::Template;
use axum::response::Response;
use store::Reader;

use super::buying::{self, Counter, Typed};
use super::{Keeper, Sent, shelf, show, status};
use crate::accounts::permits::Needs;
use crate::shop::buyer::{self, Candidate};
use crate::web::form::{Faults, Form};
use crate::web::page::{Frame, Section};
use crate::web::visitor::{Outcome, Visitor};

/// So many people are offered; with more, the search has to be narrowed.
const MOST: i64 = 20;

#[derive(Template)]
#[template(path = "shop/desk_buyer.html")]
struct BuyerPage {
    frame: Frame,
    /// What was searched for; empty before a search.
    q: String,
    found: Vec<Candidate>,
    /// Whether there are more than are listed.
    more: bool,
    typed: Typed,
    faults: Faults,
}

impl BuyerPage {
    fn teams(one: &Candidate) -> String {
        if one.teams.is_empty() { "On no team".to_owned() } else { one.teams.join(", ") }
    }
}

pub(super) async fn new(visitor: Keeper) -> Outcome<Response> {
    let query = visitor.guest.query()?;
    let typed = Typed::read(&query);
    if typed.has_buyer() {
        return shelf::show_shelf(&visitor, Counter::Desk, typed, Faults::default()).await;
    }
    choose_buyer(&visitor, &query, typed).await
}

pub(super) async fn create(Sent { visitor, form }: Sent) -> Outcome<Response> {
    buying::take(&visitor, &form, Counter::Desk).await
}

/// Asks who buys. What was typed before goes along.
pub(super) async fn choose_buyer<N: Needs>(
    visitor: &Visitor<N>,
    form: &Form,
    typed: Typed,
) -> Outcome<Response> {
    let faults = faults(form, &typed);
    let q = form.text("q").to_owned();
    let sought = q.clone();
    let look = move |db: &Reader<'_>| match sought.as_str() {
        "" => Ok(Vec::new()),
        name => buyer::search(db, name, MOST + 1),
    };
    let mut found = visitor.read(look).await?;
    let most = usize::try_from(MOST).unwrap_or(usize::MAX);
    let more = found.len() > most;
    found.truncate(most);
    let frame = visitor.frame("New order", Section::Orders);
    show(status(&faults), &BuyerPage { frame, q, found, more, typed, faults })
}

/// What is wrong with the choice of a buyer.
fn faults(form: &Form, typed: &Typed) -> Faults {
    let mut faults = Faults::default();
    match form.text("step") {
        "find" if form.text("q").is_empty() => faults.add("q", "Enter a part of the name."),
        // Going back to choose another buyer is no mistake.
        "buyer" | "find" => return faults,
        "choose" if form.get("name").is_none() => {
            faults.add("buyer", "Choose one of these people.");
        }
        _ if form.get("name").is_some() && typed.name.is_empty() => {
            faults.add("name", "Enter the buyer’s name.");
        }
        _ if !typed.wishes.is_empty() && !typed.has_odd_email() => {
            faults.add("", "Choose the buyer first.");
        }
        _ => {}
    }
    if typed.has_odd_email() {
        faults.add("email", "Enter an email address, such as ana@example.org.");
    }
    faults
}
