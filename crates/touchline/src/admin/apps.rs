//! OAuth apps and their users, as the admin lists show them.

use crate::oauth::app::Kind;
use crate::prelude::*;

row! {
    /// An app, with the number of users whose grants are active.
    #[derive(Debug, Clone)]
    pub struct ListedApp {
        pub id: AppId,
        pub name: String,
        pub kind: Kind,
        pub disabled_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub users: i64,
    }
}

impl_resource!(ListedApp by AppId: Paged);

/// A page of the account's apps, newest first.
pub fn page(db: &Reader<'_>, page: &Page<AppId>) -> Result<Vec<ListedApp>> {
    let (after, limit) = (page.last.unwrap_or(AppId::MAX), page.fetch_limit());
    Ok(db.all(
        "select a.id, a.name, a.kind, a.disabled_at, a.created_at,
                (select count(distinct g.user_id) from oauth_grant g
                 where g.account_id = :account and g.app_id = a.id
                   and g.revoked_at is null and g.expires_at > :now) as users
         from oauth_app a where a.account_id = :account and a.id < :after
         order by a.id desc limit :limit",
        bind! { after, limit },
    )?)
}

row! {
    /// A user who granted an app access.
    #[derive(Debug, Clone)]
    pub struct AppUser {
        pub id: GrantId,
        pub user_id: UserId,
        pub name: String,
        pub email: String,
        pub scopes: Scopes,
        pub created_at: Timestamp,
        pub last_used_at: Option<Timestamp>,
    }
}

impl_resource!(AppUser by GrantId: Paged);

/// A page of an app's users, newest grant first. A user with several active grants is listed once, with the
/// union of their scopes.
pub fn users(db: &Reader<'_>, app: AppId, page: &Page<GrantId>) -> Result<Vec<AppUser>> {
    let (after, limit) = (page.last.unwrap_or(GrantId::MAX), page.fetch_limit());
    let mut newest: Vec<AppUser> = db.all(
        sql!(
            GRANTS,
            " and g.id < :after and not exists (
               select 1 from oauth_grant n
               where n.account_id = g.account_id and n.app_id = g.app_id
                 and n.user_id = g.user_id and n.id > g.id
                 and n.revoked_at is null and n.expires_at > :now)
             order by g.id desc limit :limit"
        ),
        bind! { app, after, limit },
    )?;
    let users: Vec<_> = newest.iter().map(|user| user.user_id).collect();
    let all: Vec<AppUser> =
        db.all(sql!(GRANTS, " and g.user_id in (:users)"), bind! { app, users })?;
    for user in &mut newest {
        for other in all.iter().filter(|other| other.user_id == user.user_id) {
            user.scopes = Scopes::of(user.scopes.names().chain(other.scopes.names()));
            user.created_at = user.created_at.min(other.created_at);
            user.last_used_at = user.last_used_at.max(other.last_used_at);
        }
    }
    Ok(newest)
}

const GRANTS: &str = "
    select g.id, g.user_id, u.name, u.email, g.scopes, g.created_at, g.last_used_at
    from oauth_grant g join app_user u on u.id = g.user_id
    where g.account_id = :account and g.app_id = :app
      and g.revoked_at is null and g.expires_at > :now";
