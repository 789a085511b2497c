//! Builds MIME messages: headers, plain text and HTML, and an unsubscribe link in emails to people.

use std::time::{Duration, UNIX_EPOCH};

use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::{Address, Message};

use crate::mail::email::Email;
use crate::smtp::message::{header, sanitize_header};
use crate::web::app::App;

/// Builds the message of an email in the outbox. Every attempt has the same `Message-ID`, so that mail programs can
/// detect duplicates.
pub(super) fn compose(app: &App, from: &Mailbox, email: &Email) -> Result<Message, String> {
    let address: Address = email
        .to_address
        .parse()
        .map_err(|_| mark!("The email address is not valid.").to_owned())?;
    let name = Some(sanitize_header(&email.to_name)).filter(|name| !name.is_empty());
    let created = UNIX_EPOCH + Duration::from_micros(email.created_at.micros().unsigned_abs());
    let mut message = Message::builder()
        .date(created)
        .message_id(Some(format!("<{}@{}>", email.id, from.email.domain())))
        .from(from.clone())
        .to(Mailbox::new(name, address))
        .subject(sanitize_header(&email.subject))
        .raw_header(header("Auto-Submitted", "auto-generated"));
    let Some(person) = email.person_id else {
        // Admins cannot unsubscribe.
        let text = SinglePart::plain(email.body_text.clone());
        return message.singlepart(text).map_err(|error| error.to_string());
    };
    let token = app.unsubscribe_key.token(email.account_id, person, &email.to_address);
    let link = app.url(&format!("/unsubscribe/{token}"));
    message = message.raw_header(header("List-Unsubscribe", &format!("<{link}>")));
    // RFC 8058 requires HTTPS for one-click unsubscribe.
    if link.starts_with("https://") {
        message = message.raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
    }
    let locale = email.locale();
    let stop = locale.run(|| t!("Stop these emails: {link}", link));
    let text = format!("{}\n\n-- \n{stop}\n", email.body_text);
    let message = match &email.html_body {
        Some(html) => message.multipart(MultiPart::alternative_plain_html(
            text,
            locale.run(|| append_unsubscribe_link(html, &link)),
        )),
        None => message.singlepart(SinglePart::plain(text)),
    };
    message.map_err(|error| error.to_string())
}

/// Adds the unsubscribe link at the end of the HTML body.
fn append_unsubscribe_link(html: &str, link: &str) -> String {
    let (page, end) = html.split_at(html.rfind("</body>").unwrap_or(html.len()));
    let label = t!("Stop these emails");
    format!("{page}<p><small><a href=\"{link}\">{label}</a></small></p>{end}")
}
