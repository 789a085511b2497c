//! The form of a discount code.

use askama::Template;
use axum::response::Response;
use kit::{Currency, Money, Zone};
use store::{Reader, Tx};

use super::sheet::{self, Sheet};
use super::{Keeper, Sent, do_once, is_fault, made, percent, placed, show, status, teams};
use crate::accounts::account;
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::{DiscountId, TeamId};
use crate::money::settings;
use crate::shop::discount::{self, Discount, DiscountChange, NewDiscount, Status};
use crate::web::form::{Faults, Form, mark};
use crate::web::once::{new_nonce, nonce};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

const LIST: &str = "/admin/store/codes";

/// What was typed.
#[derive(Debug, Default)]
struct Typed {
    code: String,
    /// Whether it takes off an amount, not a part.
    by_amount: bool,
    amount: String,
    currency: String,
    percent_bp: String,
    team_id: String,
    least_subtotal: String,
    valid_from: String,
    valid_until: String,
    most_uses: String,
    most_uses_each: String,
    /// Stands for everything above as it was shown.
    shown: String,
}

impl Typed {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            code: text("code"),
            by_amount: form.text("kind") == "amount",
            amount: text("amount"),
            currency: text("currency").to_uppercase(),
            percent_bp: text("percent_bp"),
            team_id: text("team_id"),
            least_subtotal: text("least_subtotal"),
            valid_from: text("valid_from"),
            valid_until: text("valid_until"),
            most_uses: text("most_uses"),
            most_uses_each: text("most_uses_each"),
            shown: text("shown"),
        }
    }

    fn of(code: &Discount, usual: Currency, zone: &Zone) -> Self {
        let currency = code.currency.unwrap_or(usual);
        let bare = |minor: Option<i64>| {
            minor.map(|minor| Money { minor, currency }.plain()).unwrap_or_default()
        };
        let count = |count: Option<i64>| count.map(|count| count.to_string()).unwrap_or_default();
        let typed = Self {
            code: code.code.clone(),
            by_amount: code.amount.is_some(),
            amount: bare(code.amount),
            currency: currency.code().to_owned(),
            percent_bp: code.percent_bp.map(percent).unwrap_or_default(),
            team_id: code.team_id.map(|team| team.to_string()).unwrap_or_default(),
            least_subtotal: bare(code.least_subtotal),
            valid_from: sheet::local(code.valid_from, zone),
            valid_until: sheet::local(code.valid_until, zone),
            most_uses: count(code.most_uses),
            most_uses_each: count(code.most_uses_each),
            shown: String::new(),
        };
        Self { shown: mark(&typed), ..typed }
    }

    fn is_of(&self, team: &TeamId) -> bool {
        self.team_id == team.to_string()
    }

    fn sheet(&self, zone: &Zone) -> Sheet {
        let mut sheet = Sheet::default();
        sheet.required("code", &self.code, "Say what people type.");
        let currency: Option<Currency> = self.currency.parse().ok();
        let reckoned = self.by_amount || !self.least_subtotal.is_empty();
        match currency {
            Some(currency) => {
                let amount = if self.by_amount { self.amount.as_str() } else { "" };
                sheet.money("amount", amount, currency);
                sheet.money("least_subtotal", &self.least_subtotal, currency);
                sheet.set("currency", Some(currency.code()).filter(|_| reckoned));
            }
            None if reckoned => {
                let wrong = "Write the three letters of a currency, such as EUR.";
                sheet.faults.add("currency", wrong);
            }
            None => {}
        }
        let part = if self.by_amount { "" } else { self.percent_bp.as_str() };
        sheet.percent("percent_bp", part);
        if self.by_amount && self.amount.is_empty() {
            sheet.faults.add("amount", "Say how much it takes off.");
        }
        if !self.by_amount && self.percent_bp.is_empty() {
            sheet.faults.add("percent_bp", "Say how much it takes off.");
        }
        sheet.text("team_id", &self.team_id);
        sheet.moment("valid_from", &self.valid_from, zone);
        sheet.moment("valid_until", &self.valid_until, zone);
        sheet.number("most_uses", &self.most_uses);
        sheet.number("most_uses_each", &self.most_uses_each);
        sheet
    }
}

