//! People who sign in, and apps that act for them.

use kit::secret::TokenKind;
use store::Scope;
use touchline::accounts::rights::Scopes;
use touchline::accounts::user::{self, NewUser, Role, User};
use touchline::ids::{AccountId, UserId};
use touchline::oauth::app::{self, App, Kind, NewApp};
use touchline::oauth::{grant, token};
use touchline::signin::session::{self, Method, NewSession};

use crate::world::seconds;
use crate::{Browser, Client, World};

/// The password of everybody in the world.
pub const PASSWORD: &str = "sturdy heron keeps the left flank";

impl World {
    /// Somebody who signs in and is this at Harbour.
    pub async fn user(&self, role: Role, email: &str) -> User {
        self.user_of(self.harbour, role, email).await
    }

    /// Somebody who signs in and is this at a club.
    pub async fn user_of(&self, club: AccountId, role: Role, email: &str) -> User {
        let hash = kit::password::hash(PASSWORD, &kit::Dice::seeded(1));
        let name = email.split('@').next().unwrap_or_default().to_owned();
        let new = NewUser { email: email.to_owned(), name, role, password_hash: Some(hash) };
        let made = self.db().write(Scope::account(club, "test"), move |tx| user::create(tx, new));
        made.await.unwrap().0
    }

    /// The browser of somebody who has just signed in at Harbour.
    pub async fn browser(&self, user: UserId) -> Browser {
        self.browser_at(user, Some(self.harbour)).await
    }

    /// The browser of somebody who has just signed in at a club.
    pub async fn browser_at(&self, user: UserId, club: Option<AccountId>) -> Browser {
        let browser = session::Browser::default();
        let new = NewSession { user, club, pending: false, method: Method::Password, browser };
        let begun = self.db().write(Scope::system("test"), move |tx| session::begin(tx, new)).await;
        let cookie = begun.unwrap().1;
        let csrf = touchline::web::visitor::csrf(&self.node.app, &cookie);
        let mut browser = Browser::new(self.node.address);
        browser.cookie = Some(cookie.reveal().to_owned());
        browser.csrf = Some(csrf);
        browser
    }

    /// A browser that has never been here.
    pub fn newcomer(&self) -> Browser {
        Browser::new(self.node.address)
    }

    /// An app of Harbour.
    pub async fn app(&self, kind: Kind, redirect_uri: &str, scopes: &str) -> App {
        self.app_of(self.harbour, kind, redirect_uri, scopes).await
    }

    /// An app of a club.
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

    /// A caller with an access token of a user of Harbour.
    pub async fn acting_for(&self, user: UserId, scopes: &str) -> Client {
        self.acting_at(self.harbour, user, scopes).await
    }

    /// A caller with an access token of a user of a club.
    pub async fn acting_at(&self, club: AccountId, user: UserId, scopes: &str) -> Client {
        let app = self.app_of(club, Kind::Native, "http://127.0.0.1/callback", scopes).await;
        let scopes = Scopes::parse(scopes).unwrap();
        let given = self.db().write(Scope::account(club, "test"), move |tx| {
            let grant = grant::create(tx, &app, user, scopes, &app.redirect_uris.0[0])?;
            token::give_access(tx, &grant, scopes, seconds(3600))
        });
        let token = given.await.unwrap();
        assert!(token.reveal().starts_with(TokenKind::Access.prefix()));
        Client::new(self.node.address, Some(token.reveal()))
    }
}
