//! The form for a discount code.

use askama::Template;
use axum::response::Response;
use kit::{Currency, Money, Zone};
use store::{Reader, Tx};

use super::form_body::{self, FormBody};
use super::{
    AdminSubmission, AdminVisitor, form_status, is_form_error, map_faults, percent, render,
    run_once, submitted_id, team_options,
};
use crate::accounts::account;
use crate::error::Result;
use crate::ids::{DiscountId, TeamId};
use crate::if_match::IfMatch;
use crate::money::settings;
use crate::rights::TeamAccess;
use crate::shop::discount::{self, Discount, DiscountChange, NewDiscount, Status};
use crate::web::form::{Faults, Form, fingerprint};
use crate::web::form_dedup::{new_nonce, parse_nonce};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

const LIST: &str = "/admin/store/codes";

/// The form as submitted.
#[derive(Debug, Default)]
struct CodeForm {
    code: String,
    /// Whether the discount is an amount, not a percentage.
    by_amount: bool,
    amount: String,
    currency: String,
    percent_bps: String,
    team_id: String,
    min_subtotal: String,
    valid_from: String,
    valid_until: String,
    max_uses: String,
    max_uses_per_buyer: String,
    /// Fingerprint of the fields above as they were shown, to detect concurrent changes.
    fingerprint: String,
}

impl CodeForm {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            code: text("code"),
            by_amount: form.text("kind") == "amount",
            amount: text("amount"),
            currency: text("currency").to_uppercase(),
            percent_bps: text("percent_bps"),
            team_id: text("team_id"),
            min_subtotal: text("min_subtotal"),
            valid_from: text("valid_from"),
            valid_until: text("valid_until"),
            max_uses: text("max_uses"),
            max_uses_per_buyer: text("max_uses_per_buyer"),
            fingerprint: text("shown"),
        }
    }

    fn from_code(code: &Discount, default: Currency, zone: &Zone) -> Self {
        let currency = code.currency.unwrap_or(default);
        let amount = |minor: Option<i64>| {
            minor.map(|minor| Money { minor, currency }.format_amount()).unwrap_or_default()
        };
        let count = |count: Option<i64>| count.map(|count| count.to_string()).unwrap_or_default();
        let input = Self {
            code: code.code.clone(),
            by_amount: code.amount.is_some(),
            amount: amount(code.amount),
            currency: currency.code().to_owned(),
            percent_bps: code.percent_bps.map(percent).unwrap_or_default(),
            team_id: code.team_id.map(|team| team.to_string()).unwrap_or_default(),
            min_subtotal: amount(code.min_subtotal),
            valid_from: form_body::format_local(code.valid_from, zone),
            valid_until: form_body::format_local(code.valid_until, zone),
            max_uses: count(code.max_uses),
            max_uses_per_buyer: count(code.max_uses_per_buyer),
            fingerprint: String::new(),
        };
        Self { fingerprint: fingerprint(&input), ..input }
    }

    fn is_team(&self, team: &TeamId) -> bool {
        self.team_id == team.to_string()
    }

    fn to_body(&self, zone: &Zone) -> FormBody {
        let mut body = FormBody::default();
        body.required("code", &self.code, "Enter a code.");
        let currency: Option<Currency> = self.currency.parse().ok();
        let has_amount = self.by_amount || !self.min_subtotal.is_empty();
        match currency {
            Some(currency) => {
                let amount = if self.by_amount { self.amount.as_str() } else { "" };
                body.money("amount", amount, currency);
                body.money("min_subtotal", &self.min_subtotal, currency);
                body.set("currency", Some(currency.code()).filter(|_| has_amount));
            }
            None if has_amount => {
                let message = "Enter a three-letter currency code, such as EUR.";
                body.faults.add("currency", message);
            }
            None => {}
        }
        let percent = if self.by_amount { "" } else { self.percent_bps.as_str() };
        body.percent("percent_bps", percent);
        if self.by_amount && self.amount.is_empty() {
            body.faults.add("amount", "Enter the amount of the discount.");
        }
        if !self.by_amount && self.percent_bps.is_empty() {
            body.faults.add("percent_bps", "Enter the percentage of the discount.");
        }
        body.text("team_id", &self.team_id);
        body.timestamp("valid_from", &self.valid_from, zone);
        body.timestamp("valid_until", &self.valid_until, zone);
        body.number("max_uses", &self.max_uses);
        body.number("max_uses_per_buyer", &self.max_uses_per_buyer);
        body
    }
}

