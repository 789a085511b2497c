//! The form for a discount code.

use super::{AdminSubmission, AdminVisitor, team_options};
use crate::accounts::account;
use crate::money::settings;
use crate::prelude::*;
use crate::shop::discount::{self, Discount, DiscountChange, NewDiscount, Status};
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::prelude::*;

const LIST: &str = "/admin/store/codes";

const FIELDS: &[Field] = &[
    Field::line("code", "Code", 40)
        .required("Enter a code.")
        .hint("One word, such as SIBLING10. People can enter it in upper or lower case.")
        .attributes("spellcheck=false"),
    Field::radio(
        "kind",
        "Type of discount",
        &[
            Choice::new("percent", "Percentage"),
            Choice::new("amount", "Fixed amount")
                .about("Never more than the price of the discounted items."),
        ],
    )
    .default("percent")
    .page_only(),
    Field::percent("percent_bps", "Percentage", 0, 10_000)
        .required("Enter the percentage of the discount.")
        .when("kind", &["percent"]),
    Field::amount("amount", "Amount")
        .required("Enter the amount of the discount.")
        .when("kind", &["amount"]),
    Field::select("team_id", "Products sold by", &[Choice::new("", "Any seller")]),
    Field::pair(
        "Minimum order",
        &[
            Field::amount_or_zero("min_subtotal", "Minimum subtotal")
                .hint("Minimum price of the discounted items, before the discount."),
            Field::currency("currency", "Currency").hint("For all amounts on this page."),
        ],
    ),
    Field::pair(
        "Validity",
        &[Field::local_time("valid_from", "From"), Field::local_time("valid_until", "Until")],
    )
    .hint("Time zone: {zone}. Leave a field empty for no limit."),
    Field::pair(
        "Usage limits",
        &[
            Field::number("max_uses", "Total uses"),
            Field::number("max_uses_per_buyer", "Uses per buyer"),
        ],
    )
    .hint("Leave a field empty for no limit."),
];

#[derive(Template)]
#[template(path = "shop/code_form.html")]
struct CodeFormPage {
    frame: Frame,
    form: FilledForm,
    /// The code to edit; `None` for a new one.
    code: Option<Discount>,
}

impl CodeFormPage {
    fn is_archived(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.status == Status::Archived)
    }
}

/// The submitted form, or the one of an existing or a new code.
async fn fill(
    visitor: &AdminVisitor,
    form: Option<&Form>,
    code: Option<&Discount>,
) -> PageResult<FilledForm> {
    let load = |db: &Reader<'_>| {
        let teams = team_options(db)?;
        Ok((teams, settings::load(db)?.currency, account::find(db)?.timezone))
    };
    let (teams, currency, zone) = visitor.read(load).await?;
    let filled = match (form, code) {
        (Some(form), _) => FilledForm::submitted(FIELDS, form).zone(&zone),
        (None, None) => FilledForm::empty(FIELDS).with("currency", currency.code()).zone(&zone),
        (None, Some(code)) => {
            let kind = if code.amount.is_some() { "amount" } else { "percent" };
            let filled = FilledForm::empty(FIELDS).currency(currency).zone(&zone);
            filled.filled_from(code).with("kind", kind).fingerprint()
        }
    };
    Ok(filled.options("team_id", teams))
}

fn show_form(visitor: &AdminVisitor, form: FilledForm, code: Option<Discount>) -> PageResult {
    let title = code.as_ref().map_or(t!("New discount code"), |code| &code.code).to_owned();
    let frame = visitor.frame(title, Section::Store);
    render(form.status(), &CodeFormPage { frame, form, code })
}

pub(super) async fn new(visitor: AdminVisitor) -> PageResult {
    let form = fill(&visitor, None, None).await?.nonce(new_nonce(visitor.app()));
    show_form(&visitor, form, None)
}

pub(super) async fn create(AdminSubmission { visitor, form }: AdminSubmission) -> PageResult {
    let (nonce, mut form) = (parse_nonce(&form)?, fill(&visitor, Some(&form), None).await?);
    if let Some(new) = form.parse::<NewDiscount>() {
        let create = |tx: &Tx<'_>| discount::create(tx, new).map(|code| code.id);
        if form.accept(visitor.write_once(nonce, create).await)?.is_some() {
            return Ok(see_other(&format!("{LIST}?done=made")));
        }
    }
    show_form(&visitor, form, None)
}

pub(super) async fn edit(
    visitor: AdminVisitor,
    PathParams(id): PathParams<DiscountId>,
) -> PageResult {
    let code = visitor.read(move |db| discount::find(db, id)).await?;
    let form = fill(&visitor, None, Some(&code)).await?;
    show_form(&visitor, form, Some(code))
}

pub(super) async fn save(
    PathParams(id): PathParams<DiscountId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult {
    let before = visitor.read(move |db| discount::find(db, id)).await?;
    let current = fill(&visitor, None, Some(&before)).await?;
    let mut form = fill(&visitor, Some(&form), None).await?;
    if form.conflicts_with(&current) {
        return show_form(&visitor, form, Some(before));
    }
    if let Some(change) = form.parse::<DiscountChange>() {
        let save = move |tx: &Tx<'_>| discount::change(tx, id, &IfMatch::Absent, change);
        if form.accept(visitor.write(save).await)?.is_some() {
            return Ok(see_other(&format!("{LIST}?done=saved")));
        }
    }
    show_form(&visitor, form, Some(before))
}
