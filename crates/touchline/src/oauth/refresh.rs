//! Refresh tokens: replaced at every use, one living at a time.
//!
//! An app may lose our answer, or ask twice at once. So the token that was just replaced gives the same
//! successor again for a short while: it is derived from the token itself, so that nobody has to keep
//! it. After that, a replaced token gives another successor only if the first was never used, because
//! then it was lost on the way; otherwise somebody else has it, and the whole grant ends.

use kit::Timestamp;
use kit::secret::{Token, TokenKind};
use store::{Reader, Tx, bind, row};

use super::app::App;
use super::ask;
use super::grant;
use super::refusal::{Refusal, Told, Word};
use super::token::{self, Kind, Lives, Pair};
use crate::accounts::rights::Scopes;
use crate::error::Result;
use crate::ids::{AppId, GrantId, UserId};
use crate::secrets::SealKey;
use crate::signals::Tell;

row! {
    /// A refresh token with what it hangs on, in one look.
    struct Found {
        hash: [u8; 32],
        grant_id: GrantId,
        user_id: UserId,
        app_id: AppId,
        generation: i64,
        nonce: Option<[u8; 32]>,
        replaced_at: Option<Timestamp>,
        expires_at: Timestamp,
        scopes: Scopes,
        /// The generation of the one that lives.
        current: i64,
        ends_at: Timestamp,
        /// What the app may ask for now.
        open: Scopes,
        /// Whether the user still belongs to the club and may sign in.
        belongs: bool,
    }
}

/// What an app sends for its next tokens.
#[derive(Debug, Clone)]
pub struct Renewal {
    pub token: Token,
    pub scope: Option<String>,
}

/// Gives an app its next two tokens.
pub fn renew(
    tx: &Tx<'_>,
    app: &App,
    sent: &Renewal,
    key: &SealKey,
    lives: Lives,
) -> Result<Told<Pair>> {
    let refused = |why| Ok(Err(Refusal::invalid_grant(why)));
    // Whose token it is comes first: a stranger who finds an old one must not end anything.
    let known = find(tx, &sent.token)?.filter(|found| found.app_id == app.id);
    let Some(found) = known else { return refused("The refresh token is not valid.") };
    if !found.belongs {
        grant::revoke(tx, found.grant_id, "user_left")?;
        return refused("The user may no longer allow this.");
    }
    let scopes = match wanted(&found, sent.scope.as_deref()) {
        Ok(scopes) => scopes,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let renewing = Renewing { found: &found, sent, key, lives, scopes };
    match found.replaced_at {
        _ if tx.now() >= found.ends_at => refused("The grant has expired."),
        None if tx.now() >= found.expires_at => refused("The refresh token has expired."),
        None => renewing.replace(tx).map(|pair| pair.ok_or(ENDED)),
        Some(at) if tx.now() < at.plus(lives.grace) => {
            renewing.repeat(tx).map(|pair| pair.ok_or(ENDED))
        }
        Some(_) if tx.now() < found.expires_at && is_lost(tx, &found)? => {
            renewing.reissue(tx).map(Ok)
        }
        Some(_) => {
            reused(tx, &found)?;
            refused(
                "The refresh token was used before. Everything that came of the grant has ended.",
            )
        }
    }
}

const ENDED: Refusal = Refusal::invalid_grant("The grant has ended.");

fn find(db: &Reader<'_>, token: &Token) -> Result<Option<Found>> {
    Ok(db.maybe(
        "select t.hash, t.grant_id, t.user_id, t.app_id, t.generation, t.nonce, t.replaced_at,
                t.expires_at, g.scopes, g.generation as current, g.expires_at as ends_at,
                a.scopes as open,
                exists (select 1 from account_user b join app_user u on u.id = b.user_id
                        where b.account_id = t.account_id and b.user_id = t.user_id
                          and u.disabled_at is null) as belongs
         from oauth_token t
         join oauth_grant g on g.account_id = t.account_id and g.id = t.grant_id
         join oauth_app a on a.account_id = t.account_id and a.id = t.app_id
         where t.account_id = :account and t.hash = :hash and t.kind = 'refresh'
           and g.revoked_at is null and a.disabled_at is null",
        bind! { hash: token.hash() },
    )?)
}

/// The scopes of the next access token: all that was granted, or fewer if the app says so.
fn wanted(found: &Found, scope: Option<&str>) -> Told<Scopes> {
    let scopes = scope.map_or(Ok(found.scopes), ask::listed)?;
    if !found.scopes.cover(scopes) {
        let description = "The user did not allow one of these scopes.";
        return Err(Refusal::new(Word::InvalidScope, description));
    }
    if !found.open.cover(scopes) {
        let description = "The app may no longer do what the user allowed it.";
        return Err(Refusal::invalid_grant(description));
    }
    Ok(scopes)
}

/// Whether the successor was never used: neither replaced itself, nor was its access token ever seen.
fn is_lost(db: &Reader<'_>, found: &Found) -> Result<bool> {
    let next = found.generation + 1;
    let successor: Option<(Option<Timestamp>, Option<Timestamp>)> = db.maybe(
        "select replaced_at, used_at from oauth_token
         where account_id = :account and grant_id = :grant and kind = 'refresh' and generation = :next",
        bind! { grant: found.grant_id, next },
    )?;
    Ok(found.current == next && successor == Some((None, None)))
}

fn reused(tx: &Tx<'_>, found: &Found) -> Result<()> {
    let details = serde_json::json!({ "grant": found.grant_id, "user": found.user_id });
    tx.audit("oauth_token.reused", &found.app_id.to_string(), &details)?;
    grant::revoke(tx, found.grant_id, "refresh_token_reused")
}

struct Renewing<'a> {
    found: &'a Found,
    sent: &'a Renewal,
    key: &'a SealKey,
    lives: Lives,
    scopes: Scopes,
}

