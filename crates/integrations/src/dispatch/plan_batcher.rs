//! Reads the next plans of several webhooks of an account in one batch.

use super::Dispatcher;
use super::batcher::{Batch, Batcher};
use super::delivery_worker::DeliveryJob;
use super::plan::{Plan, PlanQuery, plan_all};
use crate::prelude::*;

/// The most webhooks planned in one batch.
const MAX_BATCH_SIZE: usize = 128;

type PlanRequest = (WebhookId, PlanQuery);
/// Each webhook has its own result, so that an error for one webhook does not fail the others.
pub(super) type PlanBatcher = Batcher<PlanRequest, Result<Plan>>;

/// Reads what to do next for a webhook.
pub(super) async fn fetch_plan(
    dispatcher: &Dispatcher,
    job: DeliveryJob,
    query: PlanQuery,
) -> Result<Plan> {
    let db = dispatcher.app.db.clone();
    let work = move |requests: Batch<PlanRequest>| {
        let db = db.clone();
        async move { db.read(job.scope(), move |db| plan_all(db, &requests)).await }
    };
    let (account, request) = ((&dispatcher.app, job.account), (job.webhook, query));
    let response = dispatcher.plan_batcher.submit(account, request, batch_limit, work);
    response.await.map_err(|_| Error::internal("could not read the next webhook deliveries"))??
}

fn batch_limit() -> impl FnMut(&PlanRequest) -> bool {
    let mut count = 0;
    move |_| {
        count += 1;
        count <= MAX_BATCH_SIZE
    }
}
