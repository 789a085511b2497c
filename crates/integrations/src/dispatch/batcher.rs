//! Batches database requests of an account's delivery workers. A notification usually goes to all webhooks of an
//! account at once, so their workers make the same kind of request at the same time.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::prelude::*;
use crate::web::app::App;

/// A request, and where its response is sent.
type PendingRequest<Request, Response> = (Request, oneshot::Sender<Result<Response>>);
/// Pending requests by account.
type Pending<Request, Response> = HashMap<AccountId, Vec<PendingRequest<Request, Response>>>;

/// Receives the response to a request.
pub(super) type ResponseReceiver<Response> = oneshot::Receiver<Result<Response>>;

/// Pending requests by account. An account has an entry as long as a task works on its requests.
pub(super) struct Batcher<Request, Response>(Mutex<Pending<Request, Response>>);

impl<Request, Response> Default for Batcher<Request, Response> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Request: Send + Sync + 'static, Response: Send + 'static> Batcher<Request, Response> {
    /// Adds a request to an account's batch. If no task works for the account yet, one is started. It works until no
    /// request is left: each time on the first pending request and on as many after it as `fits` accepts.
    pub(super) fn submit<Fits, Fut>(
        self: &Arc<Self>,
        (app, account): (&App, AccountId),
        request: Request,
        fits: impl Fn() -> Fits + Send + 'static,
        work: impl Fn(Batch<Request>) -> Fut + Send + Sync + 'static,
    ) -> ResponseReceiver<Response>
    where
        Fits: FnMut(&Request) -> bool,
        Fut: Future<Output = Result<Vec<Response>>> + Send,
    {
        let (sender, receiver) = oneshot::channel();
        let mut pending = self.lock();
        let is_running = pending.contains_key(&account);
        pending.entry(account).or_default().push((request, sender));
        drop(pending);
        if !is_running {
            let mut runner = BatchRunner { batcher: self.clone(), account, drained: false };
            app.spawn(async move {
                while let Some(entries) = runner.next_batch(fits()) {
                    run_batch(entries, &work).await;
                }
            });
        }
        receiver
    }
}

impl<Request, Response> Batcher<Request, Response> {
    fn lock(&self) -> MutexGuard<'_, Pending<Request, Response>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that works on an account's requests.
struct BatchRunner<Request, Response> {
    batcher: Arc<Batcher<Request, Response>>,
    account: AccountId,
    /// Whether the task ended because no request was left.
    drained: bool,
}

impl<Request, Response> BatchRunner<Request, Response> {
    /// Takes the next batch. `None` if no request is left; the account's entry is then removed.
    fn next_batch(
        &mut self,
        mut fits: impl FnMut(&Request) -> bool,
    ) -> Option<Vec<PendingRequest<Request, Response>>> {
        let mut pending = self.batcher.lock();
        let entries = pending.get_mut(&self.account)?;
        if entries.is_empty() {
            pending.remove(&self.account);
            self.drained = true;
            return None;
        }
        let count = entries.iter().take_while(|(request, _)| fits(request)).count().max(1);
        Some(entries.drain(..count).collect())
    }
}

impl<Request, Response> Drop for BatchRunner<Request, Response> {
    fn drop(&mut self) {
        if !self.drained {
            // The task was cancelled or panicked. Dropping the senders makes every waiting receiver fail.
            self.batcher.lock().remove(&self.account);
        }
    }
}

/// Runs a batch and sends each response.
async fn run_batch<Request, Response, Fut>(
    entries: Vec<PendingRequest<Request, Response>>,
    work: &impl Fn(Batch<Request>) -> Fut,
) where
    Fut: Future<Output = Result<Vec<Response>>>,
{
    let (requests, senders): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
    let batch = Batch { range: 0..requests.len(), requests: Arc::new(requests) };
    match work(batch.clone()).await {
        // A worker may have stopped waiting for its response; the work is done anyway.
        Ok(responses) => {
            for (sender, response) in senders.into_iter().zip(responses) {
                let _ = sender.send(Ok(response));
            }
        }
        // If the connection to the database was lost, the batch may have been committed, and running it again would
        // count attempts twice. The workers read their position again instead.
        Err(error) if senders.len() == 1 || error.code == Code::Overloaded => {
            for sender in senders {
                let _ = sender.send(Err(error.clone()));
            }
        }
        // One request may have failed the whole batch, so each is run alone.
        Err(_) => {
            for (index, sender) in senders.into_iter().enumerate() {
                let result = work(Batch { range: index..index + 1, ..batch.clone() }).await;
                let missing = || Error::internal("a batch returned no response to a request");
                let _ = sender.send(result.and_then(|mut all| all.pop().ok_or_else(missing)));
            }
        }
    }
}

/// Some of an account's pending requests.
pub(super) struct Batch<Request> {
    requests: Arc<Vec<Request>>,
    range: Range<usize>,
}

impl<Request> Clone for Batch<Request> {
    fn clone(&self) -> Self {
        Self { requests: self.requests.clone(), range: self.range.clone() }
    }
}

impl<Request> Deref for Batch<Request> {
    type Target = [Request];

    fn deref(&self) -> &[Request] {
        &self.requests[self.range.clone()]
    }
}
