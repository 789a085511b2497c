//! A form with fields of all kinds: parsing, applicability, errors and redisplay.

use super::*;
use crate::prelude::*;
use crate::web::page::Frame;

const FIELDS: &[Field] = &[
    Field::line("name", "Name", 10).required("Enter a name.").hint("In {zone}."),
    Field::radio(
        "kind",
        "Kind",
        &[Choice::new("percent", "Percent"), Choice::new("amount", "Amount")],
    )
    .default("percent")
    .page_only(),
    Field::percent("rate", "Rate", 0, 10_000).required("").when("kind", &["percent"]),
    Field::amount("amount", "Amount in {currency}")
        .required("")
        .when("kind", &["amount"])
        .or_reject("Clear the amount."),
    Field::select(
        "late",
        "Late",
        &[Choice::new("none", "None"), Choice::new("percent", "Percent")],
    )
    .default("none")
    .page_only(),
    Field::amount_or_percent("fee", "Fee", "late", 10_000).when("late", &["amount", "percent"]),
    Field::checks("teams", "Teams", &[]).required("Choose a team."),
    Field::check("public", "Public", ""),
    Field::rows(
        "parts",
        "Parts",
        Rows {
            fields: &[
                Field::hidden("part-{row}-id").key("id"),
                Field::hidden("part-{row}-was").page_only(),
                Field::line("part-{row}-name", "Name {row}", 10).key("name").required("Enter it."),
                Field::number("part-{row}-count", "Count").key("count").shown_in("part-{row}-was"),
            ],
            first: 0,
            min: 0,
            max: 5,
            empty: 1,
            error: "",
            class: "rows",
            row_class: "rowed",
        },
    ),
];

fn read(query: &str) -> FilledForm {
    let form = FilledForm::submitted(FIELDS, &Form::parse(query.as_bytes()).unwrap());
    form.currency("EUR".parse().unwrap()).options("teams", [("a", "Hawks"), ("b", "Owls")])
}

#[test]
fn applicable_fields_become_a_body() {
    let mut form = read(
        "name=+Kit+&rate=7,5&late=percent&fee=5&teams=a&teams=b&public=yes\
         &part-0-name=&part-2-name=M&part-2-count=4&part-2-was=4&part-2-id=x&part-3-count=1",
    );
    assert_eq!(
        form.body(),
        json!({ "name": "Kit", "rate": 750, "amount": null, "fee": { "percent_bps": 500 }, "teams": ["a", "b"],
            "public": true, "parts": [{ "id": "x", "name": "M" }, { "count": 1 }] })
    );
    assert_eq!(form.faults.all().collect::<Vec<_>>(), [("part-1-name", "Enter it.")]);
}

#[test]
fn errors_are_at_their_fields_and_what_was_entered_is_kept() {
    let mut form = read("name=%00&kind=percent&rate=x&amount=3&teams=b&part-0-name=A");
    form.body();
    form.add_error(&Error::invalid(vec![
        Fault::new("/parts/0/count", "invalid", "Too many."),
        Fault::new("/nowhere", "invalid", "Something else."),
        Fault::new("/name", "invalid", "Not shown, because there is an earlier error."),
    ]));
    for (field, error) in [
        ("name", "Remove characters that cannot be displayed."),
        ("rate", "Enter a percentage from 0 to 100, such as 7.5."),
        ("amount", "Clear the amount."),
        ("part-0-count", "Too many."),
        ("", "Something else."),
    ] {
        assert_eq!(form.faults.at(field), error, "{field}");
    }
    let html = form.all_fields().to_string();
    for text in [
        "<input id=\"rate\" name=\"rate\" type=\"text\" value=\"x\" autocomplete=\"off\" aria-describedby=\"rate-error \" aria-invalid=\"true\" autofocus inputmode=decimal>",
        "Amount in EUR",
        "name=\"teams\" value=\"b\" checked",
        "name=\"part-0-name\" type=\"text\" value=\"A\"",
        "name=\"part-1-name\" type=\"text\" value=\"\"",
        "<option value=\"none\" selected data-hides>",
        "Owls",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    assert_eq!(html.matches("id=\"rate\"").count(), 1, "a dependent field is shown once");
    assert!(form.note("Nothing was saved").to_string().contains("Something else."));
    assert_eq!(form.status(), http::StatusCode::UNPROCESSABLE_ENTITY);
}

#[test]
fn an_object_fills_the_form_and_its_changes_are_detected() {
    let object = json!({ "name": "Kit", "rate": 725, "fee": { "percent_bps": 50 }, "teams": ["a"], "public": true,
        "parts": [{ "id": "x", "name": "M", "count": 3 }] });
    let fill = |object: &Value| FilledForm::empty(FIELDS).filled_from(object).fingerprint();
    let form = fill(&object);
    let texts = ["name", "rate", "late", "fee", "part-0-name", "part-0-count"];
    assert_eq!(texts.map(|name| form.text(name)), ["Kit", "7.25", "percent", "0.5", "M", "3"]);
    let shown = form.start(&Frame::plain("x")).to_string();
    let shown = shown.split("name=\"shown\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let mut sent = read(&format!("shown={shown}&name=New"));
    assert!(!sent.conflicts_with(&fill(&object)));
    let changed = json!({ "name": "Other", "rate": 725 });
    assert!(sent.conflicts_with(&fill(&changed)) && !sent.faults.general().is_empty());
    assert!(sent.faults.at("name").contains("“Other”") && sent.text("name") == "New");
    assert!(!sent.conflicts_with(&fill(&changed)), "saving again keeps the entries");
    // What only somebody else has changed is taken over.
    let mut sent = read(&format!("shown={shown}&name=New&rate=7.25"));
    let changed = json!({ "name": "Kit", "rate": 800, "parts": [{ "id": "y", "name": "L" }] });
    assert!(sent.conflicts_with(&fill(&changed)));
    assert_eq!(["name", "rate"].map(|name| sent.text(name)), ["New", "8"]);
    assert!(sent.faults.at("name").is_empty() && !sent.faults.at("rate").is_empty());
}

#[test]
fn a_link_keeps_the_entries() {
    let link = read("name=a+%26b&teams=a&other=x").link("/form");
    assert_eq!(link, "/form?name=a+%26b&teams=a");
}
