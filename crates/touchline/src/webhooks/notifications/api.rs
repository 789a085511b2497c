//! The log of notifications over HTTP: page by page, or as a stream.

use std::time::{Duration, Instant};

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self as pieces, StreamExt};
use kit::Timestamp;
use serde::Serialize;
use store::{Dialect, Listener, Reader, Scope};
use tokio::sync::watch;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::log::{self, Filter};
use crate::error::Result;
use crate::ids::{AccountId, NotificationId, TeamId};
use crate::paging::{Order, Page};
use crate::web::caller::{Caller, WebhooksManage};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::query::{FromQuery, Params, Query};
use crate::web::routes::Routes;
use crate::web::server::told;
use crate::web::stream::{self, BEAT, Pass, Place};
use crate::webhooks::ears::Ears;
use crate::webhooks::kinds;

/// How often it is looked whether a stream's credential is still good, and whether there is news that the bell
/// did not ring for: another node's, while the server could not be reached.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const LOOK_OFTEN: Duration = Duration::from_secs(1);

/// `/notifications` and `/notifications/stream`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list)).with(routes!(follow))
}

/// Something that happened, as it is stored, signed and sent.
#[derive(Serialize, ToSchema)]
#[schema(as = Notification)]
pub struct Shown {
    pub id: NotificationId,
    /// What happened; see `GET /event_types`.
    #[serde(rename = "type")]
    #[schema(examples("event.created"))]
    pub kind: String,
    pub timestamp: Timestamp,
    #[schema(examples("v1"))]
    pub api_version: String,
    pub account_id: AccountId,
    /// Its number in the account's log, which has no gaps.
    #[schema(examples(42))]
    pub sequence: i64,
    pub data: ShownData,
}

/// What it is about.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationData)]
pub struct ShownData {
    /// The object as it was right after.
    #[schema(value_type = Object)]
    pub object: serde_json::Value,
    /// What members that have changed were before; `null` if that says nothing.
    #[schema(value_type = Option<Object>)]
    pub previous: Option<serde_json::Value>,
}

/// A page of the log, as it is sent.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationLog)]
pub struct ShownLog {
    pub data: Vec<Shown>,
    /// Whether the log goes on. What comes may all be hidden from you: then pages are empty until it ends.
    pub has_more: bool,
    /// The cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
    /// How far the log was looked through: send it as `after` to go on, now or when something has happened.
    /// `null` with `order=desc`.
    #[schema(examples(42))]
    pub next_after: Option<i64>,
    /// Quote this when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: String,
}

impl FromQuery for Filter {
    fn read(params: &mut Params) -> Self {
        let kind = params.take("type");
        if kind.as_deref().is_some_and(|wish| !kinds::is_wish(wish)) {
            let detail = "This must be a kind of notification such as team.created, or team.*.";
            params.fault("type", "unknown_value", detail);
        }
        // Whoever has nothing yet takes what there is.
        let after = params.number("after", 0, i64::MAX).filter(|after| *after > 0);
        Self { after, kind, team_id: params.id("team_id") }
    }
}

/// List what happened
///
/// The account's log, ascending by `sequence`, with nothing missing: exactly the bodies that webhooks get. You see
/// the kinds whose read scope you have, of the teams you reach. Go on with `after`: the `next_after` of the page
/// before, or the `sequence` of the last notification you know. What is older than the operator keeps is gone:
/// 410, and the oldest number that is left is in the `detail`.
#[utoipa::path(get, path = "/notifications", operation_id = "notifications_list", tag = "Notifications",
    params(
        ("after" = Option<i64>, Query, minimum = 0, description = "Only what comes after this number; 0 or left out: from the oldest that is kept."),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("type" = Option<String>, Query, description = "Only this kind, such as `team.created`, or `team.*` for all of a sort."),
        ("team_id" = Option<TeamId>, Query, description = "Only what is about this team.")),
    responses((status = 200, description = "A page of the log.", body = ShownLog),
        (status = 410, description = "What you ask for is no longer kept.", body = crate::error::Problem, content_type = "application/problem+json"),
        Problems),
    security(("key" = ["webhooks:write"])))]
async fn list(
    caller: Caller<WebhooksManage>,
    Query(paging): Query<Paging<Filter>>,
) -> Result<Response> {
    let ears = Ears::new(caller.credential().scopes, &caller.reach());
    if let Some(team) = paging.filter.team_id {
        caller.reaches(team)?;
    }
    let look = move |db: &Reader<'_>, filter: &Filter, page: &Page<i64>| {
        log::page(db, &narrowed(ears, filter), filter, page)
    };
    caller.stretch(paging, look).await
}

/// What may be heard of the team that is asked for.
fn narrowed(ears: Ears, filter: &Filter) -> Ears {
    ears.narrowed(filter.team_id.as_ref().map(std::slice::from_ref))
}

