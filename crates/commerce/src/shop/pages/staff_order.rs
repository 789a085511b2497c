//! Staff orders: an admin places an order for somebody. The buyer is chosen first because they determine which products
//! are available.

use store::Reader;

use super::checkout_form::{self, CheckoutForm, OrderChannel};
use super::{AdminSubmission, AdminVisitor, form_status, storefront};
use crate::shop::buyer::{self, Candidate};
use crate::web::prelude::*;

/// Maximum number of people in the search results.
const MAX_CANDIDATES: i64 = 20;

#[derive(Template)]
#[template(path = "shop/choose_buyer.html")]
struct BuyerPage {
    frame: Frame,
    /// The search text; empty before a search.
    q: String,
    candidates: Vec<Candidate>,
    /// Whether there are more results than listed.
    more: bool,
    input: CheckoutForm,
    faults: Faults,
}

impl BuyerPage {
    fn teams(person: &Candidate) -> String {
        if person.teams.is_empty() { t!("No team").to_owned() } else { person.teams.join(", ") }
    }
}

pub(super) async fn new(visitor: AdminVisitor) -> PageResult {
    let query = visitor.guest.query()?;
    let input = CheckoutForm::read(&query);
    if input.has_buyer() {
        let (channel, faults) = (OrderChannel::Staff, Faults::default());
        return storefront::render_storefront(&visitor, channel, input, faults).await;
    }
    choose_buyer(&visitor, &query, input).await
}

pub(super) async fn create(AdminSubmission { visitor, form }: AdminSubmission) -> PageResult {
    checkout_form::handle_form(&visitor, &form, OrderChannel::Staff).await
}

/// Shows the page to choose the buyer. The rest of the form is kept in hidden fields.
pub(super) async fn choose_buyer<N: Permission>(
    visitor: &Visitor<N>,
    form: &Form,
    input: CheckoutForm,
) -> PageResult {
    let faults = buyer_errors(form, &input);
    let q = form.text("q").to_owned();
    let search = q.clone();
    let load = move |db: &Reader<'_>| match search.as_str() {
        "" => Ok(Vec::new()),
        name => buyer::search(db, name, MAX_CANDIDATES + 1),
    };
    let mut candidates = visitor.read(load).await?;
    let max = usize::try_from(MAX_CANDIDATES).unwrap_or(usize::MAX);
    let more = candidates.len() > max;
    candidates.truncate(max);
    let frame = visitor.frame(t!("New order"), Section::Orders);
    let page = BuyerPage { frame, q, candidates, more, input, faults };
    render(form_status(&page.faults), &page)
}

/// The errors in the choice of a buyer.
fn buyer_errors(form: &Form, input: &CheckoutForm) -> Faults {
    let mut faults = Faults::default();
    match form.text("step") {
        "find" if form.text("q").is_empty() => faults.add("q", t!("Enter a name or part of it.")),
        // Going back to choose another buyer is not an error.
        "buyer" | "find" => return faults,
        "choose" if form.get("name").is_none() => {
            faults.add("buyer", t!("Choose one of these people."));
        }
        _ if form.get("name").is_some() && input.name.is_empty() => {
            faults.add("name", t!("Enter the buyer’s name."));
        }
        _ if !input.items.is_empty() && !input.has_invalid_email() => {
            faults.add("", t!("Choose the buyer first."));
        }
        _ => {}
    }
    if input.has_invalid_email() {
        faults.add("email", t!("Enter an email address, such as ana@example.org."));
    }
    faults
}
