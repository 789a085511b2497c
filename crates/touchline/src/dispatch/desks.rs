//! Desks: what several carriers of an account want of the database, done for them together, as news mostly go to
//! all webhooks of an account at once.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::AccountId;

/// What somebody wants done, and where they wait for the answer.
struct Entry<Ask, Answer> {
    ask: Ask,
    done: oneshot::Sender<Result<Answer>>,
}

/// Where the answer comes.
pub(super) type Waiting<Answer> = oneshot::Receiver<Result<Answer>>;

/// What lies there to be done, by account. An account is in it as long as somebody is at its desk.
pub(super) struct Desks<Ask, Answer>(Mutex<HashMap<AccountId, Vec<Entry<Ask, Answer>>>>);

impl<Ask, Answer> Default for Desks<Ask, Answer> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Ask: Send + Sync + 'static, Answer: Send + 'static> Desks<Ask, Answer> {
    /// Lays something on an account's desk. Where nobody is at it, somebody works there until nothing is left,
    /// each time on the first and as many after it as fit.
    pub(super) fn lay<Fits, Working>(
        self: &Arc<Self>,
        (app, account): (&App, AccountId),
        ask: Ask,
        together: impl Fn() -> Fits + Send + 'static,
        work: impl Fn(Pile<Ask>) -> Working + Send + Sync + 'static,
    ) -> Waiting<Answer>
    where
        Fits: FnMut(&Ask) -> bool,
        Working: Future<Output = Result<Vec<Answer>>> + Send,
    {
        let (done, waiting) = oneshot::channel();
        let mut desks = self.open();
        let begun = desks.contains_key(&account);
        desks.entry(account).or_default().push(Entry { ask, done });
        drop(desks);
        if !begun {
            let mut desk = AtDesk { desks: self.clone(), account, cleared: false };
            app.spawn(async move {
                while let Some(entries) = desk.take(together()) {
                    answer(entries, &work).await;
                }
            });
        }
        waiting
    }
}

impl<Ask, Answer> Desks<Ask, Answer> {
    fn open(&self) -> MutexGuard<'_, HashMap<AccountId, Vec<Entry<Ask, Answer>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever is at the desk of an account.
struct AtDesk<Ask, Answer> {
    desks: Arc<Desks<Ask, Answer>>,
    account: AccountId,
    /// Whether it was left as it should be.
    cleared: bool,
}

impl<Ask, Answer> AtDesk<Ask, Answer> {
    /// Takes what is done next. `None` if nothing is left, and nobody is at the desk any more.
    fn take(&mut self, mut fits: impl FnMut(&Ask) -> bool) -> Option<Vec<Entry<Ask, Answer>>> {
        let mut desks = self.desks.open();
        let entries = desks.get_mut(&self.account)?;
        if entries.is_empty() {
            desks.remove(&self.account);
            self.cleared = true;
            return None;
        }
        let many = entries.iter().take_while(|entry| fits(&entry.ask)).count().max(1);
        Some(entries.drain(..many).collect())
    }
}

impl<Ask, Answer> Drop for AtDesk<Ask, Answer> {
    fn drop(&mut self) {
        if !self.cleared {
            // Cut off in the midst of it, nobody is at it any more: whoever waits is told so.
            self.desks.open().remove(&self.account);
        }
    }
}

/// Does what is wanted, and tells everybody who waits for it.
async fn answer<Ask, Answer, Working>(
    entries: Vec<Entry<Ask, Answer>>,
    work: &impl Fn(Pile<Ask>) -> Working,
) where
    Working: Future<Output = Result<Vec<Answer>>>,
{
    let (asks, waiting): (Vec<_>, Vec<_>) =
        entries.into_iter().map(|entry| (entry.ask, entry.done)).unzip();
    let all = Pile { which: 0..asks.len(), asks: Arc::new(asks) };
    match work(all.clone()).await {
        // Done is done, whether or not anybody still waits for it.
        Ok(answers) => {
            for (done, answer) in waiting.into_iter().zip(answers) {
                let _ = done.send(Ok(answer));
            }
        }
        // Where the database was lost on the way something may be written down all the same, and once more would
        // count it twice: the carriers look how far they have come.
        Err(error) if waiting.len() == 1 || error.code == Code::Overloaded => {
            for done in waiting {
                let _ = done.send(Err(error.clone()));
            }
        }
        // It may be because of one of them: the others are not to suffer for it.
        Err(_) => {
            for (place, done) in waiting.into_iter().enumerate() {
                let own = work(Pile { which: place..place + 1, ..all.clone() }).await;
                let none = || Error::internal("a carrier got no answer");
                let _ = done.send(own.and_then(|mut own| own.pop().ok_or_else(none)));
            }
        }
    }
}

/// Some of what lay on a desk.
pub(super) struct Pile<Ask> {
    asks: Arc<Vec<Ask>>,
    which: Range<usize>,
}

impl<Ask> Clone for Pile<Ask> {
    fn clone(&self) -> Self {
        Self { asks: self.asks.clone(), which: self.which.clone() }
    }
}

impl<Ask> Deref for Pile<Ask> {
    type Target = [Ask];

    fn deref(&self) -> &[Ask] {
        &self.asks[self.which.clone()]
    }
}
