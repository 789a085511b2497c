//! The session cookie, and the CSRF token of a browser.

use axum::response::Response;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use kit::secret::{Token, TokenKind};

use super::app::App;
use crate::ids::AccountId;

/// The session cookie: only for this host, only over HTTPS, not readable by scripts.
const COOKIE_NAME: &str = "__Host-touchline";
const COOKIE_RULES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";
const COOKIE_SECONDS: u32 = 30 * 86_400;

/// The CSRF token of the browser with this cookie, and the club whose pages it shows.
pub fn csrf_token(app: &App, token: &Token, club: Option<AccountId>) -> String {
    use base64::Engine;
    let signature = app.secrets.key("csrf").sign(&[&token.hash()]);
    let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(signature);
    match club {
        Some(club) => format!("{signature}.{club}"),
        None => signature,
    }
}

/// The signature and the club of a CSRF token.
pub(super) fn split_csrf_token(token: &str) -> (&str, &str) {
    token.split_once('.').unwrap_or((token, ""))
}

/// Sets the session cookie. It replaces any earlier one.
pub fn set_session_cookie(mut response: Response, token: &Token) -> Response {
    set_cookie(&mut response, token.reveal(), COOKIE_SECONDS);
    response
}

/// Deletes the session cookie.
pub fn clear_session_cookie(mut response: Response) -> Response {
    set_cookie(&mut response, "", 0);
    response
}

fn set_cookie(response: &mut Response, value: &str, seconds: u32) {
    let line = format!("{COOKIE_NAME}={value}; {COOKIE_RULES}; Max-Age={seconds}");
    if let Ok(line) = HeaderValue::from_str(&line) {
        response.headers_mut().append(SET_COOKIE, line);
    }
}

/// The token in the session cookie. `None` if it is malformed or was sent more than once.
pub(super) fn session_cookie(headers: &HeaderMap) -> Option<Token> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let mut ours = pairs.filter(|(name, _)| name.trim() == COOKIE_NAME);
    let (_, value) = ours.next()?;
    ours.next().is_none().then(|| Token::parse(TokenKind::Session, value.trim()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_cookie_must_be_well_formed_and_unique() {
        let token = Token::from_bytes(TokenKind::Session, [7; 32]);
        let line = |text: String| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, text.parse().unwrap());
            session_cookie(&headers).is_some()
        };
        let ours = format!("{COOKIE_NAME}={}", token.reveal());
        assert!(line(ours.clone()) && line(format!("a=b; {ours}")));
        assert!(!line(format!("{ours}; {ours}")) && !line(format!("{COOKIE_NAME}=tlss_x")));
    }
}
