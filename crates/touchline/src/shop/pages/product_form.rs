//! The form of a product: what was typed, what is wrong with it, and what comes of it.

use std::borrow::Borrow;

use askama::Template;
use axum::response::Response;
use kit::word::Word;
use kit::{Currency, Money, Zone};
use serde_json::Value;
use store::{Reader, Tx};

use super::product_row::{Row, written};
use super::sheet::{self, Sheet};
use super::shown::BUYERS;
use super::{Keeper, Sent, do_once, is_fault, made, named, placed, seller, show, status, teams};
use crate::accounts::account;
use crate::accounts::rights::Reach;
use crate::error::{Code, Result};
use crate::expected::Expected;
use crate::ids::{ProductId, TeamId};
use crate::money::settings;
use crate::shop::product::{self, Buyers, NewProduct, Product, ProductChange, Status};
use crate::shop::variant;
use crate::web::form::{Faults, Form, mark};
use crate::web::once::{new_nonce, nonce};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

/// So many empty rows for sizes stand below those that are filled.
const MORE: usize = 3;
const SOLD: &str = "Somebody bought it or changed it while you had it open. The numbers of what is left are as \
    they are now; look at them and save again.";

/// What was typed.
#[derive(Debug, Default)]
struct Typed {
    name: String,
    description: String,
    team_id: String,
    currency: String,
    price: String,
    tax_rate_bp: String,
    /// Where the tax is: `none`, `yes` for included, `no` for added.
    tax: String,
    /// Whether it comes in sizes or colours.
    sized: bool,
    stock: String,
    was: String,
    on_sale_from: String,
    on_sale_until: String,
    buyers: String,
    most_per_order: String,
    pick_up_on: String,
    external_id: String,
    version: String,
    /// What the form showed, beside what is left.
    shown: String,
    rows: Vec<Row>,
}

