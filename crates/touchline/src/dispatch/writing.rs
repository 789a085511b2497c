//! What carriers have sent, written down while they go on: that of several webhooks of an account together, as
//! news mostly go to all of them at once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use store::Tx;
use tokio::sync::oneshot;

use super::Dispatcher;
use super::carrier::Errand;
use crate::error::{Code, Error, Result};
use crate::ids::AccountId;
use crate::webhooks::outcome::{self, Known, Report};
use crate::webhooks::webhook::Reason;

/// As many attempts as are written down together, unless one webhook has more.
const TOGETHER: usize = 256;

/// Why a webhook is to be turned off, if it is.
type Written = Result<Option<Reason>>;

/// What is being written down, if anything is.
#[derive(Default)]
pub(super) struct Writing(Option<oneshot::Receiver<Written>>);

impl Writing {
    pub(super) fn begin(post: &Dispatcher, errand: Errand, report: Report) -> Self {
        let (done, writing) = oneshot::channel();
        if post.desks.lay(errand.account, Entry { report, done }) {
            let desk = Desk { post: post.clone(), errand, cleared: false };
            post.app.spawn(desk.clear());
        }
        Self(Some(writing))
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

/// A report, and whoever waits until it is written down.
struct Entry {
    report: Report,
    done: oneshot::Sender<Written>,
}

/// What lies there to be written down, by account. An account is in it as long as somebody is at it.
#[derive(Default)]
pub(super) struct Desks(Mutex<HashMap<AccountId, Vec<Entry>>>);

impl Desks {
    /// Lays a report on its account's desk. Says whether somebody has to see to it.
    fn lay(&self, account: AccountId, entry: Entry) -> bool {
        let mut desks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = desks.contains_key(&account);
        desks.entry(account).or_default().push(entry);
        !begun
    }

    /// Takes what is written down next. `None` if nothing is left, and nobody is at it any more.
    fn take(&self, account: AccountId) -> Option<Vec<Entry>> {
        let mut desks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = desks.get_mut(&account)?;
        if entries.is_empty() {
            desks.remove(&account);
            return None;
        }
        let (mut attempts, mut webhooks) = (0, HashSet::new());
        let fits = entries.iter().take_while(|entry| {
            attempts += entry.report.outcomes.len();
            // A webhook's reports are written down one after the other.
            attempts <= TOGETHER && webhooks.insert(entry.report.webhook_id)
        });
        let many = fits.count().max(1);
        Some(entries.drain(..many).collect())
    }
}

/// The desk of one account, and whoever is at it.
struct Desk {
    post: Dispatcher,
    errand: Errand,
    /// Whether it was left as it should be.
    cleared: bool,
}

impl Desk {
    /// Writes down until nothing is left.
    async fn clear(mut self) {
        while let Some(entries) = self.post.desks.take(self.errand.account) {
            let (reports, waiting): (Vec<_>, Vec<_>) =
                entries.into_iter().map(|Entry { report, done }| (report, done)).unzip();
            let reports = Arc::new(reports);
            match self.write(reports.clone(), 0..reports.len()).await {
                Ok(reasons) => {
                    for (done, reason) in waiting.into_iter().zip(reasons) {
                        // Written down is written down, whether or not anybody still waits for it.
                        let _ = done.send(Ok(reason));
                    }
                }
                // Where the database was lost on the way it may be written down all the same, and once more would count
                // it twice: the carriers look how far they have come.
                Err(error) if waiting.len() == 1 || error.code == Code::Overloaded => {
                    for done in waiting {
                        let _ = done.send(Err(error.clone()));
                    }
                }
                // It may be because of one of them: the others are not to suffer for it.
                Err(_) => {
                    for (place, done) in waiting.into_iter().enumerate() {
                        let own = self.write(reports.clone(), place..place + 1).await;
                        let _ = done.send(own.map(|reasons| reasons.into_iter().next().flatten()));
                    }
                }
            }
        }
        self.cleared = true;
    }

    /// Writes some of the reports down together.
    async fn write(
        &self,
        reports: Arc<Vec<Report>>,
        which: std::ops::Range<usize>,
    ) -> Result<Vec<Option<Reason>>> {
        let write = |known: Known| {
            let (reports, which, rules) = (reports.clone(), which.clone(), self.post.rules.clone());
            let record =
                move |tx: &Tx<'_>| outcome::record(tx, &reports[which.clone()], &rules, known);
            self.post.app.db.write(self.errand.scope(), record)
        };
        match write(Known::Not).await {
            Err(error) if error.code == Code::Taken => write(Known::Perhaps).await,
            done => done,
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if self.cleared {
            return;
        }
        // Cut off in the midst of it, nobody is at it any more: whoever waits is told so.
        let mut desks = self.post.desks.0.lock().unwrap_or_else(PoisonError::into_inner);
        desks.remove(&self.errand.account);
    }
}
