//! Records what the delivery workers have sent, in batches for several webhooks of an account, while the workers continue.

use std::collections::HashSet;

use super::Dispatcher;
use super::batcher::{Batch, Batcher, ResponseReceiver};
use super::delivery_worker::DeliveryJob;
use crate::prelude::*;
use crate::webhooks::outcome::{self, OnConflict, Report};
use crate::webhooks::webhook::Reason;

/// The most attempts recorded in one transaction, unless one report alone has more. A larger transaction gains little and
/// makes other writers wait.
const MAX_BATCH_ATTEMPTS: usize = 1_000;

pub(super) type ReportBatcher = Batcher<Report, Option<Reason>>;

/// A report that is being recorded, if there is one.
#[derive(Default)]
pub(super) struct PendingWrite(Option<ResponseReceiver<Option<Reason>>>);

impl PendingWrite {
    pub(super) fn start(dispatcher: &Dispatcher, job: DeliveryJob, report: Report) -> Self {
        let owned = dispatcher.clone();
        let work = move |reports| write_reports(owned.clone(), job, reports);
        let account = (&dispatcher.app, job.account);
        Self(Some(dispatcher.report_batcher.submit(account, report, batch_limit, work)))
    }

    /// Waits until the report is recorded. Returns why the webhook is to be turned off, if it is.
    pub(super) async fn wait(&mut self) -> Result<Option<Reason>> {
        let Some(response) = self.0.take() else { return Ok(None) };
        response.await.map_err(|_| Error::internal("could not record webhook deliveries"))?
    }
}

/// Records some reports in one transaction.
async fn write_reports(
    dispatcher: Dispatcher,
    job: DeliveryJob,
    reports: Batch<Report>,
) -> Result<Vec<Option<Reason>>> {
    let write = |on_conflict: OnConflict| {
        let (reports, policy) = (reports.clone(), dispatcher.retry_policy.clone());
        let record = move |tx: &Tx<'_>| outcome::record(tx, &reports, &policy, on_conflict);
        dispatcher.app.db.write(job.scope(), record)
    };
    match write(OnConflict::Fail).await {
        Err(error) if error.code == Code::Taken => write(OnConflict::Ignore).await,
        result => result,
    }
}

/// Limits a batch by its number of attempts. A batch has at most one report of each webhook.
fn batch_limit() -> impl FnMut(&Report) -> bool {
    let (mut attempts, mut webhooks) = (0, HashSet::new());
    move |report| {
        attempts += report.outcomes.len();
        attempts <= MAX_BATCH_ATTEMPTS && webhooks.insert(report.webhook_id)
    }
}
