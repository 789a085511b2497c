//! What an app asks for when it sends somebody to us.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::app::App;
use super::parameters::Parameters;
use super::redirect;
use super::refusal::{Refusal, Told, Word};
use crate::accounts::rights::{ScopeName, Scopes};
use kit::word::Word as _;

/// The longest `state` and the longest list of scopes.
const STATE: usize = 2048;
const SCOPE: usize = 1024;
/// What an app gets that names no scope: the least there is to read.
pub const DEFAULT: ScopeName = ScopeName::TeamsRead;

/// Where the answer goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    pub redirect_uri: String,
    /// What the app wants to hear again, encoded so that it gets the very same bytes.
    pub state: Option<String>,
}

impl Way {
    /// Where the app is sent, with what it is told. `iss` says who tells it.
    pub fn back(&self, issuer: &str, told: &[(&str, &str)]) -> String {
        let told: Vec<_> = told.iter().map(|(name, value)| (*name, encoded(value))).collect();
        let mut parameters: Vec<_> = told.iter().map(|(name, v)| (*name, v.as_str())).collect();
        parameters.extend(self.state.as_deref().map(|state| ("state", state)));
        let issuer = encoded(issuer);
        parameters.push(("iss", &issuer));
        redirect::with(&self.redirect_uri, &parameters)
    }

    /// Where the app is sent with a refusal.
    pub fn refused(&self, issuer: &str, refusal: Refusal) -> String {
        let told = [("error", refusal.error.word()), ("error_description", refusal.description)];
        self.back(issuer, &told)
    }
}

fn encoded(text: &str) -> String {
    redirect::encoded(text.as_bytes())
}

/// How far the user may be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Not at all.
    pub none: bool,
    /// For their password, whenever they gave it last.
    pub login: bool,
    /// For their consent, even if they gave it before.
    pub consent: bool,
}

impl Prompt {
    /// Reads the words of the parameter.
    pub fn parse(text: &str) -> Told<Self> {
        let mut prompt = Self::default();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            match word {
                "none" => prompt.none = true,
                "login" => prompt.login = true,
                "consent" => prompt.consent = true,
                _ => return Err(Refusal::invalid_request("prompt is none, login or consent.")),
            }
        }
        if prompt.none && (prompt.login || prompt.consent) {
            return Err(Refusal::invalid_request("prompt is none, or something else, not both."));
        }
        Ok(prompt)
    }

    /// The words again.
    pub fn words(self) -> Option<String> {
        let words = [(self.none, "none"), (self.login, "login"), (self.consent, "consent")];
        let words: Vec<_> = words.iter().filter(|(said, _)| *said).map(|(_, w)| *w).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

/// What an app asks for, checked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub scopes: Scopes,
    pub challenge: Option<[u8; 32]>,
    pub prompt: Prompt,
}

/// Where the answer goes. If that is not certain, nobody is sent anywhere: the sentence is for a page.
pub fn way(parameters: &Parameters, app: &App) -> Result<Way, &'static str> {
    let asked = parameters.text("redirect_uri").map_err(|_| "The app named several addresses.")?;
    let known = &app.redirect_uris.0;
    let redirect_uri = match (asked, known.as_slice()) {
        (Some(uri), _) if app.may_be_sent_to(uri) => uri,
        (Some(_), _) => {
            return Err("The app wants to lead you to an address that it is not registered for.");
        }
        (None, [only]) => only,
        (None, _) => {
            return Err("The app did not say which of its addresses it wants to lead you to.");
        }
    };
    // One that cannot be told apart or is too long to keep is left out of the answer.
    let state = parameters.bytes("state").ok().flatten().filter(|state| state.len() <= STATE);
    Ok(Way { redirect_uri: redirect_uri.to_owned(), state: state.map(redirect::encoded) })
}

/// What is asked for. `audience` is the address of our API.
pub fn read(parameters: &Parameters, app: &App, audience: &str) -> Told<Asked> {
    let text = |name| parameters.text(name);
    if parameters.bytes("state")?.is_some_and(|state| state.len() > STATE) {
        return Err(Refusal::invalid_request("state has at most 2048 bytes."));
    }
    if text("request")?.is_some() {
        let description = "Send the parameters themselves.";
        return Err(Refusal::new(Word::RequestNotSupported, description));
    }
    if text("request_uri")?.is_some() {
        let description = "Send the parameters themselves.";
        return Err(Refusal::new(Word::RequestUriNotSupported, description));
    }
    match text("response_type")? {
        Some("code") => {}
        None => return Err(Refusal::invalid_request("response_type is missing.")),
        Some(_) => {
            let description = "The only response_type is code.";
            return Err(Refusal::new(Word::UnsupportedResponseType, description));
        }
    }
    if text("response_mode")?.is_some_and(|mode| mode != "query") {
        return Err(Refusal::invalid_request("The only response_mode is query."));
    }
    let challenge = challenge(text("code_challenge")?, text("code_challenge_method")?)?;
    if challenge.is_none() && !app.kind.is_confidential() {
        return Err(Refusal::invalid_request("This app needs PKCE: send a code_challenge."));
    }
    for_us(parameters, audience)?;
    let prompt = Prompt::parse(text("prompt")?.unwrap_or_default())?;
    Ok(Asked { scopes: scopes(text("scope")?, app)?, challenge, prompt })
}

/// Only for our own API can anything be asked.
pub fn for_us(parameters: &Parameters, audience: &str) -> Told<()> {
    if parameters.all("resource").all(|resource| resource == audience.as_bytes()) {
        return Ok(());
    }
    let description = "The only resource is the address of the API.";
    Err(Refusal::new(Word::InvalidTarget, description))
}

fn challenge(text: Option<&str>, method: Option<&str>) -> Told<Option<[u8; 32]>> {
    let wrong = Refusal::invalid_request("code_challenge is 43 characters of base64url.");
    match (text, method) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Refusal::invalid_request("code_challenge is missing.")),
        (Some(text), Some("S256")) => {
            let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong)?;
            bytes.try_into().map(Some).map_err(|_| wrong)
        }
        (Some(_), _) => Err(Refusal::invalid_request("code_challenge_method must be S256.")),
    }
}

/// The scopes that a list names, as far as the app may ask for them.
fn scopes(text: Option<&str>, app: &App) -> Told<Scopes> {
    let asked = match text {
        Some(text) => listed(text)?,
        None => Scopes::of([DEFAULT]),
    };
    if app.scopes.cover(asked) {
        return Ok(asked);
    }
    let description = "The app is not registered for one of these scopes.";
    Err(Refusal::new(Word::InvalidScope, description))
}

/// The scopes that a list names.
pub fn listed(text: &str) -> Told<Scopes> {
    let wrong = Refusal::new(Word::InvalidScope, "scope names a scope that does not exist.");
    if text.len() > SCOPE || text.contains([',', '*']) {
        return Err(wrong);
    }
    Scopes::parse(text).map_err(|_| wrong)
}
