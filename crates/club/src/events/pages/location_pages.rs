//! `/locations`: the places of the club. Coaches add places and choose them for events; admins also change and archive
//! them.

use super::map_link::MapLinks;
use crate::accounts::permissions::Permission;
use crate::events::location::{
    self, Location, LocationChange, LocationFilter, NewLocation, Status,
};
use crate::events::{EventsWrite, LocationsManage};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::list::FilterBar;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const LOCATIONS: &str = "/locations";
const FIELDS: &[Field] = &[
    Field::line("name", "Name", 120)
        .hint("For example, Riverside Park, pitch 2.")
        .required("Enter a name."),
    Field::block("address", "Address", 500).hint("For the map link."),
    Field::line("coordinates", "Coordinates", 60).page_only().hint(
        "Optional, if the address is not exact. Copy them from a map, such as 38.7071, -9.1355.",
    ),
    Field::url("url", "Web page", 1000),
    Field::block("notes", "Notes", 10_000).hint("For example, directions or parking."),
    Field::check(
        "shared",
        "For all teams",
        "Coaches of every team can choose this place. Clear the box for a private address.",
    ),
];
const DONE: [(&str, &str); 3] = [
    ("added", mark!("Place added.")),
    ("saved", mark!("Changes saved.")),
    (
        "archived",
        mark!("The place was archived. Events that are already planned there keep this place."),
    ),
];

/// Routes of the pages of places.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/locations", get(list))
        .route("/locations/new", get(new).post(create))
        .route("/locations/{location}", get(one).post(save))
        .route("/locations/{location}/archive", get(ask_archive).post(archive))
}

type Admin = Visitor<LocationsManage>;
type AdminForm = VisitorForm<LocationsManage>;

/// A place in the list, with links to a map.
struct Row {
    place: Location,
    links: Option<MapLinks>,
}

impl Row {
    fn href(&self) -> String {
        format!("{LOCATIONS}/{}", self.place.id)
    }

    /// What differs from an active place for all teams.
    fn tag(&self) -> Option<&'static str> {
        match (self.place.status, self.place.shared) {
            (Status::Archived, _) => Some(t!("Archived")),
            (Status::Active, false) => Some(t!("Only teams with an event there")),
            (Status::Active, true) => None,
        }
    }
}

#[derive(Template)]
#[template(path = "events/locations.html")]
struct ListPage {
    frame: Frame,
    filters: FilterBar,
    rows: Vec<Row>,
    next: String,
}

#[derive(Template)]
#[template(path = "events/location.html")]
struct LocationPage {
    frame: Frame,
    /// The place as it is saved; `None` for a new one.
    place: Option<Location>,
    links: Option<MapLinks>,
    /// The form, for visitors who may change the place.
    form: Option<FilledForm>,
}

impl LocationPage {
    fn is_archived(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.status == Status::Archived)
    }
}

/// The access of a visitor who manages at least one team.
async fn staff_access<N: Permission>(visitor: &Visitor<N>) -> Result<TeamAccess> {
    let access = visitor.team_access().await?;
    match access.team_filter() {
        (true, teams) if teams.is_empty() => Err(Error::forbidden()),
        _ => Ok(access),
    }
}

async fn list(visitor: Visitor<EventsWrite>) -> PageResult {
    let access = staff_access(&visitor).await?;
    let request = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let choices = [("archived", t!("Archived places")), ("all", t!("All places"))];
    let filters = FilterBar::new(&request.form)
        .select("state", "Show", "Active places", choices)
        .input("q", "Name", "search");
    let status = match filters.text("state") {
        "archived" => Some(Status::Archived),
        "all" => None,
        _ => Some(Status::Active),
    };
    let q = filters.search("q");
    let filter = LocationFilter { status, q, ..LocationFilter::default() };
    let read = move |db: &Reader<'_>, page: &_| location::list(db, &access, &filter, page);
    let places = RowPage::read(&visitor, &request, read).await?;
    let row = |place: Location| Row { links: MapLinks::new(&place), place };
    let rows = places.rows.into_iter().map(row).collect();
    let frame =
        visitor.frame(t!("Places"), Section::Schedule).flash(visitor.guest.done_flash(&DONE));
    render(StatusCode::OK, &ListPage { frame, filters, rows, next: places.next })
}

fn show<N: Permission>(
    visitor: &Visitor<N>,
    place: Option<Location>,
    form: Option<FilledForm>,
) -> PageResult {
    let title =
        place.as_ref().map_or_else(|| t!("New place").to_owned(), |place| place.name.clone());
    let form = form.map(|form| form.only_if(visitor.is_admin(), "shared"));
    let status = form.as_ref().map_or(StatusCode::OK, FilledForm::status);
    let frame = visitor.frame(title, Section::Schedule);
    let links = place.as_ref().and_then(MapLinks::new);
    render(status, &LocationPage { frame, place, links, form })
}

