//! Builds MIME messages: headers, plain text and HTML, and links to unsubscribe and to the settings in emails to people.

use std::time::{Duration, UNIX_EPOCH};

use lettre::message::{Mailbox, MessageBuilder, MultiPart, SinglePart};
use lettre::{Address, Message};

use crate::mail::email::Email;
use crate::roster::notification_settings::EmailKind;
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
    let Some(person) = email.person_id.filter(|_| !email.kind.is_mandatory()) else {
        let message = without_links(message, email);
        return message.map_err(|error| error.to_string());
    };
    let token = app.unsubscribe_key.token(email.account_id, person, &email.to_address);
    let link = app.url(&format!("/unsubscribe/{token}"));
    // A summary can contain emails of several clubs.
    let all = if email.kind == EmailKind::Summary { "?all" } else { "" };
    message = message.raw_header(header("List-Unsubscribe", &format!("<{link}{all}>")));
    // RFC 8058 requires HTTPS for one-click unsubscribe.
    if link.starts_with("https://") {
        message = message.raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
    }
    let locale = email.locale();
    let settings = format!("{link}/settings");
    let stop = locale.run(|| t!("Stop these emails: {link}", link = format!("{link}{all}")));
    let choose = locale.run(|| t!("Choose which emails you get: {link}", link = settings));
    let text = format!("{}\n\n-- \n{stop}\n{choose}\n", email.body_text);
    let message = match &email.html_body {
        Some(html) => message.multipart(MultiPart::alternative_plain_html(
            text,
            locale.run(|| append_links(html, &format!("{link}{all}"), &settings)),
        )),
        None => message.singlepart(SinglePart::plain(text)),
    };
    message.map_err(|error| error.to_string())
}

/// The message of an email from which nobody can unsubscribe. Copies of conversations with a child say why.
fn without_links(message: MessageBuilder, email: &Email) -> Result<Message, lettre::error::Error> {
    if email.kind != EmailKind::Safeguarding {
        return message.singlepart(SinglePart::plain(email.body_text.clone()));
    }
    let why = email.locale().run(|| {
        t!("You get this email because a child is in the conversation. To protect children, every adult in it gets a copy.")
    });
    let text = format!("{}\n\n-- \n{why}\n", email.body_text);
    match &email.html_body {
        Some(html) => {
            let note = format!("<p><small>{why}</small></p>");
            message.multipart(MultiPart::alternative_plain_html(text, append(html, &note)))
        }
        None => message.singlepart(SinglePart::plain(text)),
    }
}

/// Adds HTML at the end of the body.
fn append(html: &str, more: &str) -> String {
    let (page, end) = html.split_at(html.rfind("</body>").unwrap_or(html.len()));
    format!("{page}{more}{end}")
}

/// Adds the links to unsubscribe and to the settings at the end of the HTML body.
fn append_links(html: &str, stop: &str, settings: &str) -> String {
    let label = t!("Stop these emails");
    let choose = t!("Choose which emails you get");
    let links = format!(
        "<p><small><a href=\"{stop}\">{label}</a> · <a href=\"{settings}\">{choose}</a></small></p>"
    );
    append(html, &links)
}