impl Typed {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        let rows = (0..variant::MOST + MORE).map_while(|place| Row::read(form, place));
        let rows: Vec<_> = rows.filter(Row::is_there).collect();
        Self {
            name: text("name"),
            description: text("description"),
            team_id: text("team_id"),
            currency: text("currency").to_uppercase(),
            price: text("price"),
            tax_rate_bp: text("tax_rate_bp"),
            tax: form.maybe("tax_included").unwrap_or("yes").to_owned(),
            sized: match form.text("sized") {
                "no" => false,
                "yes" => true,
                _ => !rows.is_empty(),
            },
            stock: text("stock"),
            was: text("was"),
            on_sale_from: text("on_sale_from"),
            on_sale_until: text("on_sale_until"),
            buyers: text("buyers"),
            most_per_order: text("most_per_order"),
            pick_up_on: text("pick_up_on"),
            external_id: text("external_id"),
            version: text("version"),
            shown: text("shown"),
            rows,
        }
    }

    fn of(product: &Product, zone: &Zone) -> Self {
        let Product { kept, variants } = product;
        let currency = kept.currency;
        let typed = Self {
            name: kept.name.clone(),
            description: kept.description.clone().unwrap_or_default(),
            team_id: String::new(),
            currency: currency.code().to_owned(),
            price: Money { minor: kept.price, currency }.plain(),
            tax_rate_bp: match kept.tax_rate_bp {
                0 => String::new(),
                points => super::percent(points),
            },
            tax: match (kept.tax_rate_bp, kept.tax_included) {
                (0, _) => "none",
                (_, true) => "yes",
                (_, false) => "no",
            }
            .to_owned(),
            sized: !variants.is_empty(),
            stock: written(kept.stock),
            was: written(kept.stock),
            on_sale_from: sheet::local(kept.on_sale_from, zone),
            on_sale_until: sheet::local(kept.on_sale_until, zone),
            buyers: kept.buyers.word().to_owned(),
            most_per_order: written(kept.most_per_order),
            pick_up_on: kept.pick_up_on.map(|day| day.to_string()).unwrap_or_default(),
            external_id: kept.external_id.clone().unwrap_or_default(),
            version: kept.version.to_string(),
            shown: String::new(),
            rows: variants.iter().map(|variant| Row::of(variant, currency)).collect(),
        };
        Self { shown: typed.mark(), ..typed }
    }

    /// Stands for everything but what is left, which changes with every order: whoever saves must have seen it.
    fn mark(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(|row| (&row.id, &row.name, &row.price)).collect();
        let tax = (&self.tax_rate_bp, &self.tax);
        let sale = (&self.on_sale_from, &self.on_sale_until, &self.buyers, &self.pick_up_on);
        let named = (&self.name, &self.description, &self.price, &self.external_id);
        mark(&(named, tax, sale, &self.most_per_order, rows))
    }

    /// What is left as it is now, in place of what was left when the form was shown.
    fn renew(&mut self, product: &Product) {
        self.version = product.kept.version.to_string();
        self.stock = written(product.kept.stock);
        self.was.clone_from(&self.stock);
        for variant in &product.variants {
            let id = variant.id.to_string();
            if let Some(row) = self.rows.iter_mut().find(|row| row.id == id) {
                row.stock = written(variant.stock);
                row.was.clone_from(&row.stock);
            }
        }
    }

    /// Whether a number of what is left was changed: then it must still be what was shown.
    fn counts_anew(&self) -> bool {
        let rows = self.rows.iter().filter(|row| !row.id.is_empty());
        self.stock != self.was || rows.into_iter().any(|row| row.stock != row.was)
    }

    fn is_for(&self, word: &str) -> bool {
        self.buyers == word
    }

    fn is_of(&self, team: &TeamId) -> bool {
        self.team_id == team.to_string()
    }

    /// What the form says, as a body says it.
    fn sheet(&self, currency: Currency, zone: &Zone) -> Sheet {
        let mut sheet = Sheet::default();
        sheet.required("name", &self.name, "Give it a name.");
        sheet.text("description", &self.description);
        sheet.money("price", &self.price, currency);
        if self.price.is_empty() {
            sheet.faults.add("price", "Say what it costs; 0 if it is free.");
        }
        self.tax_into(&mut sheet);
        sheet.moment("on_sale_from", &self.on_sale_from, zone);
        sheet.moment("on_sale_until", &self.on_sale_until, zone);
        sheet.text("buyers", &self.buyers);
        sheet.number("most_per_order", &self.most_per_order);
        sheet.text("pick_up_on", &self.pick_up_on);
        sheet.text("external_id", &self.external_id);
        let rows = self.rows.iter().enumerate();
        let rows = rows.map(|(place, row)| row.body(place, currency, &mut sheet.faults));
        let rows: Vec<_> = rows.collect();
        if !self.sized && !rows.is_empty() {
            let wrong = "You filled in sizes, but chose that there are none. Clear their names, or choose “Yes”.";
            sheet.faults.add("variants", wrong);
        }
        if self.sized && rows.is_empty() {
            sheet.faults.add("variants", "Fill in at least one size, or choose “No”.");
        }
        sheet.set("variants", rows);
        if self.sized {
            sheet.set("stock", Value::Null);
            // What was counted before there were sizes goes; a new number would be lost without a word.
            if self.stock != self.was {
                let wrong = "Each size has its own number. Clear this one, or choose “No”.";
                sheet.faults.add("stock", wrong);
            }
        } else if self.version.is_empty() || self.stock != self.was {
            sheet.number("stock", &self.stock);
        }
        sheet
    }

    fn tax_into(&self, sheet: &mut Sheet) {
        let taxed = self.tax != "none";
        if !taxed && !matches!(self.tax_rate_bp.as_str(), "" | "0") {
            let wrong = "Clear the tax rate, or choose whether the tax is included or added.";
            sheet.faults.add("tax_rate_bp", wrong);
        }
        if taxed {
            sheet.percent("tax_rate_bp", &self.tax_rate_bp);
            sheet.set("tax_included", self.tax != "no");
        } else {
            sheet.set("tax_rate_bp", 0);
        }
    }

    fn is_taxed(&self, how: &str) -> bool {
        self.tax == how
    }

    /// The product that is meant, or everything that is wrong.
    fn product(&self, usual: Currency, zone: &Zone) -> std::result::Result<NewProduct, Faults> {
        let currency: Option<Currency> = self.currency.parse().ok();
        let mut sheet = self.sheet(currency.unwrap_or(usual), zone);
        if currency.is_none() {
            let wrong = "Write the three letters of a currency, such as EUR.";
            sheet.faults.add("currency", wrong);
        }
        sheet.set("currency", currency.unwrap_or(usual).code());
        sheet.text("team_id", &self.team_id);
        sheet.finish()
    }
}