async fn new(visitor: Visitor<EventsWrite>) -> PageResult {
    staff_access(&visitor).await?;
    let form = FilledForm::empty(FIELDS).with("shared", "yes").nonce(new_nonce(visitor.app()));
    show(&visitor, None, Some(form))
}

/// The body of the request. Errors are added to the form.
fn body(form: &mut FilledForm) -> Value {
    let mut body = form.body();
    let text = form.text("coordinates").to_owned();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let both = text.split_once(',').map(|(a, b)| (number(a), number(b)));
    (body["latitude"], body["longitude"]) = match both {
        Some((Some(latitude), Some(longitude))) => (json!(latitude), json!(longitude)),
        _ if text.is_empty() => (Value::Null, Value::Null),
        _ => {
            let error = t!("Enter latitude and longitude, such as 38.7071, -9.1355.");
            form.faults.add("coordinates", error);
            (Value::Null, Value::Null)
        }
    };
    body
}

/// Moves the faults of latitude and longitude to the field for both.
fn locate_faults(form: &mut FilledForm, error: &Error) {
    for fault in &error.faults {
        if matches!(fault.pointer.as_str(), "/latitude" | "/longitude") {
            form.faults.add("coordinates", fault.detail.clone());
        }
    }
}

async fn create(VisitorForm { visitor, form: sent }: VisitorForm<EventsWrite>) -> PageResult {
    let access = staff_access(&visitor).await?;
    let nonce = parse_nonce(&sent)?;
    let form = FilledForm::submitted(FIELDS, &sent);
    let mut form = form.only_if(visitor.is_admin(), "shared");
    if let Some(new) = read::<NewLocation>(&mut form) {
        let create = move |tx: &Tx<'_>| Ok(location::create(tx, &access, new)?.id);
        if form.accept(visitor.write_once(nonce, create).await)?.is_some() {
            return Ok(see_other(&format!("{LOCATIONS}?done=added")));
        }
    }
    show(&visitor, None, Some(form))
}

/// Reads the form with the rules of the API. Errors are added to it.
fn read<T: FromBody>(form: &mut FilledForm) -> Option<T> {
    let body = body(form);
    if let Err(error) = Fields::read::<T>(body.clone()) {
        locate_faults(form, &error);
    }
    form.finish(body)
}

fn edit_form(place: &Location) -> FilledForm {
    let coordinates = match (place.latitude, place.longitude) {
        (Some(latitude), Some(longitude)) => format!("{latitude}, {longitude}"),
        _ => String::new(),
    };
    let form = FilledForm::empty(FIELDS).filled_from(place).with("coordinates", coordinates);
    form.version(place.version).fingerprint()
}

async fn one(visitor: Visitor<EventsWrite>, PathParams(id): PathParams<LocationId>) -> PageResult {
    let access = staff_access(&visitor).await?;
    let place = visitor.read(move |db| location::find(db, &access, id)).await?;
    let may_change = visitor.is_admin() && place.status == Status::Active;
    let form = may_change.then(|| edit_form(&place));
    show(&visitor, Some(place), form)
}

async fn save(
    PathParams(id): PathParams<LocationId>,
    AdminForm { visitor, form: sent }: AdminForm,
) -> PageResult {
    let access = visitor.team_access().await?;
    let place = visitor.read(move |db| location::find(db, &access, id)).await?;
    let mut form = FilledForm::submitted(FIELDS, &sent);
    if let Some(change) = read::<LocationChange>(&mut form) {
        let expected = form.expected_version();
        let save = move |tx: &Tx<'_>| location::change(tx, id, &expected, change);
        match visitor.write(save).await {
            Err(error) if error.code == Code::PreconditionFailed => {
                form.combine_with(&edit_form(&place));
            }
            result => {
                if form.accept(result)?.is_some() {
                    return Ok(see_other(&format!("{LOCATIONS}?done=saved")));
                }
            }
        }
    }
    show(&visitor, Some(place), Some(form))
}

async fn ask_archive(visitor: Admin, PathParams(id): PathParams<LocationId>) -> PageResult {
    let access = visitor.team_access().await?;
    let place = visitor.read(move |db| location::find(db, &access, id)).await?;
    let frame = visitor.frame(t!("Archive this place?"), Section::Schedule);
    ConfirmPage::new(frame, "Archive place", format!("{LOCATIONS}/{id}"))
        .lead(Sentence::new("{place}").name("place", &place.name))
        .effect("It can no longer be chosen for events.")
        .effect("Events that are already planned there keep this place.")
        .effect("You cannot undo this, but you can add the place again.")
        .respond()
}

async fn archive(
    PathParams(id): PathParams<LocationId>,
    AdminForm { visitor, .. }: AdminForm,
) -> PageResult {
    let archive = move |tx: &Tx<'_>| {
        let place = location::find(tx, &TeamAccess::AllTeams, id)?;
        if place.status == Status::Archived {
            return Ok(place);
        }
        location::archive(tx, id, &IfMatch::Absent)
    };
    visitor.write(archive).await?;
    Ok(see_other(&format!("{LOCATIONS}?done=archived")))
}
