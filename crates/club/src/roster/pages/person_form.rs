//! The fields of the forms that add and change a person on a team.

use crate::prelude::*;
use crate::roster::guardian::MAX_GUARDIANS;
use crate::roster::spreadsheet::row;
use crate::web::form::{Choice, Field, FilledForm, Rows};

pub(super) const NAMES: Field = Field::pair(
    "",
    &[
        Field::line("first_name", "First name", 120).required("Enter a first name."),
        Field::line("last_name", "Last name", 120),
    ],
)
.named("names");

pub(super) const PREFERRED_NAME: Field = Field::line("preferred_name", "Preferred name", 120)
    .hint("What the person is called, if it is not the first name.");

pub(super) const PLACE: Field = Field::pair(
    "",
    &[
        Field::select(
            "role",
            "Role",
            &[
                Choice::new("player", "Player"),
                Choice::new("coach", "Coach"),
                Choice::new("manager", "Manager"),
                Choice::new("staff", "Staff member"),
            ],
        )
        .required("Choose a role."),
        Field::line("jersey_number", "Jersey number", 10),
    ],
)
.named("place");

/// A list in the API, entered with commas.
pub(super) const POSITIONS: Field = Field::line("positions", "Positions", 700)
    .hint("Separate several with commas, such as goalkeeper, defender.")
    .page_only();

pub(super) const STATUS: Field = Field::select(
    "status",
    "Status",
    &[
        Choice::new("active", "Active"),
        Choice::new("injured", "Injured"),
        Choice::new("inactive", "Inactive"),
    ],
)
.required("Choose a status.");

pub(super) const BIRTH_DATE: Field = Field::day("birth_date", "Birth date");

pub(super) const CONTACT: Field =
    Field::pair("", &[Field::email("email", "Email"), Field::line("phone", "Phone", 40)])
        .named("contact");

pub(super) const ADDRESS: Field = Field::block("address", "Address", 500);

pub(super) const EMERGENCY: Field = Field::block("emergency_contact", "Emergency contact", 500)
    .hint("Name and phone number of somebody to call if the parents do not answer.");

pub(super) const MEDICAL_NOTE: Field = Field::block("medical_note", "Medical note", 10_000)
    .hint("Allergies, medicine, and what to do. Coaches of the team and the family can read it.");

pub(super) const GUARDIANS: Field = Field::rows(
    "guardians",
    "Parents and guardians",
    Rows {
        fields: &[
            Field::hidden("guardian-{row}-id").key("id"),
            Field::line("guardian-{row}-first_name", "First name of parent {row}", 120)
                .key("first_name")
                .required("Enter a first name."),
            Field::line("guardian-{row}-last_name", "Last name", 120).key("last_name"),
            Field::line("guardian-{row}-relationship", "Relationship", 60)
                .key("relationship")
                .hint("For example, mother, father or grandparent."),
            Field::email("guardian-{row}-email", "Email").key("email"),
            Field::line("guardian-{row}-phone", "Phone", 40).key("phone"),
            Field::select("guardian-{row}-can_pick_up", "May pick up the child", YES_OR_NO)
                .key("can_pick_up"),
            Field::select("guardian-{row}-receives_messages", "Gets the messages", YES_OR_NO)
                .key("receives_messages"),
        ],
        first: 1,
        min: 1,
        max: MAX_GUARDIANS,
        empty: 1,
        error: "",
        class: "rowset",
        row_class: "card",
    },
)
.hint(
    "Parents get the messages that are sent to a child, and answer for the child. \
     To remove a parent, clear the first name.",
);

/// The empty value is the default, so that a row in which nothing was chosen is empty.
const YES_OR_NO: &[Choice] = &[Choice::new("", "Yes"), Choice::new("no", "No")];

/// The body of a request of the API, with the positions as a list and the guardians' permissions as booleans.
pub(super) fn body(form: &mut FilledForm) -> Value {
    let mut body = form.body();
    body["positions"] = json!(row::positions(form.text("positions")));
    for guardian in body["guardians"].as_array_mut().into_iter().flatten() {
        for name in ["can_pick_up", "receives_messages"] {
            guardian[name] = if guardian[name] == "no" { false.into() } else { true.into() };
        }
    }
    body
}

/// Whether a part of the form is shown open: something was entered there, or is wrong.
pub(super) fn is_open(form: &FilledForm, names: &[&str]) -> bool {
    names.iter().any(|name| !form.text(name).is_empty() || !form.faults.at(name).is_empty())
}
