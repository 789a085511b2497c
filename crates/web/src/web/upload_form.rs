//! The extractor of forms with files.

use axum::extract::{FromRequest, Request};

use super::form::Form;
use super::multipart::{FILES_LOST, Parts, SentFile};
use super::unsent_form;
use super::visitor::{Guest, PageError, PageResult, Visitor, sign_in_url};
use crate::accounts::permissions::Permission;
use crate::web::app::App;

/// Extracts a signed-in user who has the permission `N`, and the form with files that they sent. The files are read only
/// after the permission was checked, because they are large.
pub struct VisitorUpload<N> {
    pub visitor: Visitor<N>,
    pub form: Form,
    pub files: Vec<SentFile>,
}

impl<N: Permission> FromRequest<App> for VisitorUpload<N> {
    type Rejection = PageError;

    async fn from_request(request: Request, app: &App) -> PageResult<Self> {
        let (mut parts, body) = request.into_parts();
        let guest = Guest::load(&mut parts, app).await?;
        let request = Request::from_parts(parts, body);
        Form::check_origin(&request, app)?;
        if guest.visit.is_none() {
            if let Ok(Parts { form, files }) = Form::read_with_files(request, app, false).await {
                unsent_form::check(&guest, &form, !files.is_empty())?;
            }
            return Err(PageError::Redirect(sign_in_url(&guest.path_and_query)));
        }
        let visitor = Visitor::authorize(guest).await?;
        let Parts { form, mut files } = Form::read_with_files(request, app, true).await?;
        if form.is_checked(FILES_LOST) && files.is_empty() {
            files.push(SentFile::lost());
        }
        unsent_form::check(&visitor.guest, &form, !files.is_empty())?;
        Ok(Self { visitor, form, files })
    }
}
