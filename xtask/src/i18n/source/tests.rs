use super::*;

fn keys(found: Found) -> Vec<String> {
    found.0.into_iter().map(|text| text.key).collect()
}

#[test]
fn texts_in_rust_are_found() {
    let found = rust(
        r#"
            #[doc = "No text."]
            fn f() {
                // Translators: a button
                let a = t!("Save");
                let b = vec![tn!("{count} day", "{count} days", n), t!("Open", "status").len()];
                let detail = if x { "One error." } else { "Another one." };
                Err(Error::new(Code::Gone, "It is gone.").at("/x"))?;
                Error::internal("No text for people.");
                let other = "Not marked yet.";
            }
            #[cfg(test)]
            mod tests { fn g() { t!("Only a test"); } }
            "#,
    );
    let (texts, unmarked) = found.unwrap();
    let all: Vec<_> = texts.iter().map(|text| text.key.as_str()).collect();
    assert_eq!(all, ["Save", "{count} day", "Open", "One error.", "Another one.", "It is gone."]);
    assert_eq!(texts[0].comment, "a button");
    assert_eq!(texts[1].plural.as_deref(), Some("{count} days"));
    assert_eq!(texts[2].context, "status");
    let unmarked: Vec<_> = unmarked.iter().map(|one| one.text.as_str()).collect();
    assert!(unmarked.contains(&"Not marked yet."), "{unmarked:?}");
}

fn all_keys(source: &str) -> Vec<String> {
    keys(rust(source).unwrap())
}

#[test]
fn labels_of_fields_are_found() {
    let found = all_keys(
        r#"const FIELDS: &[Field] = &[
                Field::line("name", "Name", 120).hint("In {zone}.").required("Enter a name."),
                Field::number_from("count", "Count", (1, MAX), "Enter 1 or more.").or_reject("Clear it."),
                Field::amount_or_percent("fee", "{currency} fee", "late", 10_000).required(""),
                Field::radio("kind", "Kind", &[Choice::new("all", "All").about("All of them.")])
                    .default("All").when("what", &["One"]),
                Field::pair("Period", &[Field::day("from", "From").label("Since").key("Key")]),
                Field::rows("rows", "Rows", Rows { fields: &[Field::hidden("row-{row}-id")],
                    error: "Row {row}: {error}", class: "rows" }),
            ];"#,
    );
    assert_eq!(
        found,
        [
            "Name",
            "In {zone}.",
            "Enter a name.",
            "Count",
            "Enter 1 or more.",
            "Clear it.",
            "{currency} fee",
            "Kind",
            "All",
            "All of them.",
            "Period",
            "From",
            "Since",
            "Rows",
            "Row {row}: {error}"
        ]
    );
}

#[test]
fn labels_of_lists_are_found() {
    let found = all_keys(
        r#"const COLUMNS: &[Column<Key>] = &[
                Column::both("name", "Name", |key| Cell::name("Not translated").link("/Keys")),
                Column::page("Status", |key| Cell::Badge(("good", "Active"))),
                Column::page("Used", |key| Cell::age_or(key.used_at, "Never")),
            ];
            let list = keys.list("API keys", COLUMNS, &times).filters(
                FilterBar::new(&form).select("state", "State", "All", [("on", "On")]).input("q", "ID", "text"));
            let text = sql!("SELECT a FROM b");"#,
    );
    assert_eq!(
        found,
        ["Name", "Status", "Active", "Used", "Never", "API keys", "State", "All", "On", "ID"]
    );
}

#[test]
fn texts_of_confirmations_and_notifications_are_found() {
    let found = all_keys(
        r#"fn page() {
                let lead = Sentence::new("{name} stops.").name("name", &name);
                ConfirmPage::new(visitor.frame("Not marked yet"), "Stop", "/back").lead(lead)
                    .effect(if x { "Yes." } else { "No." }).form(form, "Nothing was saved");
                NoticePage { frame, lead: None, text: "Done.".into(), back: "/x".into(), back_label: "Back" };
                let text = "Wait for {time}.";
                faults.add("x", fill("At most {max}.", &[("max", &max)]));
            }
            const MODULE: Module = Module { notification_kinds: crate::notification_kinds! {
                Some(Scope::Read), "Team" { "team.created": "A team was created."; }
            } };"#,
    );
    assert_eq!(
        found,
        [
            "{name} stops.",
            "Stop",
            "Yes.",
            "No.",
            "Nothing was saved",
            "Done.",
            "Back",
            "Wait for {time}.",
            "At most {max}.",
            "Team created",
            "A team was created."
        ]
    );
}

#[test]
fn texts_in_templates_are_found() {
    let found = template(
        "{# t!(\"no\") #}<p class=\"x\">{{ t!(\"A\") }}<b>Bold text</b>\n\
             {% call parts::card(t!(\"C\")) %}<i title=\"{{ t!(\"D\") }}\">{{ x }}</i>{% endcall %}",
    );
    let found = found.unwrap();
    assert_eq!(found.1.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["Bold text"]);
    assert_eq!(keys(found), ["A", "C", "D"]);
}
