//! `/people/{person}/photo`.

use std::collections::BTreeSet;

use crate::files::api::upload;
use crate::files::file::Purpose;
use crate::files::pages;
use crate::prelude::*;
use crate::roster::PhotosWrite;
use crate::roster::membership::{self, Membership};
use crate::roster::person::{self, Person};
use crate::roster::{photo, safeguarding};
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[
    Field::file("file", "Photo")
        .hint("JPEG, PNG, WebP or GIF, at most 10 MB. The place where it was taken is not stored.")
        .required("Choose a photo.")
        .attributes(pages::ACCEPT_IMAGES),
    Field::check("photo_consent", "A guardian agreed to this photo", ""),
];
const DONE: [(&str, &str); 2] =
    [("saved", mark!("Photo saved.")), ("removed", mark!("Photo removed."))];

/// The route of the page.
pub fn router() -> Router<App> {
    Router::new().route("/people/{person}/photo", get(show).post(save))
}

#[derive(Template)]
#[template(path = "roster/photo.html")]
struct PhotoPage {
    frame: Frame,
    form: FilledForm,
    person: PhotoSubject,
}

/// The person whose photo is shown, and what the visitor may do.
struct PhotoSubject {
    person: Person,
    /// The page of the person that the visitor can open.
    back: String,
    /// Why the visitor may not set the photo. Empty if they may.
    refusal: &'static str,
    /// Whether the visitor has to confirm that a guardian agreed.
    needs_consent: bool,
}

impl PhotoSubject {
    fn load(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<Self> {
        let person = person::find_visible(db, access, id)?;
        Error::not_found().fail_if(person.erased_at.is_some())?;
        let is_minor = safeguarding::minors(db, &BTreeSet::from([id]))?.contains(&id);
        let refusal = photo::refusal(db, access, id)?.map_or("", |(_, text)| text);
        let needs_consent = is_minor && *access == TeamAccess::AllTeams;
        let back = back(db, access, id)?;
        Ok(Self { person, back, refusal, needs_consent })
    }

    /// The URL of the photo. Empty if there is none.
    fn photo(&self) -> String {
        self.person.photo_file_id.map(pages::thumbnail_url).unwrap_or_default()
    }
}

/// The page of everything about a person for admins, and of the person on a team for others.
fn back(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<String> {
    if *access == TeamAccess::AllTeams {
        return Ok(format!("/people/{id}"));
    }
    let memberships = membership::list_for(db, vec![id])?;
    let mut visible = memberships.iter().filter(|one| access.check(one.team_id).is_ok());
    let path = |one: &Membership| format!("/teams/{}/roster/{}", one.team_id, one.id);
    Ok(visible.next().map_or_else(|| "/".to_owned(), path))
}

async fn show(visitor: Visitor<PhotosWrite>, PathParams(id): PathParams<PersonId>) -> PageResult {
    page(&visitor, id, FilledForm::empty(FIELDS)).await
}

async fn page(visitor: &Visitor<PhotosWrite>, id: PersonId, form: FilledForm) -> PageResult {
    let access = visitor.team_access().await?;
    let subject = visitor.read(move |db| PhotoSubject::load(db, &access, id)).await?;
    let frame = visitor.frame(person::display_name(&subject.person), Section::People);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    let can_upload = subject.refusal.is_empty();
    let form = form.only_if(can_upload, "file").only_if(subject.needs_consent, "photo_consent");
    render(form.status(), &PhotoPage { frame, form, person: subject })
}

async fn save(
    PathParams(id): PathParams<PersonId>,
    VisitorUpload { visitor, form: sent, files }: VisitorUpload<PhotosWrite>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let subject = {
        let access = access.clone();
        visitor.read(move |db| PhotoSubject::load(db, &access, id)).await?
    };
    let mut form = FilledForm::submitted(FIELDS, &sent);
    let (removes, consent) = (sent.is_checked("remove"), sent.is_checked("photo_consent"));
    let error = if removes {
        ""
    } else if !subject.refusal.is_empty() {
        return Err(Error::new(Code::Forbidden, subject.refusal).into());
    } else if files.is_empty() {
        mark!("Choose a photo.")
    } else if subject.needs_consent && !consent {
        let error = mark!("Confirm that a guardian agreed, and choose the photo again.");
        return page(&visitor, id, form.with_error("photo_consent", error)).await;
    } else {
        ""
    };
    if !error.is_empty() {
        return page(&visitor, id, form.with_error("file", error)).await;
    }
    let files = if removes { Vec::new() } else { files.into_iter().take(1).collect() };
    let stored = upload::receive(&visitor, Purpose::Photo, files).await;
    let Some(stored) = form.accept(stored)? else { return page(&visitor, id, form).await };
    let new = stored.first().map(|file| file.id);
    let changed = visitor.write(move |tx| photo::change(tx, &access, id, new, consent)).await;
    if form.accept(changed)?.is_none() {
        return page(&visitor, id, form).await;
    }
    let done = if removes { "removed" } else { "saved" };
    Ok(see_other(&format!("/people/{id}/photo?done={done}")))
}
