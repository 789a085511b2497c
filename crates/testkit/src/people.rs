//! Users who sign in, and OAuth apps that act for them.

use kit::secret::TokenKind;
use store::Scope;
use touchline::accounts::session::{self, Method, NewSession};
use touchline::accounts::user::{self, NewUser, Role, User};
use touchline::ids::{AccountId, UserId};
use touchline::oauth::app::{self, App, Kind, NewApp};
use touchline::oauth::{grant, token};
use touchline::rights::Scopes;

use crate::world::seconds;
use crate::{Browser, Client, World};

/// The password of every user in the world.
pub const PASSWORD: &str = "sturdy heron keeps the left flank";
/// Its hash. Hashing takes tens of milliseconds, and most tests have several users.
const PASSWORD_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdCBvZiB0aGUgdGVzdA$peKCIDc9tWeuzN4rhA8lXNkSbhYqL1dJmn3mG04XE/8";

impl World {
    /// Creates a user with a role at Harbour.
    pub async fn user(&self, role: Role, email: &str) -> User {
        self.user_of(self.harbour, role, email).await
    }

    /// Creates a user with a role at a club.
    pub async fn user_of(&self, club: AccountId, role: Role, email: &str) -> User {
        let hash = PASSWORD_HASH.to_owned();
        let name = email.split('@').next().unwrap_or_default().to_owned();
        let new = NewUser { email: email.to_owned(), name, role, password_hash: Some(hash) };
        let create = self.db().write(Scope::account(club, "test"), move |tx| user::create(tx, new));
        create.await.unwrap().0
    }

    /// The browser of a user who has just signed in at Harbour.
    pub async fn browser(&self, user: UserId) -> Browser {
        self.browser_at(user, Some(self.harbour)).await
    }

    /// The browser of a user who has just signed in at a club.
    pub async fn browser_at(&self, user: UserId, club: Option<AccountId>) -> Browser {
        let browser = session::Browser::default();
        let new = NewSession { user, club, pending: false, method: Method::Password, browser };
        let session = self.db().write(Scope::system("test"), move |tx| session::begin(tx, new));
        let cookie = session.await.unwrap().1;
        let csrf = touchline::web::visitor::csrf_token(&self.node.app, &cookie, None);
        let mut browser = Browser::new(self.node.address);
        browser.cookie = Some(cookie.reveal().to_owned());
        browser.csrf = Some(csrf);
        browser
    }

    /// A browser without a session.
    pub fn anonymous_browser(&self) -> Browser {
        Browser::new(self.node.address)
    }

    /// Registers an app at Harbour.
    pub async fn app(&self, kind: Kind, redirect_uri: &str, scopes: &str) -> App {
        self.app_of(self.harbour, kind, redirect_uri, scopes).await
    }

    /// Registers an app at a club.
    pub async fn app_of(&self, club: AccountId, kind: Kind, uri: &str, scopes: &str) -> App {
        let new = NewApp {
            name: "Scores".to_owned(),
            kind,
            redirect_uris: vec![uri.to_owned()],
            scopes: Scopes::parse(scopes).unwrap(),
        };
        let scope = Scope::account(club, "test");
        self.db().write(scope, move |tx| app::create(tx, new)).await.unwrap()
    }

    /// A client with an access token of a user of Harbour.
    pub async fn client_for_user(&self, user: UserId, scopes: &str) -> Client {
        self.client_for_user_at(self.harbour, user, scopes).await
    }

    /// A client with an access token of a user of a club.
    pub async fn client_for_user_at(&self, club: AccountId, user: UserId, scopes: &str) -> Client {
        let app = self.app_of(club, Kind::Native, "http://127.0.0.1/callback", scopes).await;
        let scopes = Scopes::parse(scopes).unwrap();
        let issue = self.db().write(Scope::account(club, "test"), move |tx| {
            let grant = grant::create(tx, &app, user, scopes, &app.redirect_uris.0[0])?;
            token::issue_access_token(tx, &grant, scopes, seconds(3600))
        });
        let token = issue.await.unwrap();
        assert!(token.reveal().starts_with(TokenKind::Access.prefix()));
        Client::new(self.node.address, Some(token.reveal()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_that_of_the_password() {
        assert!(kit::password::verify(PASSWORD, Some(PASSWORD_HASH)));
        assert!(!kit::password::is_outdated(PASSWORD_HASH));
    }
}