/// Follow what happens
///
/// The same log as server-sent events: `id` is the `sequence`, `event` the kind and `data` the body. It begins with
/// what happens from now on, or after the number in `Last-Event-ID` (or `after`). Every 15 seconds without news a
/// comment is sent. The stream ends when the credential is revoked, when the service stops, or when you take nothing
/// of it for 20 seconds; come back with `Last-Event-ID`. An account can have 20 streams on a node.
#[utoipa::path(get, path = "/notifications/stream", operation_id = "notifications_stream", tag = "Notifications",
    params(
        ("Last-Event-ID" = Option<i64>, Header, minimum = 0, description = "The number of the last event you have seen; wins over `after`."),
        ("after" = Option<i64>, Query, minimum = 0, description = "Begin after this number; 0: with the oldest that is kept."),
        ("type" = Option<String>, Query, description = "Only this kind, such as `team.created`, or `team.*` for all of a sort."),
        ("team_id" = Option<TeamId>, Query, description = "Only what is about this team.")),
    responses((status = 200, description = "Events, as they happen.", content_type = "text/event-stream", body = String),
        (status = 410, description = "What you ask for is no longer kept.", body = crate::error::Problem, content_type = "application/problem+json"),
        Problems),
    security(("key" = ["webhooks:write"])))]
async fn follow(
    caller: Caller<WebhooksManage>,
    pass: Pass<WebhooksManage>,
    Query(Wanted { filter, from_oldest }): Query<Wanted>,
) -> Result<Response> {
    if let Some(team) = filter.team_id {
        caller.reaches(team)?;
    }
    let (app, credential) = (caller.app(), caller.credential());
    // Listens before it looks, so that nothing falls in between.
    let news = app.db.bell().listen(credential.account_id);
    let place = app.streams.enter(credential.account_id)?;
    let position = match (pass.last.or(filter.after), from_oldest) {
        (Some(after), _) => after,
        (None, true) => app.db.read(caller.scope(), log::beginning).await?,
        (None, false) => credential.sequence,
    };
    app.db.read(caller.scope(), move |db| log::is_kept(db, position)).await?;
    let endless = pass.endless();
    let listening = Listening {
        ears: narrowed(Ears::new(credential.scopes, &caller.reach()), &filter),
        filter,
        position,
        behind: position < credential.sequence,
        look_every: if app.db.dialect() == Dialect::Sqlite { LOOK_EVERY } else { LOOK_OFTEN },
        looked: Instant::now(),
        spoke: Instant::now(),
        news,
        stop: app.stopping(),
        pass,
        scope: caller.scope(),
        _place: place,
    };
    let opening = pieces::iter([stream::opening(position)]);
    Ok(stream::answer(endless, opening.chain(pieces::unfold(listening, Listening::next))))
}

/// What a stream is asked for.
struct Wanted {
    filter: Filter,
    /// Whether it is to begin with the oldest that is kept, and not now.
    from_oldest: bool,
}

impl FromQuery for Wanted {
    fn read(params: &mut Params) -> Self {
        let asked = params.has("after");
        let filter = Filter::read(params);
        Self { from_oldest: asked && filter.after.is_none(), filter }
    }
}

/// Somebody who follows the log.
struct Listening {
    pass: Pass<WebhooksManage>,
    scope: Scope,
    ears: Ears,
    filter: Filter,
    /// How far they have come.
    position: i64,
    /// Whether there may be more.
    behind: bool,
    news: Listener,
    stop: watch::Receiver<bool>,
    look_every: Duration,
    /// When their credential was last looked at.
    looked: Instant,
    /// When they were last sent anything.
    spoke: Instant,
    /// Given back when the stream ends.
    _place: Place,
}

impl Listening {
    /// Waits for the next piece; `None` when the stream is over.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            if *self.stop.borrow() {
                return None;
            }
            if self.looked.elapsed() >= self.look_every {
                self.look_again().await.ok()?;
            }
            if self.behind {
                let piece = self.read().await.ok()?;
                if !piece.is_empty() {
                    self.spoke = Instant::now();
                    return Some((piece, self));
                }
                continue;
            }
            if self.spoke.elapsed() >= BEAT {
                self.spoke = Instant::now();
                return Some((stream::beat(self.position), self));
            }
            let until = (self.looked + self.look_every).min(self.spoke + BEAT);
            tokio::select! {
                () = self.news.news() => self.behind = true,
                () = told(&mut self.stop) => return None,
                () = tokio::time::sleep_until(until.into()) => {}
            }
        }
    }

    /// Looks whether they may still listen, to what, and whether there is news.
    async fn look_again(&mut self) -> Result<()> {
        let (credential, reach) = self.pass.look().await?;
        self.ears = narrowed(Ears::new(credential.scopes, &reach), &self.filter);
        self.behind |= credential.sequence > self.position;
        self.looked = Instant::now();
        Ok(())
    }

    /// The next events, if there are any they may hear of.
    async fn read(&mut self) -> Result<Bytes> {
        let (ears, filter, position) = (self.ears.clone(), self.filter.clone(), self.position);
        let look = move |db: &Reader<'_>| log::after(db, &ears, &filter, position);
        let found = self.pass.app.db.read(self.scope.clone(), look).await?;
        (self.position, self.behind) = (found.until, found.more);
        let mut text = String::new();
        for news in &found.news {
            stream::event(&mut text, news.sequence, &news.kind, &news.body);
        }
        Ok(text.into())
    }
}
