//! `/more`: the rest of the main menu, for phones.

use crate::accounts::permissions::OwnAccount;
use crate::web::page::{ADMIN, SIGN_OUT, SWITCH_ACCOUNT};
use crate::web::prelude::*;

pub(super) fn router() -> Router<App> {
    Router::new().route("/more", get(show))
}

#[derive(Template)]
#[template(path = "home/more.html")]
struct MorePage {
    frame: Frame,
}

async fn show(visitor: Visitor<OwnAccount>) -> PageResult {
    render(StatusCode::OK, &MorePage { frame: visitor.frame(t!("More"), Section::More) })
}