impl Renewing<'_> {
    /// A token that only this installation can make, and only with the one before at hand.
    fn derived(&self, kind: TokenKind, nonce: [u8; 32]) -> Token {
        let Found { grant_id, generation, .. } = self.found;
        let parts: [&[u8]; 5] = [
            self.sent.token.reveal().as_bytes(),
            &grant_id.bits().to_be_bytes(),
            &generation.to_be_bytes(),
            &nonce,
            kind.prefix().as_bytes(),
        ];
        Token::from_bytes(kind, self.key.sign(&parts))
    }

    fn pair(&self, nonce: [u8; 32]) -> (Token, Token) {
        (self.derived(TokenKind::Access, nonce), self.derived(TokenKind::Refresh, nonce))
    }

    /// The next generation takes over.
    fn replace(&self, tx: &Tx<'_>) -> Result<Option<Pair>> {
        let Found { grant_id, generation, hash, .. } = self.found;
        let next = generation + 1;
        // The grant first: whoever ends it meanwhile waits for us, and we for them.
        let current = tx.run(
            "update oauth_grant set generation = :next, last_used_at = :now
             where account_id = :account and id = :grant and generation = :generation
               and revoked_at is null",
            bind! { grant: grant_id, next, generation },
        )?;
        if current == 0 {
            return Ok(None);
        }
        tx.later(
            "update oauth_token set replaced_at = :now where account_id = :account and hash = :hash",
            bind! { hash },
        )?;
        self.give(tx, self.found.nonce.unwrap_or_default()).map(Some)
    }

    /// The same two tokens as a moment ago.
    fn repeat(&self, tx: &Tx<'_>) -> Result<Option<Pair>> {
        let (access, refresh) = self.pair(self.found.nonce.unwrap_or_default());
        let known = |token: &Token| -> Result<Option<(Scopes, Timestamp)>> {
            Ok(tx.maybe(
                "select scopes, expires_at from oauth_token
                 where account_id = :account and hash = :hash",
                bind! { hash: token.hash() },
            )?)
        };
        if known(&refresh)?.is_none() {
            return Ok(None);
        }
        if let Some((scopes, expires_at)) = known(&access)?.filter(|(_, end)| tx.now() < *end) {
            return Ok(Some(Pair { access, refresh, scopes, expires_in: left(tx, expires_at) }));
        }
        // It was revoked by itself, or lives shorter than a minute: another one then.
        let access = Token::make(TokenKind::Access, tx.dice());
        let expires_at = self.keep(tx, &access, Kind::Access)?;
        let expires_in = left(tx, expires_at);
        Ok(Some(Pair { access, refresh, scopes: self.scopes, expires_in }))
    }

    /// Another successor in place of the one that was lost.
    fn reissue(&self, tx: &Tx<'_>) -> Result<Pair> {
        let Found { grant_id, generation, hash, .. } = self.found;
        let nonce: [u8; 32] = tx.dice().bytes();
        tx.run(
            "update oauth_grant set last_used_at = :now where account_id = :account and id = :grant",
            bind! { grant: grant_id },
        )?;
        tx.run(
            "delete from oauth_token
             where account_id = :account and grant_id = :grant and generation = :next",
            bind! { grant: grant_id, next: generation + 1 },
        )?;
        tx.run(
            "update oauth_token set replaced_at = :now, nonce = :nonce
             where account_id = :account and hash = :hash",
            bind! { hash, nonce },
        )?;
        let details = serde_json::json!({ "user": self.found.user_id });
        tx.audit("oauth_grant.reissued", &grant_id.to_string(), &details)?;
        self.give(tx, nonce)
    }

    fn give(&self, tx: &Tx<'_>, nonce: [u8; 32]) -> Result<Pair> {
        let (access, refresh) = self.pair(nonce);
        self.keep(tx, &refresh, Kind::Refresh)?;
        let expires_at = self.keep(tx, &access, Kind::Access)?;
        let expires_in = left(tx, expires_at);
        Ok(Pair { access, refresh, scopes: self.scopes, expires_in })
    }

    /// Notes a token of the next generation. A refresh token keeps everything that was granted.
    fn keep(&self, tx: &Tx<'_>, token: &Token, kind: Kind) -> Result<Timestamp> {
        let (life, scopes) = match kind {
            Kind::Access => (self.lives.access, self.scopes),
            Kind::Refresh => (self.lives.refresh, self.found.scopes),
        };
        let kept = token::Kept {
            account_id: tx.account(),
            hash: token.hash(),
            kind,
            grant_id: self.found.grant_id,
            user_id: self.found.user_id,
            app_id: self.found.app_id,
            scopes,
            generation: self.found.generation + 1,
            nonce: (kind == Kind::Refresh).then(|| tx.dice().bytes()),
            replaced_at: None,
            used_at: None,
            expires_at: tx.now().plus(life).min(self.found.ends_at),
            created_at: tx.now(),
        };
        tx.later(token::Kept::INSERT, &kept.bind())?;
        Ok(kept.expires_at)
    }
}

/// Whole seconds until then.
pub(super) fn left(tx: &Tx<'_>, end: Timestamp) -> i64 {
    (end.micros() - tx.now().micros()) / 1_000_000
}
