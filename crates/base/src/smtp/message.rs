//! Builds MIME messages.

use std::time::{Duration, UNIX_EPOCH};

use kit::{Clock, Rng};
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, SinglePart};
use lettre::{Address, Message};

use super::direct::DirectEmail;

/// Builds the message of an email that is sent directly: plain text, without an unsubscribe link.
pub(super) fn compose_direct(
    clock: &Clock,
    rng: &Rng,
    from: &Mailbox,
    email: &DirectEmail,
) -> Result<Message, String> {
    let address: Address =
        email.to_address.parse().map_err(|_| "The email address is not valid.".to_owned())?;
    let name = Some(sanitize_header(&email.to_name)).filter(|name| !name.is_empty());
    let now = UNIX_EPOCH + Duration::from_micros(clock.now().micros().unsigned_abs());
    let id = kit::secret::hex(&rng.bytes::<16>());
    Message::builder()
        .date(now)
        .message_id(Some(format!("<{id}@{}>", from.email.domain())))
        .from(from.clone())
        .to(Mailbox::new(name, address))
        .subject(sanitize_header(&email.subject))
        .raw_header(header("Auto-Submitted", "auto-generated"))
        .singlepart(SinglePart::plain(email.text.clone()))
        .map_err(|error| error.to_string())
}

/// A header with this name and value.
pub fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

/// A header value without control characters, which prevents header injection. A word joiner (U+2060) breaks up `=?`,
/// so that text that looks like an encoded word (RFC 2047) is not decoded by the recipient.
pub fn sanitize_header(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().replace("=?", "=\u{2060}?")
}
