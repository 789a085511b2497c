//! OAuth clients, called apps: programs that act for users.

use kit::{string_enum, text};

use super::{code, grant, redirect};
use crate::prelude::*;
use crate::rights::SpaceSeparated;

string_enum! {
    /// Where an app runs, which determines whether it can keep a secret.
    pub enum Kind as AppKind {
        /// On a phone or computer: a public client, which must use PKCE.
        Native = "native",
        /// In a browser: a public client, which must use PKCE.
        Spa = "spa",
        /// On a server: a confidential client, which has a secret.
        Server = "server",
    }
}
enum_column!(Kind);

impl Kind {
    /// Whether it is a confidential client, which authenticates with a secret.
    pub fn is_confidential(self) -> bool {
        self == Self::Server
    }
}

record! {
    /// An app. Its id is its `client_id`.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    #[serde(tag = "object", rename = "oauth_app")]
    pub struct App in oauth_app {
        pub id: AppId,
        pub account_id: AccountId,
        pub name: String,
        pub kind: Kind,
        pub redirect_uris: SpaceSeparated<String>,
        pub scopes: Scopes,
        pub created_by: String,
        pub disabled_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

impl App {
    /// Whether this redirect URI is registered for the app.
    pub fn allows_redirect_uri(&self, uri: &str) -> bool {
        redirect::is_registered(&self.redirect_uris.0, self.kind, uri)
    }
}

impl_resource!(App by AppId: Versioned);

/// Input for [`create`].
#[derive(Debug, Clone)]
pub struct NewApp {
    pub name: String,
    pub kind: Kind,
    pub redirect_uris: Vec<String>,
    pub scopes: Scopes,
}

/// Changes to an app; `None` leaves a field as it is. The kind cannot be changed.
#[derive(Debug, Clone, Default)]
pub struct AppChange {
    pub name: Option<String>,
    pub redirect_uris: Option<Vec<String>>,
    pub scopes: Option<Scopes>,
}

/// Registers an app. A confidential client also needs a secret: see [`super::secret::add`].
pub fn create(tx: &Tx<'_>, new: NewApp) -> Result<App> {
    let new = validate(new)?;
    let app = App {
        id: tx.new_id(),
        account_id: tx.account(),
        name: new.name,
        kind: new.kind,
        redirect_uris: SpaceSeparated(new.redirect_uris),
        scopes: new.scopes,
        created_by: tx.actor().to_owned(),
        disabled_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute(App::INSERT, &app.bind())?;
    tx.audit("oauth_app.created", &app.id.to_string(), &audit_details(&app))?;
    Ok(app)
}

/// Updates an app. Removing scopes takes effect immediately: all access tokens of the app are revoked, and
/// new ones do not include the removed scopes.
pub fn change(tx: &Tx<'_>, id: AppId, change: AppChange, expected: &IfMatch) -> Result<App> {
    let before = expected.check(find(tx, id))?;
    let new = validate(NewApp {
        name: change.name.unwrap_or_else(|| before.name.clone()),
        kind: before.kind,
        redirect_uris: change.redirect_uris.unwrap_or_else(|| before.redirect_uris.0.clone()),
        scopes: change.scopes.unwrap_or(before.scopes),
    })?;
    if (&new.name, &new.redirect_uris, new.scopes)
        == (&before.name, &before.redirect_uris.0, before.scopes)
    {
        return Ok(before);
    }
    tx.execute(
        "update oauth_app set name = :name, redirect_uris = :uris, scopes = :scopes,
                updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id, name: &new.name, uris: SpaceSeparated(new.redirect_uris), scopes: new.scopes },
    )?;
    if !new.scopes.contains_all(before.scopes) {
        grant::revoke_access_tokens_of_app(tx, id)?;
    }
    let after = find(tx, id)?;
    let details = json!({ "before": audit_details(&before), "after": audit_details(&after) });
    tx.audit("oauth_app.updated", &id.to_string(), &details)?;
    Ok(after)
}

/// Disables an app and revokes all its grants immediately. Idempotent.
pub fn disable(tx: &Tx<'_>, id: AppId) -> Result<App> {
    let app = find(tx, id)?;
    if app.disabled_at.is_some() {
        return Ok(app);
    }
    set_disabled(tx, id, Some(tx.now()))?;
    code::delete_unused_of_app(tx, id)?;
    let revoked = grant::revoke_all_of_app(tx, id, "app_disabled")?;
    let details = json!({ "name": app.name, "grants_revoked": revoked });
    tx.audit("oauth_app.disabled", &id.to_string(), &details)?;
    find(tx, id)
}

/// Enables an app again. Its users have to consent again.
pub fn enable(tx: &Tx<'_>, id: AppId) -> Result<App> {
    let app = find(tx, id)?;
    if app.disabled_at.is_none() {
        return Ok(app);
    }
    set_disabled(tx, id, None)?;
    tx.audit("oauth_app.enabled", &id.to_string(), &json!({ "name": app.name }))?;
    find(tx, id)
}

fn set_disabled(tx: &Tx<'_>, id: AppId, disabled_at: Option<Timestamp>) -> Result<()> {
    let text = "
        update oauth_app set disabled_at = :disabled_at, updated_at = :now, version = version + 1
        where account_id = :account and id = :id";
    Ok(tx.execute(text, bind! { id, disabled_at }).map(drop)?)
}

/// One app of the account.
pub fn find(db: &Reader<'_>, id: AppId) -> Result<App> {
    Ok(db.one(sql!(App::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The account's apps, oldest first, including disabled ones.
pub fn list(db: &Reader<'_>) -> Result<Vec<App>> {
    Ok(db.all(sql!(App::SELECT, " where account_id = :account order by id"), bind! {})?)
}

/// The app with this `client_id`, of any account, if it is not disabled.
pub fn find_client(db: &Reader<'_>, client_id: &str) -> Result<Option<App>> {
    let Ok(id) = client_id.parse::<AppId>() else { return Ok(None) };
    let app: Option<App> =
        db.optional(sql!(App::SELECT, " where id = :id /* any account */"), bind! { id })?;
    // Accept only the canonical spelling of the id.
    Ok(app.filter(|app| app.disabled_at.is_none() && app.id.to_string() == client_id))
}

/// The account that an app belongs to, for the command line, which knows only the app.
pub fn account_of(db: &Reader<'_>, id: AppId) -> Result<AccountId> {
    let text = "select account_id from oauth_app where id = :id /* any account */";
    Ok(db.one::<(AccountId,)>(text, bind! { id })?.0)
}

/// The details of an app for the audit log.
fn audit_details(app: &App) -> Value {
    let App { name, kind, redirect_uris, scopes, .. } = app;
    json!({ "name": name, "kind": kind, "redirect_uris": redirect_uris, "scopes": scopes })
}

fn validate(new: NewApp) -> Result<NewApp> {
    let mut faults = Vec::new();
    let name = text::normalize_line(&new.name, 80).unwrap_or_else(|_| {
        let detail = "The name must have 1 to 80 characters and no control characters.";
        faults.push(Fault::new("/name", "invalid_name", detail));
        String::new()
    });
    if new.redirect_uris.is_empty() || new.redirect_uris.len() > redirect::MAX_URIS {
        let detail = "An app must have 1 to 20 redirect URIs.";
        faults.push(Fault::new("/redirect_uris", "invalid_redirect_uri", detail));
    }
    for (index, uri) in new.redirect_uris.iter().enumerate() {
        if let Some(detail) = redirect::find_problem(uri, new.kind) {
            let pointer = format!("/redirect_uris/{index}");
            faults.push(Fault::new(pointer, "invalid_redirect_uri", detail));
        }
    }
    if new.scopes.is_wildcard() || new.scopes.is_empty() {
        let detail = "An app must have at least one named scope. The scope `*` is not allowed.";
        faults.push(Fault::new("/scopes", "invalid_scope", detail));
    }
    if faults.is_empty() { Ok(NewApp { name, ..new }) } else { Err(Error::invalid(faults)) }
}
