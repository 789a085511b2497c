//! The rows of the form of a product: its sizes or colours.

use kit::{Currency, Money};
use serde_json::Value;

use super::sheet::{self, Sheet};
use crate::shop::variant::Variant;
use crate::web::form::{Faults, Form};

/// A size or colour as it was typed.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) price: String,
    pub(super) stock: String,
    /// What was left when the form was shown.
    pub(super) was: String,
}

impl Row {
    pub(super) fn read(form: &Form, place: usize) -> Option<Self> {
        let text = |name: &str| form.text(&format!("variants-{place}-{name}")).to_owned();
        form.get(&format!("variants-{place}-name"))?;
        Some(Self {
            id: text("id"),
            name: text("name"),
            price: text("price"),
            stock: text("stock"),
            was: text("was"),
        })
    }

    pub(super) fn of(variant: &Variant, currency: Currency) -> Self {
        let price = variant.price.map(|minor| Money { minor, currency }.plain());
        let stock = written(variant.stock);
        Self {
            id: variant.id.to_string(),
            name: variant.name.clone(),
            price: price.unwrap_or_default(),
            was: stock.clone(),
            stock,
        }
    }

    /// Whether there is anything: a size whose name was taken away is sold no longer.
    pub(super) fn is_there(&self) -> bool {
        let new = self.id.is_empty() && !(self.price.is_empty() && self.stock.is_empty());
        new || !self.name.is_empty()
    }

    pub(super) fn body(&self, place: usize, currency: Currency, faults: &mut Faults) -> Value {
        let at = |name: &str| format!("variants-{place}-{name}");
        let mut sheet = Sheet::default();
        if self.name.is_empty() {
            faults.add(&at("name"), "Say which size or colour this is.");
        }
        if !self.id.is_empty() {
            sheet.set("id", self.id.as_str());
        }
        sheet.text("name", &self.name);
        sheet.read("price", &at("price"), &self.price, |text| sheet::amount(text, currency));
        if self.id.is_empty() || self.stock != self.was {
            sheet.read("stock", &at("stock"), &self.stock, sheet::whole);
        }
        let (body, own) = sheet.into_members();
        for name in ["price", "stock"].map(at) {
            if !own.at(&name).is_empty() {
                faults.add(&name, own.at(&name));
            }
        }
        body
    }
}

/// A number as a form shows it; empty for none.
pub(super) fn written(stock: Option<i64>) -> String {
    stock.map(|stock| stock.to_string()).unwrap_or_default()
}
