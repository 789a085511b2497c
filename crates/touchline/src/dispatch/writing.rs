//! What carriers have sent, written down while they go on: that of several webhooks of an account together.

use std::collections::HashSet;

use store::Tx;

use super::Dispatcher;
use super::carrier::Errand;
use super::desks::{Desks, Pile, Waiting};
use crate::error::{Code, Error, Result};
use crate::webhooks::outcome::{self, Known, Report};
use crate::webhooks::webhook::Reason;

/// As many attempts as are written down together, unless one webhook has more: beyond that little is gained, and others
/// who write would wait for it.
const TOGETHER: usize = 1_000;

/// Why a webhook is to be turned off, if it is.
type Written = Result<Option<Reason>>;

pub(super) type Reports = Desks<Report, Option<Reason>>;

/// What is being written down, if anything is.
#[derive(Default)]
pub(super) struct Writing(Option<Waiting<Option<Reason>>>);

impl Writing {
    pub(super) fn begin(post: &Dispatcher, errand: Errand, report: Report) -> Self {
        let own = post.clone();
        let work = move |reports| write(own.clone(), errand, reports);
        let desk = (&post.app, errand.account);
        Self(Some(post.reports.lay(desk, report, together, work)))
    }

    /// Waits until it is. Says why the webhook is to be turned off, if it is.
    pub(super) async fn done(&mut self) -> Written {
        match self.0.take() {
            Some(writing) => {
                writing.await.map_err(|_| Error::internal("could not write down what was sent"))?
            }
            None => Ok(None),
        }
    }
}

/// Writes some reports down together.
async fn write(
    post: Dispatcher,
    errand: Errand,
    reports: Pile<Report>,
) -> Result<Vec<Option<Reason>>> {
    let write = |known: Known| {
        let (reports, rules) = (reports.clone(), post.rules.clone());
        let record = move |tx: &Tx<'_>| outcome::record(tx, &reports, &rules, known);
        post.app.db.write(errand.scope(), record)
    };
    match write(Known::Not).await {
        Err(error) if error.code == Code::Taken => write(Known::Perhaps).await,
        done => done,
    }
}

/// What is written down together: so many attempts, and a webhook's reports one after the other.
fn together() -> impl FnMut(&Report) -> bool {
    let (mut attempts, mut webhooks) = (0, HashSet::new());
    move |report| {
        attempts += report.outcomes.len();
        attempts <= TOGETHER && webhooks.insert(report.webhook_id)
    }
}
