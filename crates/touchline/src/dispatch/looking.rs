//! What is to be done next, looked up for several webhooks of an account at once.

use store::Reader;

use super::Dispatcher;
use super::carrier::Errand;
use super::desks::{Desks, Pile};
use super::plan::{Look, Plan, plans};
use crate::error::{Error, Result};
use crate::ids::WebhookId;

/// For so many webhooks it is looked together.
const TOGETHER: usize = 128;

type Ask = (WebhookId, Look);
/// What goes wrong for one webhook is told to that one alone.
pub(super) type Looks = Desks<Ask, Result<Plan>>;

/// Looks what is to be done next for a webhook.
pub(super) async fn look(post: &Dispatcher, errand: Errand, look: Look) -> Result<Plan> {
    let own = post.clone();
    let work = move |asks| look_for(own.clone(), errand, asks);
    let (desk, ask) = ((&post.app, errand.account), (errand.webhook, look));
    let waiting = post.looks.lay(desk, ask, together, work);
    waiting.await.map_err(|_| Error::internal("could not look what is to be delivered"))??
}

/// Looks for several webhooks together.
async fn look_for(post: Dispatcher, errand: Errand, asks: Pile<Ask>) -> Result<Vec<Result<Plan>>> {
    post.app.db.read(errand.scope(), move |db: &Reader<'_>| plans(db, &asks)).await
}

fn together() -> impl FnMut(&Ask) -> bool {
    let mut many = 0;
    move |_| {
        many += 1;
        many <= TOGETHER
    }
}
