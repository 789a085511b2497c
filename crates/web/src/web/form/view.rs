//! Shows a form: its fields with labels, hints, values and errors.

use askama::Template;
use askama::filters::HtmlSafe;

use super::FilledForm;
use super::field::{Choice, Field, Kind, Rows};
use super::filled::row_name;
use crate::web::page::Frame;

/// A field as it is shown.
#[derive(Template)]
#[template(path = "form/field.html")]
pub(super) struct FieldView<'a> {
    form: &'a FilledForm,
    field: &'static Field,
    /// The number of its row, for a field in a row.
    row: Option<usize>,
}

impl HtmlSafe for FieldView<'_> {}

/// An option as it is shown.
struct ChoiceView<'a> {
    value: &'a str,
    label: String,
    about: String,
    chosen: bool,
    /// Whether it hides the fields that apply to the other options.
    hides: bool,
    /// The fields that apply only to this option.
    dependents: Vec<FieldView<'a>>,
}

/// The hidden fields of a form: CSRF token, nonce, version and fingerprint.
#[derive(Template)]
#[template(
    source = r#"<input type="hidden" name="csrf" value="{{ csrf }}">{% for (name, value) in hidden %}<input type="hidden" name="{{ name }}" value="{{ value }}">{% endfor %}"#,
    ext = "html"
)]
pub struct HiddenFields<'a> {
    csrf: &'a str,
    hidden: &'a [(&'static str, String)],
}

impl HtmlSafe for HiddenFields<'_> {}

/// The box above a form that was rejected.
#[derive(Template)]
#[template(path = "form/note.html")]
pub struct Rejection<'a> {
    form: &'a FilledForm,
    title: &'static str,
}

impl HtmlSafe for Rejection<'_> {}

/// All fields of a form.
#[derive(Template)]
#[template(source = "{% for field in fields %}{{ field }}\n{% endfor %}", ext = "html")]
pub struct AllFields<'a> {
    fields: Vec<FieldView<'a>>,
}

impl HtmlSafe for AllFields<'_> {}

impl FilledForm {
    /// The hidden fields, first in every `<form>`.
    pub fn start<'a>(&'a self, frame: &'a Frame) -> HiddenFields<'a> {
        HiddenFields { csrf: &frame.csrf, hidden: &self.hidden }
    }

    /// The box that says that nothing was saved, and why. Empty if the form has no errors.
    pub fn note(&self, title: &'static str) -> Rejection<'_> {
        Rejection { form: self, title }
    }

    /// All fields. Fields that depend on another one are shown with it.
    pub fn all_fields(&self) -> AllFields<'_> {
        AllFields { fields: self.views(self.fields) }
    }