#[derive(Template)]
#[template(path = "shop/product_form.html")]
struct FormPage {
    frame: Frame,
    typed: Typed,
    faults: Faults,
    nonce: String,
    /// The product that is changed, with who sells it; none for a new one.
    product: Option<(Product, String)>,
    teams: Vec<(TeamId, String)>,
    buyers: [(Buyers, &'static str, &'static str); 3],
    zone: Zone,
    empty: Vec<usize>,
}

impl FormPage {
    /// The name of a field of a row.
    fn at(place: impl Borrow<usize>, name: &str) -> String {
        format!("variants-{}-{name}", place.borrow())
    }

    /// What is wrong with a field of a row.
    fn wrong_at(&self, place: impl Borrow<usize>, name: &str) -> &str {
        self.faults.at(&Self::at(place, name))
    }

    fn is_archived(&self) -> bool {
        self.product.as_ref().is_some_and(|(product, _)| product.kept.status == Status::Archived)
    }
}

async fn show_form(
    visitor: &Keeper,
    typed: Typed,
    faults: Faults,
    nonce: String,
    product: Option<Product>,
) -> Outcome<Response> {
    let title =
        product.as_ref().map_or_else(|| "New product".into(), |p| p.kept.name.clone().into());
    let title: std::borrow::Cow<'static, str> = title;
    let look = move |db: &Reader<'_>| {
        let names = named(db, product.iter().map(|product| product.kept.team_id))?;
        let product = product.map(|product| {
            let seller = seller(&names, product.kept.team_id);
            (product, seller)
        });
        Ok((product, teams(db, &Reach::Everywhere)?, account::find(db)?.timezone))
    };
    let (product, teams, zone) = visitor.read(look).await?;
    let empty = (typed.rows.len()..typed.rows.len() + MORE).collect();
    let code = status(&faults);
    let frame = visitor.frame(title, Section::Store);
    let buyers = BUYERS;
    show(code, &FormPage { frame, typed, faults, nonce, product, teams, buyers, zone, empty })
}

/// The club's currency and the zone of its clocks.
async fn usual(visitor: &Keeper) -> Result<(Currency, Zone)> {
    visitor.read(|db| Ok((settings::of(db)?.currency, account::find(db)?.timezone))).await
}

pub(super) async fn new(visitor: Keeper) -> Outcome<Response> {
    let (currency, _) = usual(&visitor).await?;
    let typed = Typed {
        currency: currency.code().to_owned(),
        buyers: Buyers::Everyone.word().to_owned(),
        tax: "none".to_owned(),
        ..Typed::default()
    };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, typed, Faults::default(), nonce, None).await
}

