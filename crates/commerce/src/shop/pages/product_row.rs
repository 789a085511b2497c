//! The variant rows of the product form.

use kit::{Currency, Money};
use serde_json::Value;

use super::form_body::{self, FormBody};
use crate::shop::variant::Variant;
use crate::web::form::{Faults, Form};

/// A variant row as submitted.
#[derive(Debug, Default)]
pub(super) struct VariantRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) price: String,
    pub(super) stock: String,
    /// The stock when the form was shown.
    pub(super) shown_stock: String,
}

impl VariantRow {
    pub(super) fn read(form: &Form, index: usize) -> Option<Self> {
        let text = |name: &str| form.text(&format!("variants-{index}-{name}")).to_owned();
        form.get(&format!("variants-{index}-name"))?;
        Some(Self {
            id: text("id"),
            name: text("name"),
            price: text("price"),
            stock: text("stock"),
            shown_stock: text("was"),
        })
    }

    pub(super) fn from_variant(variant: &Variant, currency: Currency) -> Self {
        let price = variant.price.map(|minor| Money { minor, currency }.format_amount());
        let stock = format_stock(variant.stock);
        Self {
            id: variant.id.to_string(),
            name: variant.name.clone(),
            price: price.unwrap_or_default(),
            shown_stock: stock.clone(),
            stock,
        }
    }

    /// Whether the row describes a variant. An existing variant whose name was cleared is archived.
    pub(super) fn is_filled(&self) -> bool {
        let new = self.id.is_empty() && !(self.price.is_empty() && self.stock.is_empty());
        new || !self.name.is_empty()
    }

    pub(super) fn to_body(&self, index: usize, currency: Currency, faults: &mut Faults) -> Value {
        let field = |name: &str| format!("variants-{index}-{name}");
        let mut body = FormBody::default();
        if self.name.is_empty() {
            faults.add(&field("name"), "Enter a size or color.");
        }
        if !self.id.is_empty() {
            body.set("id", self.id.as_str());
        }
        body.text("name", &self.name);
        body.parse_field("price", &field("price"), &self.price, |text| {
            form_body::parse_amount(text, currency)
        });
        if self.id.is_empty() || self.stock != self.shown_stock {
            body.parse_field("stock", &field("stock"), &self.stock, form_body::parse_whole_number);
        }
        let (body, own) = body.into_parts();
        for name in ["price", "stock"].map(field) {
            if !own.at(&name).is_empty() {
                faults.add(&name, own.at(&name));
            }
        }
        body
    }
}

/// Formats an optional number for a form; empty for `None`.
pub(super) fn format_stock(stock: Option<i64>) -> String {
    stock.map(|stock| stock.to_string()).unwrap_or_default()
}
