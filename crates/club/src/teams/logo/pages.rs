//! `/teams/{team}/logo`.

use crate::files::api::upload;
use crate::files::file::Purpose;
use crate::files::pages;
use crate::prelude::*;
use crate::teams::TeamsWrite;
use crate::teams::header::TeamHeader;
use crate::teams::team::{self, TeamChange};
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[Field::file("file", "Image")
    .hint("JPEG, PNG, WebP or GIF, at most 10 MB. A square image looks best.")
    .required("Choose an image.")
    .attributes(pages::ACCEPT_IMAGES)];
const DONE: [(&str, &str); 2] =
    [("saved", mark!("Logo saved.")), ("removed", mark!("Logo removed."))];

/// The route of the page.
pub fn router() -> Router<App> {
    Router::new().route("/teams/{team}/logo", get(show).post(save))
}

#[derive(Template)]
#[template(path = "teams/logo.html")]
struct LogoPage {
    frame: Frame,
    header: TeamHeader,
    form: FilledForm,
}

impl LogoPage {
    /// The URL of the logo. Empty if there is none.
    fn logo(&self) -> String {
        self.header.team.logo_file_id.map(pages::thumbnail_url).unwrap_or_default()
    }
}

async fn show(visitor: Visitor<TeamsWrite>, PathParams(id): PathParams<TeamId>) -> PageResult {
    page(&visitor, id, FilledForm::empty(FIELDS)).await
}

async fn page(visitor: &Visitor<TeamsWrite>, id: TeamId, form: FilledForm) -> PageResult {
    let access = visitor.team_access().await?;
    let header = visitor.read(move |db| TeamHeader::load(db, &access, id)).await?;
    let frame = visitor.frame(t!("Team logo"), Section::MyTeams);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    render(form.status(), &LogoPage { frame, header, form })
}

async fn save(
    PathParams(id): PathParams<TeamId>,
    VisitorUpload { visitor, form: sent, files }: VisitorUpload<TeamsWrite>,
) -> PageResult {
    let access = visitor.team_access().await?;
    access.check(id)?;
    let mut form = FilledForm::submitted(FIELDS, &sent);
    let removes = sent.is_checked("remove");
    if files.is_empty() && !removes {
        return page(&visitor, id, form.with_error("file", mark!("Choose an image."))).await;
    }
    let files = if removes { Vec::new() } else { files.into_iter().take(1).collect() };
    let stored = upload::receive(&visitor, Purpose::Logo, files).await;
    let Some(stored) = form.accept(stored)? else { return page(&visitor, id, form).await };
    let logo_file_id = stored.first().map_or(Change::Clear, |file| Change::Set(file.id));
    let change = TeamChange { logo_file_id, ..TeamChange::default() };
    let changed =
        visitor.write(move |tx| team::change(tx, &access, id, &IfMatch::Absent, change)).await;
    if form.accept(changed)?.is_none() {
        return page(&visitor, id, form).await;
    }
    let done = if removes { "removed" } else { "saved" };
    Ok(see_other(&format!("/teams/{id}/logo?done={done}")))
}
