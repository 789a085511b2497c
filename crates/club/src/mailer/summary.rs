//! Writes the text of a daily summary, grouped by club and team.

use std::collections::BTreeMap;

use kit::text::escape_html;

use crate::mail::summary::SummaryItem;

/// The subject and bodies of a summary.
#[derive(Debug)]
pub(super) struct SummaryText {
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) html: String,
}

/// The emails of a team, or of a club without team.
type Groups<'a> = BTreeMap<(&'a str, Option<&'a str>), Vec<&'a SummaryItem>>;

/// Writes a summary in the current locale. `url` makes the URL of a path.
pub(super) fn write(items: &[SummaryItem], url: impl Fn(&str) -> String) -> SummaryText {
    let mut groups = Groups::new();
    for item in items {
        groups.entry((&item.club, item.team.as_deref())).or_default().push(item);
    }
    let (mut text, mut html) = (String::new(), String::new());
    for ((club, team), items) in groups {
        let heading = team.map_or_else(|| club.to_owned(), |team| format!("{club} · {team}"));
        text.push_str(&format!("{heading}\n{}\n\n", "=".repeat(heading.chars().count())));
        html.push_str(&format!("<h2>{}</h2>\n", escape_html(&heading)));
        for item in items {
            let subject = subject_without_team(item);
            let link = page_of(&item.about).map(|path| url(&path));
            text.push_str(&format!("* {subject}\n\n{}\n\n", item.body_text.trim()));
            html.push_str(&format!("<h3>{}</h3>\n{}\n", escape_html(subject), html_of(item)));
            if let Some(link) = link {
                text.push_str(&format!("{link}\n\n"));
                let label = t!("Open in Touchline");
                html.push_str(&format!("<p><a href=\"{}\">{label}</a></p>\n", escape_html(&link)));
            }
        }
    }
    let count = items.len();
    SummaryText {
        subject: tn!("Daily summary: {count} email", "Daily summary: {count} emails", count),
        text: text.trim_end().to_owned(),
        html: format!(
            "<!doctype html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{html}</body></html>\n"
        ),
    }
}

/// The subject without the name of the team at its beginning, which is in the heading.
fn subject_without_team(item: &SummaryItem) -> &str {
    let without = item
        .team
        .as_deref()
        .and_then(|team| item.subject.strip_prefix('[')?.strip_prefix(team)?.strip_prefix("] "));
    without.unwrap_or(&item.subject)
}

/// The path of the page about an object.
fn page_of(about: &str) -> Option<String> {
    let (kind, _) = about.split_once('_')?;
    let folder = match kind {
        "msg" => "messages",
        "evt" => "events",
        "due" => "dues",
        _ => return None,
    };
    Some(format!("/{folder}/{about}"))
}

/// The body of an email as HTML.
fn html_of(item: &SummaryItem) -> String {
    let inner = |page: &str| {
        let (_, body) = page.split_once("<body>")?;
        Some(body.rsplit_once("</body>")?.0.trim().to_owned())
    };
    item.html_body.as_deref().and_then(inner).unwrap_or_else(|| {
        let escaped = escape_html(item.body_text.trim());
        let paragraphs = escaped.split("\n\n").map(|one| one.replace('\n', "<br>\n"));
        format!("<p>{}</p>", paragraphs.collect::<Vec<_>>().join("</p>\n<p>"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(club: &str, team: Option<&str>, subject: &str) -> SummaryItem {
        SummaryItem {
            club: club.to_owned(),
            team: team.map(str::to_owned),
            about: "msg_x".to_owned(),
            subject: subject.to_owned(),
            body_text: "Bring <water>.\n\nAnd fruit.\nThanks".to_owned(),
            html_body: None,
        }
    }

    #[test]
    fn groups_by_club_and_team() {
        let items = [
            item("Harbour", Some("Hawks"), "[Hawks] One"),
            item("Abbey", None, "Two"),
            item("Harbour", Some("Hawks"), "[Kites] Three"),
            item("Harbour", None, "<b>Four"),
        ];
        let summary = write(&items, |path| format!("https://club.example{path}"));
        assert_eq!(summary.subject, "Daily summary: 4 emails");
        let text = &summary.text;
        let lines: Vec<_> = text.lines().collect();
        let headings =
            lines.windows(2).filter(|pair| pair[1].starts_with("==")).map(|pair| pair[0]);
        assert_eq!(headings.collect::<Vec<_>>(), ["Abbey", "Harbour", "Harbour · Hawks"]);
        assert!(text.contains("* One\n\nBring <water>.") && text.contains("* [Kites] Three"));
        assert!(text.ends_with("https://club.example/messages/msg_x"), "{text}");
        let html = "<h3>&#60;b&#62;Four</h3>\n<p>Bring &#60;water&#62;.</p>\n<p>And fruit.<br>\nThanks</p>";
        assert!(summary.html.contains(html), "{}", summary.html);
    }
}
