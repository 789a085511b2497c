//! A letter as mail servers carry it: headers, text and HTML, and for people a way to stop such letters.

use std::time::{Duration, UNIX_EPOCH};

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::{Address, Message};

use super::courier::Note;
use crate::app::App;
use crate::mail::letter::Letter;

/// Writes a letter out. The same letter has the same `Message-ID` whenever it is sent, so that a second
/// copy can be told from a second letter.
pub(super) fn compose(app: &App, from: &Mailbox, letter: &Letter) -> Result<Message, String> {
    let address: Address =
        letter.to_address.parse().map_err(|_| "This is not an address of mail.".to_owned())?;
    let name = Some(one_line(&letter.to_name)).filter(|name| !name.is_empty());
    let written = UNIX_EPOCH + Duration::from_micros(letter.created_at.micros().unsigned_abs());
    let mut message = Message::builder()
        .date(written)
        .message_id(Some(format!("<{}@{}>", letter.id, from.email.domain())))
        .from(from.clone())
        .to(Mailbox::new(name, address))
        .subject(one_line(&letter.subject))
        .raw_header(header("Auto-Submitted", "auto-generated"));
    let Some(person) = letter.person_id else {
        // Whoever looks after the club is told as long as they do.
        let text = SinglePart::plain(letter.text_body.clone());
        return message.singlepart(text).map_err(|error| error.to_string());
    };
    let token = app.links.token(letter.account_id, person, &letter.to_address);
    let link = app.url(&format!("/unsubscribe/{token}"));
    message = message.raw_header(header("List-Unsubscribe", &format!("<{link}>")));
    // One click is promised only where it is safe from being read and altered (RFC 8058).
    if link.starts_with("https://") {
        message = message.raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
    }
    let text = format!("{}\n\n-- \nStop these emails: {link}\n", letter.text_body);
    let message = match &letter.html_body {
        Some(html) => {
            message.multipart(MultiPart::alternative_plain_html(text, with_link(html, &link)))
        }
        None => message.singlepart(SinglePart::plain(text)),
    };
    message.map_err(|error| error.to_string())
}

/// Writes a letter out that has only text and nothing to stop.
pub(super) fn plain(app: &App, from: &Mailbox, note: &Note) -> Result<Message, String> {
    let address: Address =
        note.to_address.parse().map_err(|_| "This is not an address of mail.".to_owned())?;
    let name = Some(one_line(&note.to_name)).filter(|name| !name.is_empty());
    let now = UNIX_EPOCH + Duration::from_micros(app.clock.now().micros().unsigned_abs());
    let id = kit::secret::hex(&app.dice.bytes::<16>());
    Message::builder()
        .date(now)
        .message_id(Some(format!("<{id}@{}>", from.email.domain())))
        .from(from.clone())
        .to(Mailbox::new(name, address))
        .subject(one_line(&note.subject))
        .raw_header(header("Auto-Submitted", "auto-generated"))
        .singlepart(SinglePart::plain(note.text.clone()))
        .map_err(|error| error.to_string())
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

/// A name or a subject without anything that could begin another header. What looks like an encoded word
/// already is made to differ, so that it is encoded and arrives as it was written.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().replace("=?", "=\u{2060}?")
}

/// The page with the link at its end.
fn with_link(html: &str, link: &str) -> String {
    let (page, end) = html.split_at(html.rfind("</body>").unwrap_or(html.len()));
    format!("{page}<p><small><a href=\"{link}\">Stop these emails</a></small></p>{end}")
}