pub(super) async fn create(Sent { visitor, form }: Sent) -> Outcome<Response> {
    let (typed, nonce) = (Typed::read(&form), nonce(&form)?);
    let (currency, zone) = usual(&visitor).await?;
    let new = match typed.product(currency, &zone) {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, typed, faults, nonce.name, None).await,
    };
    let make = |tx: &Tx<'_>| {
        product::create(tx, &Reach::Everywhere, new).map(|product| product.kept.id.to_string())
    };
    match do_once(&visitor, nonce.clone(), make).await.map(made) {
        Ok(_) => Ok(see_other("/admin/store?done=made")),
        Err(error) if is_fault(&error) => {
            show_form(&visitor, typed, placed(&error), nonce.name, None).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn found(visitor: &Keeper, id: ProductId) -> Result<Product> {
    visitor.read(move |db| product::find(db, &Reach::Everywhere, id)).await
}

pub(super) async fn edit(visitor: Keeper, At(id): At<ProductId>) -> Outcome<Response> {
    let product = found(&visitor, id).await?;
    let (_, zone) = usual(&visitor).await?;
    let typed = Typed::of(&product, &zone);
    show_form(&visitor, typed, Faults::default(), String::new(), Some(product)).await
}

pub(super) async fn save(At(id): At<ProductId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    let before = found(&visitor, id).await?;
    let mut typed = Typed::read(&form);
    let (_, zone) = usual(&visitor).await?;
    let wanted: std::result::Result<ProductChange, Faults> =
        typed.sheet(before.kept.currency, &zone).finish();
    let change = match wanted {
        Ok(change) => change,
        Err(faults) => {
            return show_form(&visitor, typed, faults, String::new(), Some(before)).await;
        }
    };
    let now = Typed::of(&before, &zone).shown;
    if typed.shown != now {
        typed.shown = now;
        let faults = Faults::changed_meanwhile();
        return show_form(&visitor, typed, faults, String::new(), Some(before)).await;
    }
    let shown: Option<i64> = typed.version.parse().ok();
    let expected = match shown {
        Some(version) if typed.counts_anew() => Expected::Versions(vec![version]),
        _ => Expected::Anything,
    };
    let save = move |tx: &Tx<'_>| product::change(tx, &Reach::Everywhere, id, &expected, change);
    let faults = match visitor.write(save).await {
        Ok(_) => return Ok(see_other("/admin/store?done=saved")),
        Err(error) if error.code == Code::PreconditionFailed => {
            let mut faults = Faults::default();
            faults.add("", SOLD);
            typed.renew(&found(&visitor, id).await?);
            faults
        }
        Err(error) if is_fault(&error) => placed(&error),
        Err(error) => return Err(error.into()),
    };
    show_form(&visitor, typed, faults, String::new(), Some(before)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Typed {
        Typed::read(&Form::parse(query.as_bytes()).unwrap())
    }

    fn euros() -> Currency {
        "EUR".parse().unwrap()
    }

    #[test]
    fn every_fault_stands_at_its_field() {
        let faults = read(
            "name=&price=cheap&currency=XTS&tax_rate_bp=200&on_sale_from=soon&pick_up_on=never&buyers=odd\
             &most_per_order=0&stock=-1&team_id=nobody&variants-0-name=&variants-0-price=1&variants-0-stock=x",
        )
        .product(euros(), &Zone::utc())
        .unwrap_err();
        for field in [
            "name",
            "price",
            "currency",
            "tax_rate_bp",
            "on_sale_from",
            "pick_up_on",
            "buyers",
            "most_per_order",
            "stock",
            "team_id",
            "variants-0-name",
            "variants-0-stock",
        ] {
            assert!(!faults.at(field).is_empty(), "{field}: {faults:?}");
        }
        assert!(faults.at("description").is_empty() && faults.at("variants-0-price").is_empty());
    }

    #[test]
    fn empty_rows_are_no_sizes_and_what_is_left_is_sent_only_if_it_was_changed() {
        let typed = read(
            "name=Kit&price=24,99&currency=eur&tax_rate_bp=7.5&tax_included=no&description=a%0d%0ab&version=3\
             &variants-0-name=M&variants-0-stock=4&variants-0-was=5&variants-0-id=var_x\
             &variants-1-name=&variants-1-price=&variants-1-stock=&variants-2-name=L&variants-2-price=30&variants-2-stock=\
             &variants-3-name=&variants-3-stock=7&variants-3-was=7&variants-3-id=var_y",
        );
        assert!(typed.counts_anew());
        let (body, faults) = typed.sheet(euros(), &Zone::utc()).into_members();
        assert!(faults.is_empty(), "{faults:?}");
        let members = body.as_object().unwrap();
        assert_eq!(
            (&members["price"], &members["tax_rate_bp"], &members["tax_included"]),
            (&2499.into(), &750.into(), &false.into())
        );
        assert_eq!(members["description"], "a\nb");
        assert_eq!(
            members["variants"],
            serde_json::json!([
            { "id": "var_x", "name": "M", "price": null, "stock": 4 }, { "name": "L", "price": 3000, "stock": null }])
        );
        let same = read(
            "version=3&variants-0-name=M&variants-0-stock=5&variants-0-was=5&variants-0-id=var_x",
        );
        assert!(!same.counts_anew());
        let (body, _) = same.sheet(euros(), &Zone::utc()).into_members();
        assert_eq!(body["variants"][0].get("stock"), None);
    }
}
