//! The log of notifications over HTTP: as pages, or as a stream.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{self as pieces, StreamExt};
use store::{Dialect, Listener};
use tokio::sync::watch;
use utoipa::PartialSchema;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::log::{self, Filter};
use crate::notification_kinds;
use crate::prelude::*;
use crate::web::prelude::*;
use crate::web::query::MAX_IDS;
use crate::web::server::stop_requested;
use crate::web::stream::{self, HEARTBEAT_INTERVAL, StreamAuth, StreamGuard};
use crate::webhooks::WebhooksManage;
use crate::webhooks::visibility::EventVisibility;

/// How often a stream checks that its credential is still valid, and whether there are notifications that were not
/// announced: wake-ups from another node are lost while the database server cannot be reached.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The same on PostgreSQL, where there can be other nodes.
const FAST_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// `/notifications` and `/notifications/stream`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list)).with(routes!(follow))
}

/// The schema of a notification. The OpenAPI document has one for each type.
struct AnyNotification;

impl PartialSchema for AnyNotification {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().into()
    }
}

impl ToSchema for AnyNotification {
    fn name() -> Cow<'static, str> {
        "WebhookEvent".into()
    }
}

/// A page of the notification log.
#[derive(ToSchema)]
#[schema(as = NotificationList)]
#[expect(
    dead_code,
    reason = "only the schema is used: the log sends notifications as they are stored"
)]
struct NotificationLog {
    /// The notifications on this page.
    data: Vec<AnyNotification>,
    /// Whether the log has more entries. You may not be allowed to see them, so further pages can be empty.
    has_more: bool,
    /// Cursor of the next page; `null` if there is none.
    next_cursor: Option<String>,
    /// Sequence number of the last entry that was examined. Send it as `after` to continue, now or later. `null` with
    /// `order=desc`.
    #[schema(examples(42))]
    next_sequence: Option<i64>,
    /// ID of this request. Include it when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    request_id: String,
}

/// The parameter `type`: notification types, or groups of them.
pub(in crate::webhooks) fn read_types(params: &mut Params, name: &str) -> Vec<String> {
    let detail = "Use notification types such as team.created, or groups such as team.*.";
    let known = |text: &str| notification_kinds::is_known_pattern(text).then(|| text.to_owned());
    params.list_of(name, MAX_IDS, ("unknown_value", detail), known)
}

/// List notifications
///
/// Returns the account's log in ascending order of `sequence`, with exactly the bodies that webhooks receive. You see
/// the types for which you have the scope, of the teams that you can access. To continue, send as `after` the
/// `next_sequence` of the previous page, or the `sequence` of the last notification that you have. Old notifications
/// are deleted: then the status is 410, and the `detail` names the oldest sequence number that is left.
#[endpoint(get, "/notifications", id = "notifications.list", tag = "Notifications",
    200(NotificationLog, "A page of the log."),
    410(crate::error::Problem, "The requested part of the log has been deleted.", "application/problem+json"))]
async fn list(caller: Caller<WebhooksManage>, paging: Paging<Filter>) -> Result<Response> {
    caller.require_teams(None, &paging.filter.team_ids)?;
    let visibility = paging.filter.visibility(caller.credential().scopes, &caller.team_access());
    let read = move |db: &Reader<'_>, filter: &Filter, page: &Page<i64>| {
        log::page(db, &visibility, filter, page)
    };
    caller.log_page(paging, read).await
}

impl Filter {
    /// What a caller with these scopes and this access can see of the teams of the filter.
    fn visibility(&self, scopes: Scopes, access: &TeamAccess) -> EventVisibility {
        let teams = Some(self.team_ids.as_slice()).filter(|teams| !teams.is_empty());
        EventVisibility::new(scopes, access).limited_to(teams)
    }
}

/// Stream notifications
///
/// Sends the log as server-sent events: `id` is the `sequence`, `event` is the type and `data` is the body. The stream
/// starts with new notifications, or after the sequence number in `Last-Event-ID` (or `after`). A comment is sent every
/// 15 seconds without notifications. The stream ends when the credential is revoked, when the service stops, or when
/// you read nothing for 20 seconds. To continue, reconnect with `Last-Event-ID`. An account can have 20 streams on each
/// node.
#[endpoint(get, "/notifications/stream", id = "notifications.follow", tag = "Notifications",
    params(
        ("Last-Event-ID" = Option<i64>, Header, minimum = 0, description = "The `id` of the last event that you have received. Takes precedence over `after`."),
        Filter),
    200(String, "A stream of server-sent events. The `data` of each event is a `WebhookEvent` as JSON, its `id` is the sequence number.", "text/event-stream",
        "id: 42\nevent: team.created\ndata: {\"id\":\"ntf_01kbm2x5q8f7vr0n3hd9tzc4wy\",\"type\":\"team.created\",…}\n\n: keep-alive\n\n"),
    410(crate::error::Problem, "The requested part of the log has been deleted.", "application/problem+json"))]
