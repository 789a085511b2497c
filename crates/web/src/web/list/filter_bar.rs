//! The filters above a list. They are declared once, in a [`FilterBar`], which shows and reads them.

use std::str::FromStr;

use askama::Template;
use askama::filters::HtmlSafe;

use crate::web::form::Form;
use crate::web::sentence::Label;

/// The filters of a list: their fields, and the query that was submitted.
#[derive(Template, Debug, Default)]
#[template(path = "list/filters.html")]
#[must_use]
pub struct FilterBar {
    query: Form,
    fields: Vec<Field>,
    /// The URL of the list without filters, if the bar links to it.
    clear: String,
}

#[derive(Debug)]
struct Field {
    /// The parameter in the URL.
    name: &'static str,
    label: &'static str,
    /// The type of the input; `select` for a choice.
    kind: &'static str,
    /// The values and labels of a choice.
    options: Vec<(String, String)>,
    error: &'static str,
}

impl HtmlSafe for FilterBar {}

impl FilterBar {
    pub fn new(query: &Form) -> Self {
        Self { query: query.clone(), ..Self::default() }
    }

    /// Adds an input: `text`, `search` or `date`. A `hidden` one is set by links and kept when others change.
    pub fn input(self, name: &'static str, label: &'static str, kind: &'static str) -> Self {
        self.field(Field { name, label, kind, options: Vec::new(), error: "" })
    }

    /// Adds an input for a date, with the error of the submitted one.
    pub fn date(self, name: &'static str, label: &'static str, error: &'static str) -> Self {
        self.field(Field { name, label, kind: "date", options: Vec::new(), error })
    }

    /// Adds a choice. `any` is the label of the choice that does not filter.
    pub fn select<V: ToString, L: Label>(
        self,
        name: &'static str,
        label: &'static str,
        any: &'static str,
        options: impl IntoIterator<Item = (V, L)>,
    ) -> Self {
        let bar = self.field(Field {
            name,
            label,
            kind: "select",
            options: vec![(String::new(), any.into_text())],
            error: "",
        });
        bar.options(name, options)
    }

    /// Adds a choice whose options are added later, because the rows are read before them.
    pub fn select_later(self, name: &'static str, label: &'static str, any: &'static str) -> Self {
        self.select(name, label, any, [("", ""); 0])
    }

    /// Adds options to a choice.
    pub fn options<V: ToString, L: Label>(
        mut self,
        name: &str,
        options: impl IntoIterator<Item = (V, L)>,
    ) -> Self {
        let options =
            options.into_iter().map(|(value, label)| (value.to_string(), label.into_text()));
        if let Some(field) = self.fields.iter_mut().find(|field| field.name == name) {
            field.options.extend(options);
        }
        self
    }

    fn field(mut self, field: Field) -> Self {
        self.fields.push(field);
        self
    }

    /// Adds a link that removes all filters.
    pub fn clear(self, clear: &str) -> Self {
        Self { clear: clear.to_owned(), ..self }
    }

    /// The value of a filter. Empty if it is not set.
    pub fn text(&self, name: &str) -> &str {
        debug_assert!(
            self.fields.iter().any(|field| field.name == name),
            "{name} is not a filter of this list"
        );
        self.query.text(name)
    }

    /// The value of a filter, such as an id. `None` if it is not set or invalid.
    pub fn value<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).parse().ok()
    }

    /// The text that somebody searches for.
    pub fn search(&self, name: &str) -> Option<String> {
        Some(self.text(name).to_owned()).filter(|text| !text.is_empty())
    }

    /// Whether any filter is set.
    pub fn is_active(&self) -> bool {
        self.pairs().next().is_some()
    }

    /// The names and values of the filters that are set.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.fields.iter().filter_map(|field| Some((field.name, self.query.optional(field.name)?)))
    }

    /// The icon of the button.
    fn icon(&self) -> &'static str {
        let searches = |field: &Field| ["search", "date"].contains(&field.kind);
        if self.fields.iter().any(searches) { "search" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_and_shown() {
        let query = Form::parse(b"q=+a%22+&team=2&payer=per_1&cursor=x").unwrap();
        let bar = FilterBar::new(&query)
            .input("q", "Name", "search")
            .select("state", "Status", "All", [("open", "Open")])
            .select_later("team", "Team", "Any")
            .input("payer", "", "hidden")
            .options("team", [(1, "U10"), (2, "U12")]);
        let pairs: Vec<_> = bar.pairs().collect();
        assert_eq!(pairs, [("q", "a\""), ("team", "2"), ("payer", "per_1")]);
        assert_eq!((bar.value::<i64>("team"), bar.value::<i64>("q")), (Some(2), None));
        assert_eq!((bar.search("q").as_deref(), bar.search("state")), (Some("a\""), None));
        let html = bar.clear("/list").to_string();
        for part in [
            "<form class=\"filters\" method=\"get\" role=\"search\">",
            "type=\"search\" value=\"a&#34;\"",
            "<option value=\"\" selected>All</option><option value=\"open\">Open</option>",
            "<option value=\"1\">U10</option><option value=\"2\" selected>U12</option>",
            "<input type=\"hidden\" name=\"payer\" value=\"per_1\">",
            "href=\"/list\">Clear</a>",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }
}