#[derive(Template)]
#[template(path = "shop/code_form.html")]
struct CodeFormPage {
    frame: Frame,
    input: CodeForm,
    faults: Faults,
    nonce: String,
    /// The code to edit; `None` for a new one.
    code: Option<Discount>,
    teams: Vec<(TeamId, String)>,
    zone: Zone,
}

impl CodeFormPage {
    fn is_archived(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.status == Status::Archived)
    }
}

async fn show_form(
    visitor: &AdminVisitor,
    input: CodeForm,
    faults: Faults,
    nonce: String,
    code: Option<Discount>,
) -> PageResult<Response> {
    let load = |db: &Reader<'_>| {
        Ok((team_options(db, &TeamAccess::AllTeams)?, account::find(db)?.timezone))
    };
    let (teams, zone) = visitor.read(load).await?;
    let (status, title) = (form_status(&faults), code.as_ref().map(|code| code.code.clone()));
    let frame = match title {
        Some(title) => visitor.frame(title, Section::Store),
        None => visitor.frame("New discount code", Section::Store),
    };
    render(status, &CodeFormPage { frame, input, faults, nonce, code, teams, zone })
}

/// The account's currency and time zone.
async fn account_defaults(visitor: &AdminVisitor) -> Result<(Currency, Zone)> {
    visitor.read(|db| Ok((settings::load(db)?.currency, account::find(db)?.timezone))).await
}

pub(super) async fn new(visitor: AdminVisitor) -> PageResult<Response> {
    let (currency, _) = account_defaults(&visitor).await?;
    let input = CodeForm { currency: currency.code().to_owned(), ..CodeForm::default() };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, input, Faults::default(), nonce, None).await
}

pub(super) async fn create(
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult<Response> {
    let (input, nonce) = (CodeForm::read(&form), parse_nonce(&form)?);
    let (_, zone) = account_defaults(&visitor).await?;
    let new: NewDiscount = match input.to_body(&zone).finish() {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, input, faults, nonce.value, None).await,
    };
    let create = |tx: &Tx<'_>| discount::create(tx, new).map(|code| code.id.to_string());
    match run_once(&visitor, nonce.clone(), create).await.map(submitted_id) {
        Ok(_) => Ok(see_other(&format!("{LIST}?done=made"))),
        Err(error) if is_form_error(&error) => {
            show_form(&visitor, input, map_faults(&error), nonce.value, None).await
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn edit(
    visitor: AdminVisitor,
    PathParams(id): PathParams<DiscountId>,
) -> PageResult<Response> {
    let code = visitor.read(move |db| discount::find(db, id)).await?;
    let (currency, zone) = account_defaults(&visitor).await?;
    let input = CodeForm::from_code(&code, currency, &zone);
    show_form(&visitor, input, Faults::default(), String::new(), Some(code)).await
}

pub(super) async fn save(
    PathParams(id): PathParams<DiscountId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult<Response> {
    let before = visitor.read(move |db| discount::find(db, id)).await?;
    let (mut input, (currency, zone)) = (CodeForm::read(&form), account_defaults(&visitor).await?);
    let current = CodeForm::from_code(&before, currency, &zone).fingerprint;
    if input.fingerprint != current {
        input.fingerprint = current;
        let faults = Faults::edit_conflict();
        return show_form(&visitor, input, faults, String::new(), Some(before)).await;
    }
    let parsed: std::result::Result<DiscountChange, Faults> = input.to_body(&zone).finish();
    let faults = match parsed {
        Err(faults) => faults,
        Ok(change) => {
            let save = move |tx: &Tx<'_>| discount::change(tx, id, &IfMatch::Absent, change);
            match visitor.write(save).await {
                Ok(_) => return Ok(see_other(&format!("{LIST}?done=saved"))),
                Err(error) if is_form_error(&error) => map_faults(&error),
                Err(error) => return Err(error.into()),
            }
        }
    };
    show_form(&visitor, input, faults, String::new(), Some(before)).await
}