#[derive(Template)]
#[template(path = "shop/code_form.html")]
struct FormPage {
    frame: Frame,
    typed: Typed,
    faults: Faults,
    nonce: String,
    /// The code that is changed; none for a new one.
    code: Option<Discount>,
    teams: Vec<(TeamId, String)>,
    zone: Zone,
}

impl FormPage {
    fn is_archived(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.status == Status::Archived)
    }
}

async fn show_form(
    visitor: &Keeper,
    typed: Typed,
    faults: Faults,
    nonce: String,
    code: Option<Discount>,
) -> Outcome<Response> {
    let look = |db: &Reader<'_>| Ok((teams(db, &Reach::Everywhere)?, account::find(db)?.timezone));
    let (teams, zone) = visitor.read(look).await?;
    let (word, title) = (status(&faults), code.as_ref().map(|code| code.code.clone()));
    let frame = match title {
        Some(title) => visitor.frame(title, Section::Store),
        None => visitor.frame("New code", Section::Store),
    };
    show(word, &FormPage { frame, typed, faults, nonce, code, teams, zone })
}

async fn usual(visitor: &Keeper) -> Result<(Currency, Zone)> {
    visitor.read(|db| Ok((settings::of(db)?.currency, account::find(db)?.timezone))).await
}

pub(super) async fn new(visitor: Keeper) -> Outcome<Response> {
    let (currency, _) = usual(&visitor).await?;
    let typed = Typed { currency: currency.code().to_owned(), ..Typed::default() };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, typed, Faults::default(), nonce, None).await
}

pub(super) async fn create(Sent { visitor, form }: Sent) -> Outcome<Response> {
    let (typed, nonce) = (Typed::read(&form), nonce(&form)?);
    let (_, zone) = usual(&visitor).await?;
    let new: NewDiscount = match typed.sheet(&zone).finish() {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, typed, faults, nonce.name, None).await,
    };
    let make = |tx: &Tx<'_>| discount::create(tx, new).map(|code| code.id.to_string());
    match do_once(&visitor, nonce.clone(), make).await.map(made) {
        Ok(_) => Ok(see_other(&format!("{LIST}?done=made"))),
        Err(error) if is_fault(&error) => {
            show_form(&visitor, typed, placed(&error), nonce.name, None).await
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn edit(visitor: Keeper, At(id): At<DiscountId>) -> Outcome<Response> {
    let code = visitor.read(move |db| discount::find(db, id)).await?;
    let (currency, zone) = usual(&visitor).await?;
    let typed = Typed::of(&code, currency, &zone);
    show_form(&visitor, typed, Faults::default(), String::new(), Some(code)).await
}

pub(super) async fn save(
    At(id): At<DiscountId>,
    Sent { visitor, form }: Sent,
) -> Outcome<Response> {
    let before = visitor.read(move |db| discount::find(db, id)).await?;
    let (mut typed, (currency, zone)) = (Typed::read(&form), usual(&visitor).await?);
    let now = Typed::of(&before, currency, &zone).shown;
    if typed.shown != now {
        typed.shown = now;
        let faults = Faults::changed_meanwhile();
        return show_form(&visitor, typed, faults, String::new(), Some(before)).await;
    }
    let wanted: std::result::Result<DiscountChange, Faults> = typed.sheet(&zone).finish();
    let faults = match wanted {
        Err(faults) => faults,
        Ok(change) => {
            let save = move |tx: &Tx<'_>| discount::change(tx, id, &Expected::Anything, change);
            match visitor.write(save).await {
                Ok(_) => return Ok(see_other(&format!("{LIST}?done=saved"))),
                Err(error) if is_fault(&error) => placed(&error),
                Err(error) => return Err(error.into()),
            }
        }
    };
    show_form(&visitor, typed, faults, String::new(), Some(before)).await
}
