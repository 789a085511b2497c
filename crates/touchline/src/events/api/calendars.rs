//! The JSON endpoints of calendar feeds, and the feeds themselves.

use axum::Router;
use axum::extract::{FromRequestParts, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG};
use http::{HeaderMap, StatusCode};
use kit::secret::{hex, sha256};
use store::Scope;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::{Error, Result};
use crate::events::calendar;
use crate::events::feed::{self, Feed, FeedFilter, Made, NewFeed, Subscribed};
use crate::ids::{FeedId, PersonId, TeamId};
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::cache::Answer;
use crate::web::caller::{Caller, EventsAnswer, EventsRead};
use crate::web::context::Context;
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::precondition;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

const NAME: usize = 120;
/// No address of ours is longer; a longer one is not looked up.
const LONGEST: usize = 64;

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, revoke))
}

/// `/calendar/{token}.ics`, for calendar programs: no credential but the address.
pub fn router() -> Router<App> {
    Router::new().route("/calendar/{file}", get(subscription))
}

/// List calendar feeds
///
/// In order of creation. Their addresses were shown when they were made. Users see those they made, and
/// those of the teams they lead.
#[utoipa::path(get, path = "/calendar_feeds", operation_id = "calendar_feeds_list", tag = "Calendars",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many feeds to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("team_id" = Option<TeamId>, Query, description = "Only feeds of this team."),
        ("person_id" = Option<PersonId>, Query, description = "Only feeds of this person.")),
    responses((status = 200, description = "A page of feeds.", body = Many<Feed>), Problems),
    security(("key" = ["events:read"])))]
async fn list(
    caller: Caller<EventsRead>,
    Query(paging): Query<Paging<FeedFilter>>,
) -> Result<Response> {
    caller.page(paging, feed::list).await
}

/// Make a calendar feed
///
/// Of a team, or of a person: all their teams and those of the children they look after. The answer
/// shows the address to subscribe to, this once; whoever knows it sees the schedule. A key that is
/// narrowed to certain teams makes feeds of those teams only, since a person may join others. Users make
/// feeds of teams they see, of themselves and of those they look after.
#[utoipa::path(post, path = "/calendar_feeds", operation_id = "calendar_feeds_create", tag = "Calendars",
    request_body(content = NewFeed, example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "games_only": false })),
    responses((status = 201, description = "The new feed with its address.", body = One<Made>), Problems),
    security(("key" = ["events:write"])))]
async fn create(
    caller: Caller<EventsAnswer>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewFeed>,
) -> Result<Response> {
    let folder = caller.url("/calendar");
    let reach = caller.reach();
    caller
        .create_secret(body, move |tx, new| {
            let (feed, token) = feed::create(tx, &reach, new)?;
            let url = Some(format!("{folder}/{token}.ics"));
            Ok((Made { feed: feed.clone(), url }, Made { feed, url: None }))
        })
        .await
}

/// Get a calendar feed
#[utoipa::path(get, path = "/calendar_feeds/{feed_id}", operation_id = "calendar_feeds_get", tag = "Calendars",
    params(("feed_id" = FeedId, Path)),
    responses((status = 200, description = "The feed.", body = One<Feed>), Problems),
    security(("key" = ["events:read"])))]
async fn find(
    caller: Caller<EventsRead>,
    At(id): At<FeedId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.one(move |db| feed::find(db, &reach, id)).await
}

/// Revoke a calendar feed
///
/// Its address stops working at once.
#[utoipa::path(delete, path = "/calendar_feeds/{feed_id}", operation_id = "calendar_feeds_revoke", tag = "Calendars",
    params(("feed_id" = FeedId, Path)),
    responses((status = 200, description = "The revoked feed.", body = One<Feed>), Problems),
    security(("key" = ["events:write"])))]
async fn revoke(
    caller: Caller<EventsAnswer>,
    At(id): At<FeedId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.change(body, move |tx, NoBody, expected| feed::revoke(tx, &reach, id, expected)).await
}

/// What a calendar program gets.
async fn subscription(
    State(app): State<App>,
    Path(file): Path<String>,
    Asking(context): Asking,
    headers: HeaderMap,
) -> Result<Response> {
    let token = file.strip_suffix(".ics").filter(|token| token.len() <= LONGEST);
    let token = token.ok_or_else(Error::not_found)?.to_owned();
    let question = format!("calendar {token}");
    let found = app.db.glance(Scope::system("calendar"), move |db| feed::subscribed(db, &token));
    // Guessing is limited like guessing of keys.
    let feed = found.await.map_err(|error| app.limits.fail(context.address(), error))?;
    let answer = current(&app, question, feed).await?;
    let tag = answer.next.as_deref().unwrap_or_default();
    let quoted = format!("\"{tag}\"");
    let common = [(ETAG, quoted.as_str()), (CACHE_CONTROL, "private, max-age=300")];
    if precondition::has_tag(&headers, tag)? {
        return Ok((StatusCode::NOT_MODIFIED, common).into_response());
    }
    let own = [
        (CONTENT_TYPE, "text/calendar; charset=utf-8"),
        (CONTENT_DISPOSITION, "inline; filename=\"touchline.ics\""),
    ];
    Ok((common, own, answer.body).into_response())
}

/// The calendar as it is now; while nothing in the account changes, it is written once a day.
async fn current(app: &App, question: String, feed: Subscribed) -> Result<Answer> {
    let question = format!("{question} {}", app.clock.now().seconds() / 86_400);
    let sequence = feed.sequence;
    if let Some(answer) = app.cache.get(&question, sequence, app.clock.now()) {
        return Ok(answer);
    }
    let scope = Scope::account(feed.account_id, "calendar");
    let text = app.db.read(scope, move |db| calendar::write(db, &feed)).await?;
    let tag = hex(&sha256(text.as_bytes())[..16]);
    let answer = Answer { body: text.into(), version: None, next: Some(tag.into()) };
    app.cache.put(question, (sequence, None), answer.clone());
    Ok(answer)
}

/// The request's own facts, for a door that has no caller.
struct Asking(Context);

impl FromRequestParts<App> for Asking {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut http::request::Parts, _: &App) -> Result<Self> {
        let context = parts.extensions.get::<Context>().cloned();
        let missing = || Error::internal("a request reached a handler without passing the edge");
        context.map(Self).ok_or_else(missing)
    }
}

impl FromBody for NewFeed {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.line("name", NAME).apply(None),
            team_id: fields.id("team_id").apply(None),
            person_id: fields.id("person_id").apply(None),
            games_only: fields.flag("games_only").apply_or(false, false),
        }
    }
}

impl FromQuery for FeedFilter {
    fn read(params: &mut Params) -> Self {
        Self { team_id: params.id("team_id"), person_id: params.id("person_id") }
    }
}