    /// One field, with those that depend on it.
    pub fn field(&self, name: &str) -> AllFields<'_> {
        let fields = self.fields.iter().flat_map(Field::with_inner);
        let fields = fields.filter(|field| field.name == name && !self.is_removed(field));
        AllFields { fields: fields.map(|field| self.view(field)).collect() }
    }

    /// Whether one of these fields has an error.
    pub fn has_error(&self, fields: &[&str]) -> bool {
        fields.iter().any(|name| !self.faults.at(name).is_empty())
    }

    /// The label of an option of a field.
    pub fn option_label(&self, name: &str, value: &str) -> Option<String> {
        let mut fields = self.fields.iter().flat_map(Field::with_inner);
        let field = fields.find(|field| field.name == name)?;
        let choices = self.view(field).choices();
        choices.into_iter().find(|choice| choice.value == value).map(|choice| choice.label)
    }

    fn views(&self, fields: &'static [Field]) -> Vec<FieldView<'_>> {
        let shown = fields.iter().filter(|field| field.when.is_none() && !self.is_removed(field));
        shown.map(|field| self.view(field)).collect()
    }

    fn view(&self, field: &'static Field) -> FieldView<'_> {
        FieldView { form: self, field, row: None }
    }
}

impl<'a> FieldView<'a> {
    fn name(&self) -> String {
        self.row.map_or_else(|| self.field.name.to_owned(), |row| row_name(self.field, row))
    }

    fn label(&self) -> String {
        self.form.fill(self.field.label, self.row)
    }

    fn hint(&self) -> String {
        self.form.fill(self.field.hint, self.row).trim().to_owned()
    }

    /// The explanation of a checkbox.
    fn about(&self) -> String {
        match self.field.kind {
            Kind::Check(about) => self.form.fill(about, None),
            _ => String::new(),
        }
    }

    fn error(&self) -> String {
        self.form.faults.at(&self.name()).to_owned()
    }

    fn value(&self) -> String {
        match self.field.kind {
            Kind::Line("password") | Kind::File => String::new(),
            Kind::Block => self.form.values.get(self.field.name).unwrap_or_default().to_owned(),
            Kind::Currency => self.form.text(self.field.name).to_uppercase(),
            _ => self.form.text(&self.name()).to_owned(),
        }
    }

    fn is_checked(&self) -> bool {
        self.form.is_checked(self.field.name)
    }

    /// The `type` of the input.
    fn input_type(&self) -> &'static str {
        match self.field.kind {
            Kind::Line(input) => input,
            Kind::File => "file",
            Kind::Day => "date",
            Kind::LocalTime => "datetime-local",
            _ => "text",
        }
    }

    /// Whether the browser requires a value. Not for fields that may be hidden.
    fn is_required(&self) -> bool {
        let name = self.field.name;
        let has_condition = |field: &&Field| field.when.is_some();
        let mut conditional = self.form.fields.iter().filter(has_condition);
        let is_hidden = conditional.any(|group| group.with_inner().iter().any(|f| f.name == name));
        self.field.required.is_some() && !is_hidden && self.row.is_none()
    }

    fn attributes(&self) -> String {
        let mode = match self.field.kind {
            Kind::Amount(_) | Kind::Percent(..) | Kind::AmountOrPercent(..) => "inputmode=decimal",
            Kind::Number(..) => "inputmode=numeric",
            _ => "",
        };
        let max = match self.field.max {
            0 => String::new(),
            max => format!("maxlength={max}"),
        };
        let all = [mode, &max, self.field.attributes];
        all.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The fields that depend on this one, with the values for which they apply.
    fn dependents(&self) -> impl Iterator<Item = (&'static [&'static str], FieldView<'a>)> {
        let (form, name) = (self.form, self.field.name);
        let all = form.fields.iter().flat_map(Field::with_inner);
        all.filter(|field| !form.is_removed(field)).filter_map(move |field| {
            let (control, values) = field.when?;
            (control == name).then(|| (values, form.view(field)))
        })
    }

    /// The dependent fields that are shown below all options.
    fn shared_dependents(&self) -> Vec<FieldView<'a>> {
        let is_select = matches!(self.field.kind, Kind::Select(_));
        let shared = self.dependents().filter(|(values, _)| is_select || values.len() > 1);
        shared.map(|(_, view)| view).collect()
    }

    fn choices(&self) -> Vec<ChoiceView<'a>> {
        let (Kind::Select(choices) | Kind::Radio(choices) | Kind::Checks(choices)) =
            self.field.kind
        else {
            return Vec::new();
        };
        let fill = |text: &'static str| self.form.fill(text, None);
        let declared = choices
            .iter()
            .map(|Choice { value, label, about }| self.choice(value, fill(label), fill(about)));
        let added = self.form.options.get(self.field.name).into_iter().flatten();
        let added =
            added.map(|(value, label, about)| self.choice(value, label.clone(), about.clone()));
        declared.chain(added).collect()
    }

    fn choice(&self, value: &'a str, label: String, about: String) -> ChoiceView<'a> {
        let chosen = match self.field.kind {
            Kind::Checks(_) => self.form.all(self.field.name).contains(&value),
            _ => self.form.text(self.field.name) == value,
        };
        let is_select = matches!(self.field.kind, Kind::Select(_));
        let shared = |values: &[&str]| is_select || values.len() > 1;
        let hides = self.dependents().any(|(all, _)| shared(all) && !all.contains(&value));
        let own = self.dependents().filter(|(all, _)| !shared(all) && all.contains(&value));
        let dependents = own.map(|(_, view)| view).collect();
        ChoiceView { value, label, about, chosen, hides, dependents }
    }

    /// The fields of a group.
    fn inner(&self) -> Vec<FieldView<'a>> {
        match self.field.kind {
            Kind::Group(inner) => self.form.views(inner),
            _ => Vec::new(),
        }
    }

    /// The rows to show: the filled ones and some empty ones.
    fn row_views(&self, rows: &Rows) -> Vec<Vec<FieldView<'a>>> {
        let filled = self.form.filled_rows(rows).len();
        let count = (filled + rows.empty).max(rows.min);
        let count = if rows.min > 0 { count.min(rows.max) } else { count };
        let row = |number: usize| {
            let is_new = number >= rows.first + filled;
            let fields = rows.fields.iter();
            let fields = fields.filter(|field| !(is_new && matches!(field.kind, Kind::Hidden)));
            fields.map(|field| FieldView { form: self.form, field, row: Some(number) }).collect()
        };
        (rows.first..rows.first + count).map(row).collect()
    }

    fn html(&self) -> &'a str {
        self.form.slots.get(self.field.name).map_or("", String::as_str)
    }
}
