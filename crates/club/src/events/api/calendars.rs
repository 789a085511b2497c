//! Endpoints to manage calendar feeds, and the feeds themselves.

use axum::extract::{Extension, Path, State};
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG};
use kit::secret::{hex, sha256};

use crate::events::calendar;
use crate::events::feed::{self, CreatedFeed, Feed, FeedFilter, NewFeed, Subscription};
use crate::events::{EventsAnswer, EventsRead};
use crate::prelude::*;
use crate::web::cache::CachedResponse;
use crate::web::context::Context;
use crate::web::precondition;
use crate::web::prelude::*;

/// Maximum length of a token. Longer ones are rejected without a database query.
const MAX_TOKEN_LENGTH: usize = 64;

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, revoke))
}

/// `/calendar/{token}.ics`, for calendar apps. The URL is the only credential.
pub fn router() -> Router<App> {
    Router::new().route("/calendar/{file}", get(subscription))
}

/// List calendar feeds
///
/// Returns feeds in order of creation, without their URLs, which are shown only when a feed is created. Users see the
/// feeds they created and those of the teams they manage.
#[endpoint(get, "/calendar_feeds", id = "calendar_feeds.list", tag = "Calendars",
    200(ListResponse<Feed>, "A page of feeds."))]
async fn list(caller: Caller<EventsRead>, paging: Paging<FeedFilter>) -> Result<Response> {
    caller.page(paging, feed::list).await
}

/// Create a calendar feed
///
/// Creates a feed of a team, or of a person with all their teams and those of their dependents. The response contains
/// the URL to subscribe to. It is shown only once, and everyone who knows it can see the schedule. A key that is
/// limited to certain teams can only create feeds of those teams, since a person may join other teams. Users can create
/// feeds of teams they see, of themselves and of their dependents.
#[endpoint(post, "/calendar_feeds", id = "calendar_feeds.create", tag = "Calendars",
    example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "games_only": false }),
    201(ObjectResponse<CreatedFeed>, "The new feed with its URL."))]
async fn create(caller: Caller<EventsAnswer>, body: Body<NewFeed>) -> Result<Response> {
    let base_url = caller.url("/calendar");
    let access = caller.team_access();
    caller
        .create_secret(body, move |tx, new| {
            let (feed, token) = feed::create(tx, &access, new)?;
            let url = Some(format!("{base_url}/{token}.ics"));
            Ok((CreatedFeed { feed: feed.clone(), url }, CreatedFeed { feed, url: None }))
        })
        .await
}

/// Retrieve a calendar feed
///
/// Returns a calendar feed without its URL, which is shown only when the feed is created.
#[endpoint(get, "/calendar_feeds/{feed_id}", id = "calendar_feeds.get", tag = "Calendars",
    200(ObjectResponse<Feed>, "The feed."))]
async fn find(caller: Caller<EventsRead>, id: FeedId) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| feed::find(db, &access, id)).await
}

/// Revoke a calendar feed
///
/// The feed's URL stops working at once.
#[endpoint(delete, "/calendar_feeds/{feed_id}", id = "calendar_feeds.revoke", tag = "Calendars",
    outcome = json!({ "revoked_at": "2026-09-05T09:30:00.000000Z" }),
    200(ObjectResponse<Feed>, "The revoked feed."))]
async fn revoke(caller: Caller<EventsAnswer>, id: FeedId, body: Body<NoBody>) -> Result<Response> {
    let access = caller.team_access();
    caller.change(body, move |tx, NoBody, expected| feed::revoke(tx, &access, id, expected)).await
}

/// Serves the calendar to calendar apps.
async fn subscription(
    State(app): State<App>,
    Path(file): Path<String>,
    Extension(context): Extension<Context>,
    headers: HeaderMap,
) -> Result<Response> {
    let token = file.strip_suffix(".ics").filter(|token| token.len() <= MAX_TOKEN_LENGTH);
    let token = token.ok_or_else(Error::not_found)?.to_owned();
    let cache_key = format!("calendar {token}");
    let feed =
        app.db.read_inline(Scope::system("calendar"), move |db| feed::find_by_token(db, &token));
    // Failed lookups are rate limited like invalid API keys, against guessing.
    let feed = feed.await.map_err(|error| app.limits.count_failure(context.address(), error))?;
    let answer = cached_calendar(&app, cache_key, feed).await?;
    let tag = answer.next.as_deref().unwrap_or_default();
    let quoted = format!("\"{tag}\"");
    let common = [(ETAG, quoted.as_str()), (CACHE_CONTROL, "private, max-age=300")];
    if precondition::has_tag(&headers, tag)? {
        return Ok((StatusCode::NOT_MODIFIED, common).into_response());
    }
    let body_headers = [
        (CONTENT_TYPE, "text/calendar; charset=utf-8"),
        (CONTENT_DISPOSITION, "inline; filename=\"touchline.ics\""),
    ];
    Ok((common, body_headers, answer.body).into_response())
}

/// The current calendar. It is cached until something in the account changes, for at most a day.
async fn cached_calendar(
    app: &App,
    cache_key: String,
    feed: Subscription,
) -> Result<CachedResponse> {
    let cache_key = format!("{cache_key} {}", app.clock.now().seconds() / 86_400);
    let sequence = feed.sequence;
    if let Some(answer) = app.cache.get(&cache_key, sequence, app.clock.now()) {
        return Ok(answer);
    }
    let scope = Scope::account(feed.account_id, "calendar");
    let text = app.db.read(scope, move |db| calendar::render(db, &feed)).await?;
    let tag = hex(&sha256(text.as_bytes())[..16]);
    let answer = CachedResponse { body: text.into(), version: None, next: Some(tag.into()) };
    app.cache.put(cache_key, (sequence, None), answer.clone());
    Ok(answer)
}
