//! Declares the fields of a form. Labels, hints and errors are literals: they are translated when they are shown.

/// A field of a form, declared once: how it is shown, parsed and sent to the API.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) hint: &'static str,
    pub(super) kind: Kind,
    /// The name in the body of the API. Empty if the field is only for the page.
    pub(super) key: &'static str,
    /// Whether the field must be filled in, and the error if it is not.
    pub(super) required: Option<&'static str>,
    /// The value if none was sent.
    pub(super) default: &'static str,
    /// The maximum number of characters; 0 if only the API checks it.
    pub(super) max: usize,
    pub(super) autocomplete: &'static str,
    /// More attributes, such as `spellcheck=false`.
    pub(super) attributes: &'static str,
    /// The field applies if another field has one of these values.
    pub(super) when: Option<(&'static str, &'static [&'static str])>,
    /// The error for a value that does not apply. If empty, such a value is ignored.
    pub(super) rejection: &'static str,
    /// The hidden field with the value that was shown. An unchanged value is not sent to the API.
    pub(super) shown_in: &'static str,
    /// Whether the label is only for screen readers.
    pub(super) is_label_hidden: bool,
    /// Whether the field has the focus when the page opens.
    pub(super) has_focus: bool,
}

/// What a field contains.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// One line of text, with the `type` of the input.
    Line(&'static str),
    Block,
    /// An amount of money, and the least that can be entered.
    Amount(i64),
    /// Basis points, entered as a percentage from the first to the second number.
    Percent(i64, i64),
    /// An amount, or a percentage up to this number, depending on the value (`amount` or `percent`) of another field.
    AmountOrPercent(&'static str, i64),
    /// A whole number from the first to the second, and the error for anything else.
    Number(i64, i64, &'static str),
    Day,
    LocalTime,
    Currency,
    Select(&'static [Choice]),
    Radio(&'static [Choice]),
    Checks(&'static [Choice]),
    /// A checkbox, with its explanation.
    Check(&'static str),
    /// Several fields next to each other.
    Group(&'static [Field]),
    Rows(Rows),
    /// A place for HTML that the page renders.
    Slot,
    Hidden,
    /// A file. It is not part of the values: [`crate::web::upload_form`] receives it.
    File,
}

/// An option of a field.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    pub(super) value: &'static str,
    pub(super) label: &'static str,
    pub(super) about: &'static str,
}

impl Choice {
    pub const fn new(value: &'static str, label: &'static str) -> Self {
        Self { value, label, about: "" }
    }

    /// Adds an explanation.
    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}

/// Rows of the same fields. `{row}` in their names and labels is the number of the row.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    pub fields: &'static [Field],
    /// The number of the first row.
    pub first: usize,
    /// The minimum and maximum number of rows, and how many empty ones follow the filled ones.
    pub min: usize,
    pub max: usize,
    pub empty: usize,
    /// Shows the errors of a row above all rows, in a text with `{row}` and `{error}`. If empty, they are at the fields.
    pub error: &'static str,
    pub class: &'static str,
    pub row_class: &'static str,
}

/// Declares constructors of fields that have a name, a label and nothing else.
macro_rules! constructors {
    ($($(#[$doc:meta])* $constructor:ident = $base:ident($kind:expr);)+) => {$(
        $(#[$doc])*
        pub const fn $constructor(name: &'static str, label: &'static str) -> Self {
            Self::$base(name, label, $kind)
        }
    )+};
}

/// Declares methods that set one text of a field.
macro_rules! text_setters {
    ($($(#[$doc:meta])* $method:ident = $field:ident;)+) => {$(
        $(#[$doc])*
        pub const fn $method(self, $field: &'static str) -> Self {
            Self { $field, ..self }
        }
    )+};
}

impl Field {
    const fn new(name: &'static str, label: &'static str, kind: Kind) -> Self {
        Self {
            name,
            label,
            hint: "",
            kind,
            key: name,
            required: None,
            default: "",
            max: 0,
            autocomplete: "",
            attributes: "",
            when: None,
            rejection: "",
            shown_in: "",
            is_label_hidden: false,
            has_focus: false,
        }
    }

    const fn input(name: &'static str, label: &'static str, kind: Kind) -> Self {
        Self { autocomplete: "off", ..Self::new(name, label, kind) }
    }

    /// One line of text of at most `max` characters.
    pub const fn line(name: &'static str, label: &'static str, max: usize) -> Self {
        Self { max, ..Self::input(name, label, Kind::Line("text")) }
    }

    /// Text with several lines. If `max` is 0, only the API checks the length.
    pub const fn block(name: &'static str, label: &'static str, max: usize) -> Self {
        Self { max, ..Self::new(name, label, Kind::Block) }
    }

    pub const fn url(name: &'static str, label: &'static str, max: usize) -> Self {
        Self { max, ..Self::input(name, label, Kind::Line("url")) }
    }

    constructors! {
        email = input(Kind::Line("email"));
        password = input(Kind::Line("password"));
        /// A time of day, such as `18:30`.
        time = input(Kind::Line("time"));
        /// An amount greater than zero.
        amount = input(Kind::Amount(1));
        amount_or_zero = input(Kind::Amount(0));
        /// A whole number.
        number = input(Kind::Number(0, i64::MAX, mark!("Enter a whole number.")));
        day = new(Kind::Day);
        /// A date and time in the time zone of the form.
        local_time = new(Kind::LocalTime);
    }

    /// A percentage. `min` and `max` are in basis points.
    pub const fn percent(name: &'static str, label: &'static str, min: i64, max: i64) -> Self {
        Self::input(name, label, Kind::Percent(min, max))
    }

    /// An amount or a percentage, depending on whether the field `by` is `amount` or `percent`.
    pub const fn amount_or_percent(
        name: &'static str,
        label: &'static str,
        by: &'static str,
        max: i64,
    ) -> Self {
        Self::input(name, label, Kind::AmountOrPercent(by, max)).required("")
    }

    /// A whole number in a range, and the error for anything else.
    pub const fn number_from(
        name: &'static str,
        label: &'static str,
        (min, max): (i64, i64),
        error: &'static str,
    ) -> Self {
        Self::input(name, label, Kind::Number(min, max, error))
    }

    /// The currency of all amounts of the form. If it is optional, it is sent only together with an amount.
    pub const fn currency(name: &'static str, label: &'static str) -> Self {
        let field = Self::input(name, label, Kind::Currency);
        Self { max: 3, ..field }.attributes("autocapitalize=characters spellcheck=false")
    }

    /// A list to choose from. The page can add options.
    pub const fn select(
        name: &'static str,
        label: &'static str,
        choices: &'static [Choice],
    ) -> Self {
        Self::new(name, label, Kind::Select(choices))
    }

    /// Radio buttons. Fields that apply to one of them are shown below it.
    pub const fn radio(
        name: &'static str,
        label: &'static str,
        choices: &'static [Choice],
    ) -> Self {
        Self::new(name, label, Kind::Radio(choices))
    }

    /// Checkboxes; people can select several. If the label is empty, there is no heading.
    pub const fn checks(
        name: &'static str,
        label: &'static str,
        choices: &'static [Choice],
    ) -> Self {
        Self::new(name, label, Kind::Checks(choices))
    }

    /// One checkbox with an explanation.
    pub const fn check(name: &'static str, label: &'static str, about: &'static str) -> Self {
        Self::new(name, label, Kind::Check(about))
    }

    /// Fields next to each other, with a heading.
    pub const fn pair(legend: &'static str, fields: &'static [Self]) -> Self {
        Self { attributes: "pair", ..Self::new("", legend, Kind::Group(fields)) }
    }

    /// Like `pair`, with the inputs aligned at the top.
    pub const fn level_pair(legend: &'static str, fields: &'static [Self]) -> Self {
        Self { attributes: "pair level", ..Self::pair(legend, fields) }
    }

    /// Gives the field the focus when the page opens.
    pub const fn focused(self) -> Self {
        Self { has_focus: true, ..self }
    }

    /// Shows the label only to screen readers.
    pub const fn hide_label(self) -> Self {
        Self { is_label_hidden: true, ..self }
    }

    pub const fn rows(name: &'static str, legend: &'static str, rows: Rows) -> Self {
        Self::new(name, legend, Kind::Rows(rows))
    }

    /// A place for HTML that the page adds with `FilledForm::slot`.
    pub const fn slot(name: &'static str) -> Self {
        Self::new(name, "", Kind::Slot).page_only()
    }

    pub const fn hidden(name: &'static str) -> Self {
        Self::new(name, "", Kind::Hidden)
    }

    /// A file to upload, in a form with `enctype="multipart/form-data"`. The handler reads it, and reports its errors.
    pub const fn file(name: &'static str, label: &'static str) -> Self {
        Self::new(name, label, Kind::File).page_only()
    }

    /// Rejects an empty field with this error. If it is empty, the field reports what it expects.
    pub const fn required(self, error: &'static str) -> Self {
        Self { required: Some(error), ..self }
    }

    /// The field applies only if `field` has one of these values. Until then it is hidden.
    pub const fn when(self, field: &'static str, values: &'static [&'static str]) -> Self {
        Self { when: Some((field, values)), ..self }
    }

    /// The field is not part of the body of the API.
    pub const fn page_only(self) -> Self {
        Self { key: "", ..self }
    }

    text_setters! {
        /// A name for a group, to show it on its own.
        named = name;
        /// Replaces the label of a shared field.
        label = label;
        hint = hint;
        default = default;
        autocomplete = autocomplete;
        attributes = attributes;
        /// The error for a value that does not apply. Without it, such a value is ignored.
        or_reject = rejection;
        /// The name in the body of the API, if it is another one.
        key = key;
        /// Does not send the value if the hidden field `name` has the same one.
        shown_in = shown_in;
    }
}