async fn follow(
    caller: Caller<WebhooksManage>,
    auth: StreamAuth<WebhooksManage>,
    filter: Filter,
) -> Result<Response> {
    caller.require_teams(None, &filter.team_ids)?;
    let (app, credential) = (caller.app(), caller.credential());
    // Subscribes before reading the log, so that no notification is missed in between.
    let changes = app.db.change_notifier().listen(credential.account_id);
    let place = app.streams.acquire(credential.account_id)?;
    let position = match (auth.last_event_id, filter.after) {
        (None, None) => credential.sequence,
        (None, Some(0)) => app.db.read(caller.scope(), log::start_position).await?,
        (Some(after), _) | (None, Some(after)) => after,
    };
    app.db.read(caller.scope(), move |db| log::check_stored(db, position)).await?;
    let endless = auth.streaming_flag();
    let subscriber = Subscriber {
        visibility: filter.visibility(credential.scopes, &caller.team_access()),
        filter,
        position,
        may_have_more: position < credential.sequence,
        check_interval: match app.db.dialect() {
            Dialect::Sqlite => CHECK_INTERVAL,
            Dialect::Postgres => FAST_CHECK_INTERVAL,
        },
        checked_at: Instant::now(),
        sent_at: Instant::now(),
        changes,
        stop: app.shutdown_signal(),
        auth,
        scope: caller.scope(),
        _stream_slot: place,
    };
    let opening = pieces::iter([stream::opening(position)]);
    Ok(stream::response(endless, opening.chain(pieces::unfold(subscriber, Subscriber::next))))
}

/// A client that streams the log.
struct Subscriber {
    auth: StreamAuth<WebhooksManage>,
    scope: Scope,
    visibility: EventVisibility,
    filter: Filter,
    /// The last sequence number that was examined.
    position: i64,
    /// Whether the log may have more.
    may_have_more: bool,
    changes: Listener,
    stop: watch::Receiver<bool>,
    check_interval: Duration,
    /// When the credential was last checked.
    checked_at: Instant,
    /// When the client was last sent anything.
    sent_at: Instant,
    /// Counts the stream against the limit until it is dropped.
    _stream_slot: StreamGuard,
}

impl Subscriber {
    /// Waits for the next chunk; `None` when the stream ends.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            if *self.stop.borrow() {
                return None;
            }
            if self.checked_at.elapsed() >= self.check_interval {
                self.recheck().await.ok()?;
            }
            if self.may_have_more {
                let chunk = self.read().await.ok()?;
                if !chunk.is_empty() {
                    self.sent_at = Instant::now();
                    return Some((chunk, self));
                }
                continue;
            }
            if self.sent_at.elapsed() >= HEARTBEAT_INTERVAL {
                self.sent_at = Instant::now();
                return Some((stream::heartbeat(self.position), self));
            }
            let until =
                (self.checked_at + self.check_interval).min(self.sent_at + HEARTBEAT_INTERVAL);
            tokio::select! {
                () = self.changes.wait_for_change() => self.may_have_more = true,
                () = stop_requested(&mut self.stop) => return None,
                () = tokio::time::sleep_until(until.into()) => {}
            }
        }
    }

    /// Checks whether the credential is still valid, what it can see now, and whether the log has more.
    async fn recheck(&mut self) -> Result<()> {
        let (credential, access) = self.auth.authorize().await?;
        self.visibility = self.filter.visibility(credential.scopes, &access);
        self.may_have_more |= credential.sequence > self.position;
        self.checked_at = Instant::now();
        Ok(())
    }

    /// The next events that the client can see; empty if there are none.
    async fn read(&mut self) -> Result<Bytes> {
        let (visibility, filter) = (self.visibility.clone(), self.filter.clone());
        let after = self.position;
        let read = move |db: &Reader<'_>| log::notifications_after(db, &visibility, &filter, after);
        let page = self.auth.app.db.read(self.scope.clone(), read).await?;
        (self.position, self.may_have_more) = (page.examined_to, page.has_more);
        let mut text = String::new();
        for one in &page.notifications {
            stream::event(&mut text, one.sequence, &one.kind, &one.body);
        }
        Ok(text.into())
    }
}
